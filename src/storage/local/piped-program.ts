/**
 * A program that is not ours, whose output is read as a stream, and whose messages are read as lines.
 *
 * The program runs only as fast as its output is read, since a full pipe stops it. It is killed when its reader leaves. A program whose
 * reader was killed ends at its next write, as the other end of the pipe is closed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { StorageError } from "../errors.ts";

export interface PipedProgram {
  /** The bytes of the standard output, in order. Reads once. */
  readonly output: AsyncIterable<Uint8Array>;
  /**
   * Resolves when the program has ended and its last line was handed over.
   *
   * @throws StorageError for a program that cannot be started
   */
  readonly ended: Promise<{ readonly exitCode: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Kills the program where it still runs. */
  kill(): void;
}

interface Listeners {
  /** Gets each line of the standard error, without its end. */
  readonly onErrorLine: (line: string) => void;
  /** Gets each line that the program writes to descriptor 3. Without it, there is no such output. */
  readonly onSideLine?: ((line: string) => void) | undefined;
}

/** Starts a program without an input. */
export function startPipedProgram(program: string, args: readonly string[], { onErrorLine, onSideLine }: Listeners): PipedProgram {
  const stdio = ["ignore", "pipe", "pipe", onSideLine === undefined ? "ignore" : "pipe"] as const;
  const child = spawn(program, args, { stdio: [...stdio], windowsHide: true });
  const output = child.stdout as Readable;
  const linesEnded = [linesOf(child.stderr as Readable, onErrorLine)];
  if (onSideLine !== undefined) linesEnded.push(linesOf(child.stdio[3] as Readable, onSideLine));
  const exited = new Promise<Awaited<PipedProgram["ended"]>>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(new StorageError(`Cannot start ${program}: ${error.message}`, { cause: error })),
    );
    child.once("close", (exitCode, signal) => resolve({ exitCode, signal }));
  });
  const ended = exited.then(async (end) => {
    await Promise.all(linesEnded);
    return end;
  });
  // A reader may leave before it asks.
  ended.catch(() => {});
  return { output, ended, kill: () => void child.kill("SIGKILL") };
}

/** Resolves behind the last line. */
function linesOf(input: Readable, onLine: (line: string) => void): Promise<unknown> {
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on("line", onLine);
  return once(lines, "close");
}
