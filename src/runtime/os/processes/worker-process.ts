/**
 * Child processes of ours: starts a worker or a node daemon, passes its configuration, and notices its end.
 *
 * A child gets its configuration as one JSON line on file descriptor 3, not in its environment, from which its children would inherit the
 * token. The descriptor stays open for life, and its end tells the child that its parent died, for every cause. Children are in separate
 * process groups, so a Ctrl-C in a terminal reaches the driver alone, which ends them in order.
 */
import { type ChildProcess, spawn } from "node:child_process";
import net from "node:net";
import { StringDecoder } from "node:string_decoder";
import { isMainThread } from "node:worker_threads";
import { MESSAGE_LENGTH_MAX } from "../limits.ts";
import { describeSystemFailure } from "../machine/open-files.ts";
import { reapWithThread } from "../shared-memory.ts";
import { childEnvironment } from "./child-environment.ts";
import { endProcessGroup } from "./programs/process-group.ts";
import { afterRemainingOutput } from "./programs/remaining-output.ts";

const PARENT_FD = 3;

export interface ChildExit {
  exitCode: number | undefined;
  signal: string | undefined;
}

export interface ChildOptions {
  entry: string;
  /** Program that runs the entry; this Node by default. */
  program?: string | undefined;
  execArgv: readonly string[];
  configuration: unknown;
  /** Variables in addition to those of this process. */
  env?: Readonly<Record<string, string>>;
  /** Working directory of the child; that of this process by default. */
  cwd?: string | undefined;
  onLine: (stream: "stdout" | "stderr", line: string) => void;
  /** A line that the child wrote to its parent descriptor. */
  onMessage: (line: string) => void;
  /** After the last line of output has been delivered. */
  onExit: (exit: ChildExit) => void;
}

export class Child {
  readonly #process: ChildProcess;
  /** Undefined for a process that could not be started. */
  readonly #parentLine: net.Socket | undefined;
  readonly pid: number;

  constructor(options: ChildOptions) {
    const child = spawn(options.program ?? process.execPath, [...options.execArgv, options.entry], {
      detached: true,
      env: childEnvironment(options.env),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    this.#process = child;
    this.pid = child.pid ?? 0;
    if (!isMainThread && this.pid > 0) child.once("exit", reapWithThread(this.pid));
    // Without a free descriptor Node makes no streams at all: an "error" and a "close" follow, as for a missing program.
    const [, stdout, stderr, parentLine] = (child.stdio as typeof child.stdio | undefined) ?? [];
    this.#parentLine = parentLine as net.Socket | undefined;
    this.#parentLine?.on("error", () => {});
    this.configure(options.configuration);
    if (this.#parentLine !== undefined) onLines(this.#parentLine, options.onMessage, MESSAGE_LENGTH_MAX);
    if (stdout) onLines(stdout as net.Socket, (line) => options.onLine("stdout", line));
    if (stderr) onLines(stderr as net.Socket, (line) => options.onLine("stderr", line));
    child.on("error", (error) => options.onLine("stderr", `the process could not be started: ${describeSystemFailure(error)}`));
    // "close" follows the last output. A grandchild may hold the pipes open for ever, so "exit" bounds the wait.
    let isReported = false;
    const report = (code: number | null, signal: string | null): void => {
      if (isReported) return;
      isReported = true;
      options.onExit({ exitCode: code ?? undefined, signal: signal ?? undefined });
    };
    child.on("close", report);
    child.on("exit", (code, signal) => {
      endProcessGroup(this.pid);
      afterRemainingOutput(
        [stdout, stderr].filter((stream) => stream != null),
        () => report(code, signal),
      );
    });
  }

  /** A further line for a child that waits for one. */
  configure(configuration: unknown): void {
    this.#parentLine?.write(`${JSON.stringify(configuration)}\n`);
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  setKeepsProcessAlive(keeps: boolean): void {
    const streams = [this.#process.stdout, this.#process.stderr, this.#parentLine] as (net.Socket | null | undefined)[];
    if (keeps) {
      this.#process.ref();
      for (const stream of streams) stream?.ref();
    } else {
      this.#process.unref();
      for (const stream of streams) stream?.unref();
    }
  }
}

/** Longest line that is kept whole: an endless line must not fill the daemon's memory. */
const LINE_LENGTH_MAX = 64 * 1024;

export function onLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void, lengthMax: number = LINE_LENGTH_MAX): void {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  stream.on("data", (chunk: Buffer) => {
    rest += decoder.write(chunk);
    let start = 0;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", start)) {
      onLine(rest.slice(start, end));
      start = end + 1;
    }
    rest = rest.slice(start);
    while (rest.length > lengthMax) {
      onLine(rest.slice(0, lengthMax));
      rest = rest.slice(lengthMax);
    }
  });
  // Before others hear of the close: a process has ended when its last line has been delivered.
  stream.prependListener("close", () => {
    if (rest !== "") onLine(rest);
    rest = "";
  });
}

export interface ParentLine<Configuration> {
  configuration: Configuration;
  /** Calls back when it has been written, however long it is. */
  send(line: string, onWritten?: () => void): void;
  /** The parent's next line, for a child that was started before its purpose was known. */
  next(): Promise<Configuration>;
}

/** In a child: its configuration. `onParentGone` is called when the parent's end of the descriptor closes. */
export function readParentLine<Configuration>(onParentGone: () => void): Promise<ParentLine<Configuration>> {
  return new Promise((resolve, reject) => {
    const socket = new net.Socket({ fd: PARENT_FD, readable: true, writable: true });
    let isFirst = true;
    const following: Configuration[] = [];
    let onFollowing: (() => void) | undefined;
    const next = async (): Promise<Configuration> => {
      // The process that waits for it has nothing else to do.
      socket.ref();
      if (following.length === 0) await new Promise<void>((resume) => (onFollowing = resume));
      socket.unref();
      return following.shift() as Configuration;
    };
    onLines(
      socket,
      (line) => {
        const configuration = JSON.parse(line) as Configuration;
        if (!isFirst) {
          following.push(configuration);
          onFollowing?.();
          return;
        }
        isFirst = false;
        resolve({ configuration, next, send: (text, onWritten) => socket.write(`${text}\n`, onWritten) });
        // The line does not keep a child alive; whatever work it has does.
        socket.unref();
      },
      MESSAGE_LENGTH_MAX,
    );
    socket.on("error", () => {});
    socket.on("close", () => {
      if (isFirst) reject(new Error("the parent process ended before it sent a configuration"));
      onParentGone();
    });
  });
}
