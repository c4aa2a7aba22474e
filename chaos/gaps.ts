/**
 * How long calls and gets take while something is wrong elsewhere: one after the other without a pause, between processes that live.
 *
 * A machine that is short of processors stands still, too, so a process that has nothing to do with Shoal is asked beside them: what it was late by at the same time is
 * not held against a call.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { nowMs } from "./clock.ts";

const PAUSE_MS = 5;
const ECHO = `process.stdin.on("data", (chunk) => process.stdout.write(chunk));`;

interface Sample {
  readonly beginMs: number;
  readonly endMs: number;
}

/** Asks again and again, and writes down what took long enough to matter. */
class Series {
  readonly samples: Sample[] = [];
  #isStopped = false;
  /** Of the question that has no answer yet. */
  #openMs: number | undefined;
  readonly #ask: () => Promise<unknown>;

  constructor(ask: () => Promise<unknown>) {
    this.#ask = ask;
    void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** The longest answer of those that were under way in the time. */
  worstMs(fromMs: number, toMs: number): number {
    let worst = 0;
    for (const { beginMs, endMs } of this.samples) if (endMs > fromMs && beginMs < toMs) worst = Math.max(worst, endMs - beginMs);
    const openMs = this.#openMs;
    return openMs === undefined || openMs > toMs ? worst : Math.max(worst, nowMs() - openMs);
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const beginMs = nowMs();
      this.#openMs = beginMs;
      try {
        await this.#ask();
        const endMs = nowMs();
        this.#openMs = undefined;
        if (endMs - beginMs > 20) this.samples.push({ beginMs, endMs });
      } catch {
        this.#openMs = undefined;
        // Its process is gone; what that means is for others to say.
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

export class Gaps {
  readonly #series = new Map<string, Series>();
  readonly #echo: ChildProcess;

  constructor() {
    const echo = spawn(process.execPath, ["-e", ECHO], { stdio: ["pipe", "pipe", "inherit"] });
    this.#echo = echo;
    let answer = (): void => {};
    echo.stdout.on("data", () => answer());
    this.watch("echo", () => {
      return new Promise<void>((resolve) => {
        answer = resolve;
        echo.stdin.write("x");
      });
    });
  }

  watch(name: string, ask: () => Promise<unknown>): void {
    this.#series.get(name)?.stop();
    this.#series.set(name, new Series(ask));
  }

  /** Of all, less what the machine itself was late by. */
  worst(fromMs: number, toMs: number): { name: string; ms: number } {
    const echoMs = this.#series.get("echo")?.worstMs(fromMs, toMs) ?? 0;
    let worst = { name: "none", ms: 0 };
    for (const [name, series] of this.#series) {
      const ms = Math.max(0, series.worstMs(fromMs, toMs) - echoMs);
      if (name !== "echo" && ms > worst.ms) worst = { name, ms };
    }
    return worst;
  }

  stop(): void {
    for (const series of this.#series.values()) series.stop();
    this.#echo.kill("SIGKILL");
  }
}
