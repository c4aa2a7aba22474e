/**
 * The entry point of a job: a shell command that leads a separate process group and ends with this process.
 *
 * A small shell waits in the group for the end of a line to this process and kills the group then, also after SIGKILL of this process. It
 * starts first and then becomes the command, so the command's number and end are the entry point's own. Both outputs are one stream, which
 * is read no faster than it is written down. The stream is a pipe: Node's own is a socket, which no program can open as `/dev/stdout`.
 */
import { spawn } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { dirname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { JOB_GROUP_LOOK_EVERY_MS } from "../../limits.ts";
import { sharedMemory } from "../../shared-memory.ts";
import { childEnvironment } from "../child-environment.ts";
import { endProcessGroup } from "./process-group.ts";

/** `$$` is the shell, and after `exec` the command, `$0`. */
const GUARDED = '(trap "" HUP INT TERM; read -r _ <&3 || kill -9 -$$) >/dev/null 2>&1 & exec 2>&1; exec /bin/sh -c "$0" 3<&-';
const GUARD_FD = 3;

interface JobProcessOptions {
  readonly entrypoint: string;
  readonly directory: string | undefined;
  /** Variables besides those of this process. An undefined one is taken out. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** A path for the pipe's name, which is free and is taken away at once. Undefined: the output is a socket. */
  readonly pipeName?: string | undefined;
}

export interface JobExit {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** Set where the command could not be started. */
  readonly problem?: string;
}

export class JobProcess {
  /** Undefined where it could not be started. */
  readonly pid: number | undefined;
  /** Both outputs, in order. */
  readonly output: Readable | undefined;
  /** Resolves when the command itself has ended. */
  readonly ended: Promise<JobExit>;

  constructor({ entrypoint, directory, variables, pipeName }: JobProcessOptions) {
    const pipe = pipeName === undefined ? undefined : newPipe(pipeName);
    const child = spawn("/bin/sh", ["-c", GUARDED, entrypoint], {
      detached: true,
      env: childEnvironment(variables),
      stdio: ["ignore", pipe?.end ?? "pipe", "ignore", "pipe"],
      ...(directory === undefined ? {} : { cwd: directory }),
    });
    this.pid = child.pid;
    // The command has its own copy: the reader sees the end when the last copy is closed.
    if (pipe !== undefined) closeSync(pipe.end);
    // Without a free descriptor there are no streams, and an error follows.
    const streams = child.stdio as typeof child.stdio | undefined;
    this.output = pipe?.reader ?? child.stdout ?? undefined;
    const line = streams?.[GUARD_FD] as Writable | null | undefined;
    line?.on("error", () => {});
    this.ended = new Promise((resolve) => {
      child.once("error", (error) => {
        line?.destroy();
        resolve({ exitCode: undefined, signal: undefined, problem: error.message });
      });
      child.once("exit", (code, signal) => {
        line?.end("ended\n");
        resolve({ exitCode: code ?? undefined, signal: signal ?? undefined });
      });
    });
  }

  /** Sends a signal to the whole group. */
  signal(name: NodeJS.Signals): void {
    if (this.pid === undefined) return;
    try {
      process.kill(-this.pid, name);
    } catch {
      // The group is empty.
    }
  }

  /** Resolves when no process of the group is left, or the time is over. */
  async groupEnded(withinMs: number): Promise<void> {
    const untilMs = performance.now() + withinMs;
    while (this.#hasGroup() && performance.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, JOB_GROUP_LOOK_EVERY_MS));
  }

  /** Ends the rest of the group. */
  endGroup(): void {
    if (this.pid !== undefined) endProcessGroup(this.pid);
  }

  /** Stops reading: a process that left the group may hold the output open for ever. */
  closeOutput(): void {
    this.output?.destroy();
  }

  #hasGroup(): boolean {
    if (this.pid === undefined) return false;
    try {
      process.kill(-this.pid, 0);
      return true;
    } catch {
      return false;
    }
  }
}

/** Makes a pipe: an end for a child, and a stream for this process. @returns undefined where the system part is missing */
function newPipe(name: string): { end: number; reader: Readable } | undefined {
  const memory = sharedMemory();
  if (memory === undefined) return undefined;
  mkdirSync(dirname(name), { recursive: true, mode: 0o700 });
  memory.makeFifo(name);
  try {
    // The reader first, as a writer would wait for one.
    const fd = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const end = openSync(name, constants.O_WRONLY);
      return { end, reader: new Socket({ fd, readable: true, writable: false }) };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  } finally {
    rmSync(name);
  }
}
