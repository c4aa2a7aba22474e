/**
 * Tells the node's daemon about this process's long waits. The daemon finds processes that wait for each other.
 *
 * Most waits end within microseconds. A wait therefore costs an entry in a set, and no timer of its own. Once a
 * second the file reports the waits that have lasted a second, and the ends of those that it reported before. It
 * covers only waits of tasks and actors without a time limit. A driver closes no cycle, and a time limit ends one.
 */
import type { JobId, ObjectId } from "../../runtime/base/ids.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { LongWaitHeader, WaitsHeader } from "../../runtime/wire/messages.ts";
import type { TaskContext } from "../../runtime/worker/tasks/task-context.ts";

const TICK_MS = 1000;
/** Number of waits in one message. A program with more waits reports the rest with the next message. */
const TOLD_AT_ONCE_MAX = 256;
const TARGETS_MAX = 64;

export interface LongWait {
  readonly context: TaskContext;
  readonly entries: readonly ObjectEntry[];
  /** Turn of the clock in which the wait began. */
  readonly tick: number;
  /** Number of the wait, once it has been reported. */
  number: number;
}

interface LongWaitsOptions {
  jobId: JobId;
  idOf: (entry: ObjectEntry) => ObjectId;
  tell: (header: WaitsHeader) => void;
}

export class LongWaits {
  readonly #options: LongWaitsOptions;
  readonly #waits = new Set<LongWait>();
  #ended: number[] = [];
  #tick = 0;
  #lastNumber = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LongWaitsOptions) {
    this.#options = options;
  }

  begin(context: TaskContext, entries: readonly ObjectEntry[]): LongWait {
    const wait = { context, entries, tick: this.#tick, number: 0 };
    this.#waits.add(wait);
    this.#timer ??= setInterval(() => this.turn(), TICK_MS).unref();
    return wait;
  }

  /** The refs that calls of this process wait for at present. */
  waitsOf(context: TaskContext): ObjectEntry[] {
    const entries = new Set<ObjectEntry>();
    for (const wait of this.#waits) {
      if (wait.context !== context) continue;
      for (const entry of wait.entries) if (!entry.isSettled) entries.add(entry);
    }
    return Array.from(entries);
  }

  end(wait: LongWait): void {
    this.#waits.delete(wait);
    if (wait.number > 0) this.#ended.push(wait.number);
  }

  /** Runs one turn of the clock. */
  turn(): void {
    this.#tick += 1;
    const began: LongWaitHeader[] = [];
    for (const wait of this.#waits) {
      // The set is in the order of beginning, so all later waits are younger.
      if (wait.tick >= this.#tick - 1 || began.length >= TOLD_AT_ONCE_MAX) break;
      if (wait.number === 0) began.push(this.#told(wait));
    }
    const ended = this.#ended;
    this.#ended = [];
    if (began.length > 0 || ended.length > 0) this.#options.tell({ began, ended });
    if (this.#waits.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#waits.clear();
  }

  #told(wait: LongWait): LongWaitHeader {
    this.#lastNumber += 1;
    wait.number = this.#lastNumber;
    const { context, entries } = wait;
    return {
      number: wait.number,
      task: context.taskId(this.#options.jobId),
      name: context.name,
      actor: context.place.isSerial ? context.place.actor : undefined,
      for: entries
        .filter((entry) => !entry.isSettled)
        .slice(0, TARGETS_MAX)
        // The id of an object is its task's id with a number behind it.
        .map((entry) => ({ task: this.#options.idOf(entry).slice(0, -8), name: entry.label, actor: entry.actor })),
    };
  }
}
