/**
 * The worker processes of the node: started, known by process id, remembered with their last lines of output, ended.
 *
 * Owns every child of the daemon. A worker is `starting` until it says hello; its exit is reported once, after its last output. How a worker is
 * made (a child process, or a runtime inside this process) is the launcher's matter.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { UnreadFrames } from "../../base/outbox.ts";
import { SIGNAL } from "../../base/texts/signal-line.ts";
import type { MarkedCall, SharingCall } from "../../os/processes/memory/interrupt-slot.ts";
import type { ProcessInspector } from "../../os/inspector/process-inspector.ts";
import { describeSystemFailure } from "../../os/machine/open-files.ts";
import type { OutOfMemoryHeader, WorkerExitedHeader } from "../../wire/messages.ts";
import type { LaunchSettings } from "../environments/environment-table.ts";

/** A call as its worker knows it. */
interface RunningCall {
  readonly caller: ProcessId;
  readonly callId: number;
  readonly recursive: boolean;
}

interface RunningWorker {
  readonly pid: number;
  kill(): void;
  /** Stops synchronous code of this call. Absent where code cannot be stopped. @returns whether the worker runs that code now */
  interrupt?(call: RunningCall): boolean;
  /** Whether the call, or one that was made for it there, is known to run there now. */
  isAt?(call: RunningCall): boolean;
  /** Whether synchronous code of some other call is known to run there now. */
  runsOther?(call: RunningCall): boolean;
  /** Absent where the worker is part of a program's own process. */
  readonly inspector?: ProcessInspector | undefined;
}

/** How a process ended, and which call it ran then and which of each connection had begun last, where that is known. */
interface WorkerEnd {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly running?: MarkedCall | undefined;
  readonly begun?: readonly [leaseId: number, callId: number][] | undefined;
  /** The call that ran while other tasks waited in the process. */
  readonly sharing?: SharingCall | undefined;
  /** Sent frames that may be unread. */
  readonly unread?: readonly UnreadFrames[];
}

/** A worker that has ended, with facts beside those that everybody is told. */
export interface EndedWorker {
  readonly wasReady: boolean;
  readonly environment: string;
  readonly unread: readonly UnreadFrames[];
}

export interface WorkerLauncher {
  launch(options: {
    workerId: ProcessId;
    /** Key of its runtime environment; empty for the default one. */
    environment: string;
    /** How its workers are started; undefined for the default one. */
    settings: LaunchSettings | undefined;
    onLine: (stream: "stdout" | "stderr", line: string) => void;
    onExit: (exit: WorkerEnd) => void;
  }): RunningWorker;
}

interface WorkerRecord {
  readonly id: ProcessId;
  readonly environment: string;
  running: RunningWorker;
  ready: boolean;
  readonly lastOutput: string[];
  endReason: string | undefined;
  isForCancellation: boolean;
  outOfMemory: OutOfMemoryHeader | undefined;
}

/** Enough to show an uncaught exception with its stack, or the reason of a fatal error of V8, which stands above its native stack. */
const LAST_OUTPUT_LINES_MAX = 40;

const NOT_STARTED_PAUSE_MS = 200;

/** Marks in front of output: the name of the task or actor, and the task's id (runtime/worker/console-source.ts). */
const SOURCE_BEGIN = "\u001e";
const SOURCE_ID = "\u001d";
const SOURCE_END = "\u001f";

interface PrintedLine {
  readonly workerId: ProcessId;
  readonly pid: number;
  readonly source: string;
  /** Empty outside of tasks. */
  readonly taskId: string;
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  readonly environment: string;
}

interface WorkerPoolEvents {
  onOutput: (line: PrintedLine) => void;
  onExit: (exit: WorkerExitedHeader, worker: EndedWorker) => void;
  /** Code of a call is stopped in the worker. */
  onInterrupted: (id: ProcessId) => void;
}

export class WorkerPool {
  readonly #launcher: WorkerLauncher;
  readonly #events: WorkerPoolEvents;
  readonly #newId: () => ProcessId;
  readonly #workers = new Map<ProcessId, WorkerRecord>();
  #onEmpty: (() => void) | undefined;

  constructor(options: { launcher: WorkerLauncher; newId: () => ProcessId; events: WorkerPoolEvents }) {
    this.#launcher = options.launcher;
    this.#newId = options.newId;
    this.#events = options.events;
  }

  get pids(): number[] {
    return Array.from(this.#workers.values(), (worker) => worker.running.pid);
  }

  /** How many live that were started for an environment. */
  countOf(environment: string): number {
    let count = 0;
    for (const worker of this.#workers.values()) if (worker.environment === environment) count += 1;
    return count;
  }

  /** Workers that have said hello. */
  get readyWorkers(): { id: ProcessId; pid: number }[] {
    return Array.from(this.#workers.values())
      .filter((worker) => worker.ready)
      .map(({ id, running }) => ({ id, pid: running.pid }));
  }

  /** Looks into a worker that has said hello. Undefined for other processes, and for workers that cannot be looked into. */
  inspectorOf(id: ProcessId): ProcessInspector | undefined {
    const record = this.#workers.get(id);
    // A signal would end a process that has only begun.
    return record?.ready === true ? record.running.inspector : undefined;
  }

  spawn(environment: string, settings: LaunchSettings | undefined): void {
    const id = this.#newId();
    const lastOutput: string[] = [];
    const sources = { stdout: ["", ""], stderr: ["", ""] };
    const record: WorkerRecord = {
      id,
      environment,
      running: { pid: 0, kill: () => {} },
      ready: false,
      lastOutput,
      endReason: undefined,
      isForCancellation: false,
      outOfMemory: undefined,
    };
    this.#workers.set(id, record);
    const launch: Parameters<WorkerLauncher["launch"]>[0] = {
      workerId: id,
      environment,
      settings,
      onLine: (stream, line) => {
        let text = line;
        if (line.startsWith(SOURCE_BEGIN)) {
          const end = line.indexOf(SOURCE_END);
          if (end > 0) {
            sources[stream] = line.slice(1, end).split(SOURCE_ID);
            text = line.slice(end + 1);
            // A mark alone: the output after it has this source, native output too, and there is nothing to print.
            if (text === SOURCE_END) return;
          }
        }
        if (!text.includes(SIGNAL)) lastOutput.push(text);
        if (lastOutput.length > LAST_OUTPUT_LINES_MAX) lastOutput.shift();
        const [source = "", taskId = ""] = sources[stream];
        this.#events.onOutput({ workerId: id, pid: record.running.pid, source, taskId, stream, text, environment });
      },
      onExit: (exit) => {
        if (record.running.pid > 0) this.#exited(record, exit);
        else this.#notStarted(record);
      },
    };
    try {
      record.running = this.#launcher.launch(launch);
    } catch (error) {
      launch.onLine("stderr", `the process could not be started: ${describeSystemFailure(error as Error)}`);
      this.#notStarted(record);
    }
  }

  /** A caller that wants a worker asks for another at once, and the system has no room for that one either. */
  #notStarted(record: WorkerRecord): void {
    setTimeout(() => this.#exited(record, { exitCode: undefined, signal: undefined }), NOT_STARTED_PAUSE_MS);
  }

  /** Notes that the process said hello; returns its environment, or undefined for a process of another pool. */
  ready(id: ProcessId): string | undefined {
    const record = this.#workers.get(id);
    if (record === undefined) return undefined;
    record.ready = true;
    return record.environment;
  }

  /** SIGKILL: nothing that the worker still holds is worth a wait, as its answers have been sent. */
  kill(id: ProcessId, reason: string): void {
    const record = this.#workers.get(id);
    if (record === undefined) return;
    record.endReason ??= reason;
    record.running.kill();
  }

  killForMemory(id: ProcessId, reason: string, outOfMemory: OutOfMemoryHeader): void {
    const record = this.#workers.get(id);
    if (record === undefined || record.endReason !== undefined) return;
    record.outOfMemory = outOfMemory;
    this.kill(id, reason);
  }

  interrupt(id: ProcessId, call: RunningCall): void {
    if (this.#workers.get(id)?.running.interrupt?.(call) === true) this.#events.onInterrupted(id);
  }

  /** Stops synchronous code of the call, whichever worker runs it. */
  interruptWhereRun(call: RunningCall): void {
    for (const id of this.#workers.keys()) this.interrupt(id, call);
  }

  /** Ends the worker that is at the call. */
  killWhereRun(call: RunningCall): void {
    for (const { id, running } of this.#workers.values()) if (running.isAt?.(call) === true) this.killForCancellation(id);
  }

  /** Ends a worker for a cancelled call that does not end; not while it is at another. */
  killFor(id: ProcessId, call: RunningCall): void {
    if (this.#workers.get(id)?.running.runsOther?.(call) !== true) this.killForCancellation(id);
  }

  killForCancellation(id: ProcessId): void {
    const record = this.#workers.get(id);
    if (record === undefined) return;
    record.isForCancellation = true;
    this.kill(id, "a cancelled task in it did not end");
  }

  /** Ends all of them; resolves when each has gone and its output has been delivered. */
  async close(reason: string): Promise<void> {
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    for (const id of Array.from(this.#workers.keys())) this.kill(id, reason);
    if (this.#workers.size > 0) await empty;
  }

  #exited(record: WorkerRecord, exit: WorkerEnd): void {
    if (!this.#workers.delete(record.id)) return;
    this.#events.onExit(
      {
        workerId: record.id,
        pid: record.running.pid,
        exitCode: exit.exitCode,
        signal: exit.signal,
        lastOutput: record.lastOutput,
        reason: record.endReason,
        ...(exit.running === undefined ? {} : { running: [exit.running.caller as ProcessId, exit.running.callId] }),
        ...(exit.begun === undefined ? {} : { begun: exit.begun }),
        ...(exit.sharing === undefined ? {} : { sharing: { ...exit.sharing, caller: exit.sharing.caller as ProcessId } }),
        ...(record.isForCancellation ? { isForCancellation: true } : {}),
        ...(record.outOfMemory === undefined ? {} : { outOfMemory: record.outOfMemory }),
      },
      { wasReady: record.ready, environment: record.environment, unread: exit.unread ?? [] },
    );
    if (this.#workers.size === 0) this.#onEmpty?.();
  }
}

/** How a process ended, in a few words. */
export function describeExit(exit: WorkerExitedHeader): string {
  return exit.signal === undefined ? `exit code ${exit.exitCode ?? "unknown"}` : `signal ${exit.signal}`;
}
