/**
 * Forks workers from a process with preloaded imports (`python/entry/zygote.py`): a worker starts in milliseconds, and shares its pages.
 *
 * There is one for each environment and list of imports. The process forks and kills on order, as it alone knows which children have not
 * been reaped, and reports those that have ended. A forked worker connects its output and its parent's line to a socket here. The process
 * ends a while after the last worker, and its end ends all workers.
 */
import { rmSync } from "node:fs";
import net from "node:net";
import { MESSAGE_LENGTH_MAX } from "../limits.ts";
import { endProcessGroup } from "./programs/process-group.ts";
import { afterRemainingOutput } from "./programs/remaining-output.ts";
import { Child, type ChildExit, type ChildOptions, onLines } from "./worker-process.ts";

interface ForkedWorker {
  /** That of the process which forks it, until it has. */
  readonly pid: number;
  kill(signal: keyof typeof SIGNAL_NUMBERS): void;
}

interface ForkOptions {
  readonly configuration: unknown;
  readonly onForked: (pid: number) => void;
  readonly onLine: ChildOptions["onLine"];
  readonly onExit: ChildOptions["onExit"];
}

interface ForkedWorkersOptions {
  readonly program: string;
  readonly entry: string;
  /** Modules that are imported before anything is forked. */
  readonly preload: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** Where it listens for its workers' streams. */
  readonly socket: string;
  /** Called at the end, for every cause. */
  readonly onEnd: () => void;
}

interface Fork extends ForkOptions {
  pid: number;
  sockets: net.Socket[];
  /** Streams of output that are open, and how the process ended, once that is known. */
  openStreams: number;
  exit: ChildExit | undefined;
}

/** Time without workers after which the process ends. */
const IDLE_KEPT_MS = 60_000;
/** Numbers as on Linux, the only system where workers are forked. */
const SIGNAL_NUMBERS = { SIGINT: 2, SIGKILL: 9, SIGUSR1: 10 } as const;
const DESCRIPTOR = { 1: "stdout", 2: "stderr" } as const;

export class ForkedWorkers {
  readonly #options: ForkedWorkersOptions;
  readonly #child: Child;
  readonly #server: net.Server;
  readonly #forks = new Map<number, Fork>();
  /** Last lines of output, for requests whose worker never starts. */
  readonly #printed: string[] = [];
  readonly #isListening: Promise<void>;
  #nextNumber = 1;
  #idleTimer: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(options: ForkedWorkersOptions) {
    this.#options = options;
    const { program, entry, preload, env, cwd, socket } = options;
    this.#server = net.createServer((stream) => this.#connected(stream));
    this.#server.on("error", () => this.#child.kill("SIGKILL"));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#isListening = promise;
    this.#server.listen(socket, resolve);
    this.#child = new Child({
      program,
      entry,
      execArgv: [],
      configuration: { preload },
      env,
      cwd,
      onLine: (_stream, line) => this.#printed.push(line),
      onMessage: (line) => this.#told(JSON.parse(line) as Record<string, number | string>),
      onExit: (exit) => this.#ended(exit),
    });
  }

  fork(options: ForkOptions): ForkedWorker {
    clearTimeout(this.#idleTimer);
    const number = this.#nextNumber;
    this.#nextNumber += 1;
    const fork: Fork = { ...options, pid: this.#child.pid, sockets: [], openStreams: 2, exit: undefined };
    this.#forks.set(number, fork);
    void this.#isListening.then(() => this.#child.configure({ fork: number, socket: this.#options.socket }));
    return {
      get pid() {
        return fork.pid;
      },
      kill: (signal) => this.#child.configure({ kill: number, signal: SIGNAL_NUMBERS[signal] }),
    };
  }

  close(): void {
    clearTimeout(this.#idleTimer);
    this.#child.kill("SIGKILL");
  }

  #told(message: Record<string, number | string>): void {
    const fork = this.#forks.get(Number(message["forked"] ?? message["exited"]));
    if (fork === undefined) return;
    if (message["forked"] !== undefined) {
      fork.pid = Number(message["pid"]);
      fork.onForked(fork.pid);
      return;
    }
    const { code, signal } = message;
    this.#exited(Number(message["exited"]), fork, {
      exitCode: code === undefined ? undefined : Number(code),
      signal: signal === undefined ? undefined : String(signal),
    });
  }

  /** A worker's stream first names the worker and the descriptor. */
  #connected(stream: net.Socket): void {
    stream.on("error", () => {});
    stream.once("readable", () => {
      const chunk = stream.read() as Buffer | null;
      const end = chunk?.indexOf("\n") ?? -1;
      const [number, descriptor] = chunk === null ? [] : chunk.subarray(0, Math.max(0, end)).toString("latin1").split(" ").map(Number);
      const fork = number === undefined ? undefined : this.#forks.get(number);
      if (chunk === null || fork === undefined || number === undefined) {
        stream.destroy();
        return;
      }
      fork.sockets.push(stream);
      if (end + 1 < chunk.length) stream.unshift(chunk.subarray(end + 1));
      const name = DESCRIPTOR[descriptor as 1 | 2] as "stdout" | "stderr" | undefined;
      if (name === undefined) {
        stream.write(`${JSON.stringify(fork.configuration)}\n`);
        onLines(stream, () => {}, MESSAGE_LENGTH_MAX);
        return;
      }
      onLines(stream, (line) => fork.onLine(name, line));
      stream.on("close", () => {
        fork.openStreams -= 1;
        this.#report(number, fork);
      });
    });
  }

  #exited(number: number, fork: Fork, exit: ChildExit): void {
    fork.exit = exit;
    // Until it is forked, the number is that of the process which forks.
    if (fork.pid !== this.#child.pid) endProcessGroup(fork.pid);
    // As with other children, a grandchild may hold the streams open for ever.
    afterRemainingOutput(fork.sockets, () => {
      fork.openStreams = 0;
      this.#report(number, fork);
    });
    this.#report(number, fork);
  }

  #report(number: number, fork: Fork): void {
    if (fork.exit === undefined || fork.openStreams > 0 || !this.#forks.delete(number)) return;
    for (const socket of fork.sockets) socket.destroy();
    fork.onExit(fork.exit);
    if (this.#forks.size > 0) return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.close(), IDLE_KEPT_MS).unref();
  }

  #ended(exit: ChildExit): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#server.close();
    rmSync(this.#options.socket, { force: true });
    this.#options.onEnd();
    for (const [number, fork] of this.#forks) {
      // The forked workers die with the process; waiting requests get the cause.
      for (const line of this.#printed) fork.onLine("stderr", line);
      fork.openStreams = 0;
      this.#exited(number, fork, exit);
    }
  }
}
