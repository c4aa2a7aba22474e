/**
 * Commits the head's changes before anybody hears of them.
 *
 * Each event of the head's state machines hands over its changed records and its actions (messages, placements). The records are committed
 * in the order of the events, several events in one transaction; the actions run only afterwards, in the same order. While the store is
 * away everything waits, in order, and nothing is lost or acknowledged. If another head takes over, waiting actions never run. Invariants:
 * one transaction is under way at a time, so that a failed one and its successors keep their order. An event whose writes fit in a
 * transaction is never split. With nothing waiting, an event without writes runs at once.
 */
import { asError } from "../../base/texts/describe.ts";
import { ControlPlaneUnavailableError } from "../../control-plane/control-plane-errors.ts";
import { COMMIT_BYTES_MAX, COMMIT_WRITES_MAX } from "../limits.ts";
import type { Stall } from "../nodes/stall-watch.ts";
import type { StoreWrite } from "../../control-plane/control-store.ts";

interface JournalOptions {
  /** `Leadership.commit`. */
  readonly commit: (writes: readonly StoreWrite[]) => Promise<unknown>;
  /** The head leads no more, or cannot continue: no action runs after this. */
  readonly onLost: (error: Error) => void;
  /** Runs something later. Default: a timer. */
  readonly after?: (delayMs: number, run: () => void) => void;
  readonly nowMs?: () => number;
}

interface Entry {
  readonly writes: readonly StoreWrite[];
  readonly run: () => void;
}

const RETRY_MS = 200;
/** A commit takes milliseconds. */
const STALLED_AFTER_MS = 1000;

export class Journal {
  readonly #options: JournalOptions;
  #waiting: Entry[] = [];
  #isCommitting = false;
  #isLost = false;
  /** When the first attempt at the present commit began. */
  #keepingSinceMs: number | undefined;
  #problem: string | undefined;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** How many events wait to be kept. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Since when the store takes no changes, and why; undefined while it answers in time. */
  get stall(): Stall | undefined {
    const sinceMs = this.#keepingSinceMs;
    if (sinceMs === undefined || this.#nowMs() - sinceMs < STALLED_AFTER_MS) return undefined;
    return { sinceMs, reason: this.#problem ?? "its store has not answered yet" };
  }

  #nowMs(): number {
    return this.#options.nowMs?.() ?? performance.now();
  }

  /** Keeps the writes, then runs the rest of the event. */
  after(writes: readonly StoreWrite[], run: () => void): void {
    if (this.#isLost) return;
    if (writes.length === 0 && this.#waiting.length === 0 && !this.#isCommitting) {
      run();
      return;
    }
    this.#waiting.push({ writes, run });
    if (!this.#isCommitting) void this.#commitAll();
  }

  /** Nothing that waits is done any more. */
  end(): void {
    this.#isLost = true;
    this.#waiting = [];
  }

  async #commitAll(): Promise<void> {
    this.#isCommitting = true;
    // Events of one turn share a transaction.
    await Promise.resolve();
    while (this.#waiting.length > 0 && !this.#isLost) {
      const batch = this.#takeBatch();
      for (const writes of chunksOf(batch)) await this.#commit(writes);
      for (const { run } of batch) if (!this.#isLost) run();
    }
    this.#isCommitting = false;
  }

  /** The next events whose writes fit in one transaction; one alone may be larger. */
  #takeBatch(): Entry[] {
    const keys = new Set<string>();
    let bytes = 0;
    let count = 0;
    for (const { writes } of this.#waiting) {
      for (const { key, value } of writes) {
        keys.add(key);
        bytes += value?.byteLength ?? 0;
      }
      if (count > 0 && (keys.size > COMMIT_WRITES_MAX || bytes > COMMIT_BYTES_MAX)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #commit(writes: readonly StoreWrite[]): Promise<void> {
    this.#keepingSinceMs = this.#nowMs();
    while (!this.#isLost) {
      try {
        await this.#options.commit(writes);
        this.#keepingSinceMs = undefined;
        this.#problem = undefined;
        return;
      } catch (error) {
        if (!(error instanceof ControlPlaneUnavailableError)) {
          this.end();
          this.#options.onLost(asError(error));
          return;
        }
        this.#problem = reasonOf(error);
        await this.#pause();
      }
    }
  }

  #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#options.after === undefined) setTimeout(resolve, RETRY_MS);
    else this.#options.after(RETRY_MS, resolve);
    return promise;
  }
}

/** Within a sentence. */
function reasonOf({ message, cause }: ControlPlaneUnavailableError): string {
  const text = message.replace(/\.$/, "");
  const detail = cause instanceof Error ? cause.message : typeof cause === "string" ? cause : "";
  const whole = detail === "" || text.includes(detail) ? text : `${text} (${detail})`;
  return whole.charAt(0).toLowerCase() + whole.slice(1);
}

/** The last write of each key, in transactions of a size that the store takes. */
function chunksOf(batch: readonly Entry[]): StoreWrite[][] {
  const last = new Map<string, StoreWrite>();
  for (const { writes } of batch) for (const write of writes) last.set(write.key, write);
  const all = Array.from(last.values());
  const chunks: StoreWrite[][] = [];
  for (let from = 0; from < all.length; from += COMMIT_WRITES_MAX) chunks.push(all.slice(from, from + COMMIT_WRITES_MAX));
  return chunks;
}
