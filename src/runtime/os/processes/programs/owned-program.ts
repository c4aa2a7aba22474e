/**
 * A program that is not ours, run as a child that ends with this process, also when this process is killed and can do nothing any more.
 *
 * A small shell waits beside the program for the end of a line to this process, and kills the program then. The line ends with this
 * process, for every cause. The shell starts the waiter first and then becomes the program, so the child's number and end are the program's
 * own, and it is guarded at every moment. Once a line has told the waiter that the program has ended, it kills nobody: the number may be
 * another's by then. On Windows, which has no such shell, the program is started alone.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { OUTPUT_CHARACTERS_MAX } from "../../limits.ts";
import { childEnvironment } from "../child-environment.ts";

/** `$$` is the shell, and after `exec` the program. */
const GUARD = '(trap "" HUP INT TERM; read -r _ <&3 || kill -9 $$) >/dev/null 2>&1 & exec "$@" 3<&-';
const GUARD_FD = 3;

interface ProgramExit {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
}

export class OwnedProgram {
  readonly pid: number;
  /** Resolves when the program has ended, or could not be started. */
  readonly ended: Promise<ProgramExit>;
  readonly #child: ChildProcess;
  #output = "";
  #exit: ProgramExit | undefined;

  constructor(program: string, args: readonly string[]) {
    const [command, commandArgs] = process.platform === "win32" ? [program, args] : ["sh", ["-c", GUARD, "sh", program, ...args]];
    // Runs in a separate process group: a Ctrl-C in a terminal reaches the owner alone, which ends the program in order.
    const child = spawn(command, commandArgs, {
      detached: true,
      windowsHide: true,
      env: childEnvironment(),
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    this.#child = child;
    this.pid = child.pid ?? 0;
    // Without a free descriptor there are no streams, and an error follows.
    const line = (child.stdio as typeof child.stdio | undefined)?.[GUARD_FD] as Writable | null | undefined;
    line?.on("error", () => {});
    const keep = (chunk: Buffer): void => {
      this.#output = (this.#output + chunk.toString()).slice(-OUTPUT_CHARACTERS_MAX);
    };
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
    this.ended = new Promise((resolve) => {
      const end = (exit: ProgramExit): void => {
        this.#exit = exit;
        resolve(exit);
      };
      child.once("error", (error) => {
        this.#output += error.message;
        line?.destroy();
        end({ exitCode: undefined, signal: undefined });
      });
      // "close" follows the last output, but only after the waiter's end of the line has closed.
      child.once("exit", () => line?.end("ended\n"));
      child.once("close", (code, signal) => end({ exitCode: code ?? undefined, signal: signal ?? undefined }));
    });
  }

  get hasEnded(): boolean {
    return this.#exit !== undefined;
  }

  /** Returns the last lines that the program printed. */
  get lastOutput(): string[] {
    return this.#output.split("\n").filter((line) => line !== "");
  }

  kill(signal: NodeJS.Signals): void {
    if (!this.hasEnded) this.#child.kill(signal);
  }

  /** Asks it to end, and ends it when it has not after this time. */
  async stop({ withinMs }: { withinMs: number }): Promise<ProgramExit> {
    this.kill("SIGTERM");
    const timer = setTimeout(() => this.kill("SIGKILL"), withinMs);
    try {
      return await this.ended;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The end of a sentence. */
export function describeProgramExit({ exitCode, signal }: ProgramExit): string {
  if (signal !== undefined) return `it was ended by ${signal}`;
  return exitCode === undefined ? "it could not be started" : `it ended with code ${exitCode}`;
}
