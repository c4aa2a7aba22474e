/**
 * Runs one measured program: a process group with a mark in its environment. By the mark everything that it starts is found again, daemons
 * that left the group included. Both sides run through here, so both are timed, weighed and cleaned up alike. Owns the processes: `close()`
 * ends the rest of the tree and returns how many processes remained. Invariant: no child outlives its time limit, and only processes that
 * carry this child's own mark are ever signalled.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { markedProcesses } from "./process-tree.ts";

interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly workingDirectory: string;
  readonly timeLimitMs: number;
}

interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly elapsedMs: number;
  readonly timedOut: boolean;
}

/** In the environment of a measured program and of all that it starts. */
export const MARK_VARIABLE = "SHOAL_BENCH_MARK";
const OUTPUT_TAIL_CHARACTERS = 4000;
/** Both runtimes let their daemons end after the program itself; a process that is still there after this was left behind. */
const LEFTOVER_GRACE_MS = 5000;

/** Children that are not closed yet, for an interrupted harness to end. */
const openChildren = new Set<Child>();

/** Closes every running child: children have process groups of their own, so the terminal's interrupt does not reach them. */
export async function closeAllChildren(): Promise<void> {
  await Promise.all([...openChildren].map((child) => child.close()));
}

export class Child implements AsyncDisposable {
  readonly mark: string = `${MARK_VARIABLE}=${randomUUID()}`;
  readonly exited: Promise<ChildExit>;
  readonly #process: ChildProcess;
  readonly #startedAtMs: number;
  readonly #lineWaiters = new Map<string, (elapsedMs: number) => void>();
  #output = "";
  #stdout = "";
  #timedOut = false;
  #closing: Promise<number> | undefined;

  constructor(options: ChildOptions) {
    const environment = { ...options.environment, [MARK_VARIABLE]: this.mark.slice(MARK_VARIABLE.length + 1) };
    openChildren.add(this);
    this.#startedAtMs = performance.now();
    this.#process = spawn(options.command, options.args, {
      cwd: options.workingDirectory,
      detached: true,
      env: environment,
      stdio: ["pipe", "pipe", "pipe"],
    });
    // A program that died before reading its input must not take the harness with it.
    this.#process.stdin?.on("error", () => {});
    this.#process.stdout?.setEncoding("utf8").on("data", (chunk: string) => this.#receive(chunk));
    this.#process.stderr?.setEncoding("utf8").on("data", (chunk: string) => this.#remember(chunk));
    const limit = setTimeout(() => {
      this.#timedOut = true;
      this.#process.kill("SIGKILL");
    }, options.timeLimitMs);
    this.exited = new Promise((resolve) => {
      const finish = (code: number | null, signal: NodeJS.Signals | null) => {
        clearTimeout(limit);
        resolve({ code, signal, elapsedMs: performance.now() - this.#startedAtMs, timedOut: this.#timedOut });
      };
      this.#process.once("exit", finish);
      this.#process.once("error", (error) => {
        this.#remember(`${error.message}\n`);
        finish(null, null);
      });
    });
  }

  /** The last characters that the program wrote, for the message of a failure. */
  get outputTail(): string {
    return this.#output.trim();
  }

  /** How long after its start the program printed this line. */
  async waitForLine(line: string): Promise<number> {
    const printed = new Promise<number>((resolve) => this.#lineWaiters.set(line, resolve));
    const ended = this.exited.then((exit) => {
      throw new Error(`Cannot see "${line}": the program ${describeExit(exit)}\n${this.outputTail}`);
    });
    return Promise.race([printed, ended]);
  }

  /** Tells a program that waits for its input to close that it should finish. */
  endInput(): void {
    this.#process.stdin?.end();
  }

  /** Throws unless the program ended by itself, with success. */
  async succeeded(): Promise<ChildExit> {
    const exit = await this.exited;
    if (exit.code === 0 && !exit.timedOut) return exit;
    throw new Error(`The program ${describeExit(exit)}\n${this.outputTail}`);
  }

  /** Ends the program's remaining processes and resolves with their number. */
  close(): Promise<number> {
    this.#closing ??= this.#endTree();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #endTree(): Promise<number> {
    this.#process.kill("SIGKILL");
    await this.exited;
    let left = await markedProcesses(this.mark);
    const deadlineMs = performance.now() + LEFTOVER_GRACE_MS;
    while (left.length > 0 && performance.now() < deadlineMs) {
      await delay(50);
      left = await markedProcesses(this.mark);
    }
    openChildren.delete(this);
    for (const pid of left) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // The process ended between the two looks.
      }
    }
    return left.length;
  }

  #receive(chunk: string): void {
    const elapsedMs = performance.now() - this.#startedAtMs;
    this.#remember(chunk);
    const lines = (this.#stdout + chunk).split("\n");
    this.#stdout = lines.pop() ?? "";
    for (const line of lines) {
      this.#lineWaiters.get(line)?.(elapsedMs);
      this.#lineWaiters.delete(line);
    }
  }

  #remember(chunk: string): void {
    this.#output = (this.#output + chunk).slice(-OUTPUT_TAIL_CHARACTERS);
  }
}

function describeExit(exit: ChildExit): string {
  if (exit.timedOut) return `was stopped at its time limit, after ${Math.round(exit.elapsedMs / 1000)} s`;
  if (exit.signal !== null) return `was ended by ${exit.signal}`;
  return `ended with exit code ${exit.code}`;
}
