/**
 * How long calls and gets take while something is wrong elsewhere: one after the other without a pause, between processes that live.
 *
 * A machine that is short of processors stands still, too. A gap is reduced by the time that the processes of the call waited for a
 * processor (`processor-waits.ts`), or by the delay of two processes that have nothing to do with Shoal, whichever is more. An asker that
 * was not well when the fault began, since another fault had just killed its process, does not count; how many were is reported.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { WaitedMs } from "./checks.ts";
import { nowMs } from "./clock.ts";

const PAUSE_MS = 15;
const PAUSE_AFTER_FAILURE_MS = 100;
/** The asker's process is gone for good. */
const FAILURES_MAX = 300;
/** An answer is never older than this where all is well, but for a machine that stands still. */
const WELL_MS = 200;
const SLOW_MS = 20;
/** Two processes, as many as a call from node to node goes through. */
const ECHO = `process.stdin.on("data", (chunk) => process.stdout.write(chunk));`;
const RELAY = `
const echo = require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(ECHO)}], { stdio: ["pipe", "pipe", "inherit"] });
process.stdin.on("data", (chunk) => echo.stdin.write(chunk)).on("end", () => process.exit(0));
echo.stdout.on("data", (chunk) => process.stdout.write(chunk));`;

interface Sample {
  readonly beginMs: number;
  readonly endMs: number;
}

/** Record of one asker: times of answers, slow answers, and errors. */
export class Heard {
  readonly answersMs: number[] = [];
  readonly slow: Sample[] = [];
  readonly failuresMs: number[] = [];
  /** When the unanswered question was asked. */
  openMs: number | undefined;
  /** The processes that a question goes through. */
  readonly through: () => readonly number[];

  constructor(through: () => readonly number[] = () => []) {
    this.through = through;
  }

  answered(beginMs: number, endMs: number): void {
    this.openMs = undefined;
    this.answersMs.push(endMs);
    if (endMs - beginMs > SLOW_MS) this.slow.push({ beginMs, endMs });
  }

  failed(atMs: number): void {
    this.openMs = undefined;
    this.failuresMs.push(atMs);
  }

  /** Whether answers came until then. */
  wasWell(atMs: number): boolean {
    const answeredMs = this.answersMs[firstAfter(this.answersMs, atMs) - 1] ?? -Infinity;
    const failedMs = this.failuresMs[firstAfter(this.failuresMs, atMs) - 1] ?? -Infinity;
    return answeredMs > failedMs && answeredMs > atMs - WELL_MS;
  }

  hasFailed(fromMs: number, toMs: number): boolean {
    return this.failuresMs.some((atMs) => atMs > fromMs && atMs < toMs);
  }

  /** Returns the waits that began by the end of the window, the longest first; later ones may belong to the next fault. */
  waits(fromMs: number, toMs: number): Sample[] {
    const asked = this.slow.filter(({ beginMs, endMs }) => endMs > fromMs && beginMs < toMs);
    const { openMs } = this;
    if (openMs !== undefined && openMs < toMs) asked.push({ beginMs: openMs, endMs: toMs });
    const within = asked.map(({ beginMs, endMs }) => ({ beginMs, endMs: Math.min(endMs, toMs) }));
    return within.toSorted((a, b) => lengthOf(b) - lengthOf(a));
  }
}

/** Asks again and again until it is stopped, or nobody has answered for long. */
class Series {
  readonly heard: Heard;
  #isStopped = false;
  readonly #ask: () => Promise<unknown>;

  constructor(ask: () => Promise<unknown>, through: () => readonly number[]) {
    this.heard = new Heard(through);
    this.#ask = ask;
    void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#isStopped && failures < FAILURES_MAX) {
      const beginMs = nowMs();
      this.heard.openMs = beginMs;
      let pauseMs = PAUSE_MS;
      try {
        await this.#ask();
        failures = 0;
        if (!this.#isStopped) this.heard.answered(beginMs, nowMs());
      } catch {
        failures += 1;
        if (!this.#isStopped) this.heard.failed(nowMs());
        pauseMs = PAUSE_AFTER_FAILURE_MS;
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    this.heard.openMs = undefined;
  }
}

interface Gap {
  readonly name: string;
  readonly ms: number;
  readonly beginMs: number;
  /** How many were asked. */
  readonly watched: number;
  /** Askers that got an error. */
  readonly failed: readonly string[];
  /** Delay of the machine itself. */
  readonly machineMs: number;
}

export class Gaps {
  readonly #series = new Map<string, Series>();
  readonly #echo: ChildProcess;

  constructor() {
    const echo = spawn(process.execPath, ["-e", RELAY], { stdio: ["pipe", "pipe", "inherit"] });
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

  /** @param through the processes that a question goes through */
  watch(name: string, ask: () => Promise<unknown>, through: () => readonly number[] = () => []): void {
    this.#series.get(name)?.stop();
    this.#series.set(name, new Series(ask, through));
  }

  /** Returns the longest gap of all, less the delay of the machine itself. */
  worst(fromMs: number, toMs: number, waitedMs: WaitedMs = () => 0): Gap {
    const heard = Array.from(this.#series, ([name, series]) => [name, series.heard] as const);
    return worstGap(new Map(heard), { fromMs, toMs, waitedMs });
  }

  stop(): void {
    for (const series of this.#series.values()) series.stop();
    this.#echo.stdin?.end();
  }
}

export function worstGap(all: ReadonlyMap<string, Heard>, time: { fromMs: number; toMs: number; waitedMs: WaitedMs }): Gap {
  const { fromMs, toMs, waitedMs } = time;
  const echoMs = lengthOf(all.get("echo")?.waits(fromMs, toMs)[0]);
  let worst = { name: "none", ms: 0, beginMs: 0, machineMs: echoMs };
  let watched = 0;
  const failed: string[] = [];
  for (const [name, heard] of all) {
    if (name === "echo" || !heard.wasWell(fromMs)) continue;
    watched += 1;
    if (heard.hasFailed(fromMs, toMs)) failed.push(name);
    for (const wait of heard.waits(fromMs, toMs)) {
      if (lengthOf(wait) <= worst.ms) break;
      const machineMs = Math.max(echoMs, waitedMs(heard.through(), wait.beginMs, wait.endMs));
      const ms = lengthOf(wait) - machineMs;
      if (ms > worst.ms) worst = { name, ms, beginMs: wait.beginMs, machineMs };
    }
  }
  return { ...worst, watched, failed };
}

function lengthOf(sample: Sample | undefined): number {
  return sample === undefined ? 0 : sample.endMs - sample.beginMs;
}

/** The index of the first time after this one; times are in order. */
function firstAfter(timesMs: readonly number[], atMs: number): number {
  let [low, high] = [0, timesMs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((timesMs[middle] ?? Infinity) > atMs) high = middle;
    else low = middle + 1;
  }
  return low;
}
