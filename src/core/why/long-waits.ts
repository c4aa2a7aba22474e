/**
 * The waits of this process that last: told to the node's daemon, which finds those that wait for each other.
 *
 * Most waits end within microseconds, so a wait costs an entry in a set, and no timer of its own: once a second those that have been there for a second
 * are told, and the ends of those that were. Only waits of tasks and actors that nothing but an answer ends: a driver closes no cycle, and a
 * time limit ends one.
 */
import type { JobId, ObjectId } from "../../runtime/base/ids.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { LongWaitHeader, WaitsHeader } from "../../runtime/wire/messages.ts";
import type { TaskContext } from "../../runtime/worker/task-context.ts";

const TICK_MS = 1000;
/** Waits that are told in one message; of a program with more waits, the rest is told with the next. */
const TOLD_AT_ONCE_MAX = 256;
const TARGETS_MAX = 64;

export interface LongWait {
  readonly context: TaskContext;
  readonly entries: readonly ObjectEntry[];
  /** The turn of the clock in which it began. */
  readonly tick: number;
  /** Its number, once it has been told. */
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

  /** What a call of this process waits for at present. */
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

  /** One turn of the clock. */
  turn(): void {
    this.#tick += 1;
    const began: LongWaitHeader[] = [];
    for (const wait of this.#waits) {
      // In the order of their beginning: the rest is younger.
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
        // An object's id is that of its task with a number behind it.
        .map((entry) => ({ task: this.#options.idOf(entry).slice(0, -8), name: entry.label, actor: entry.actor })),
    };
  }
}
