/**
 * Connections of one listener whose other end has not said who it is: how many there may be, and which go when there are more.
 *
 * Each takes a file descriptor and a parser's memory, and anybody who reaches the listener can open them, so there is a cap. The oldest go first: a caller with something to
 * say says it at once, so whoever is honest gets in while others only connect. A listener begins an entry for each connection; the entry is finished when the hello was taken
 * (`Transport.identified`) or the connection has closed. A caller that has begun as ours do (`Transport.begun`) and was answered may be an honest one that waits for a processor: it may stay as long as whoever reads it
 * allows (`runtime/rpc/handshake.ts`), and counts among those that may be at once only.
 */
import { UNFINISHED_AT_ONCE_MAX, UNFINISHED_FOR_MS, UNFINISHED_MAX } from "../limits.ts";

export interface UnfinishedConnection {
  /** Ends it. Replaced when the connection is wrapped in another, such as TLS. */
  drop: () => void;
  /** Its first word was one of ours, and was answered: the next is its own, when it gets round to it. */
  begun(): void;
  /** It has said who it is, or has closed. May be called twice. */
  finish(): void;
}

interface Entry extends UnfinishedConnection {
  readonly sinceMs: number;
}

export class UnfinishedConnections {
  /** In the order in which they came. */
  readonly #entries = new Set<Entry>();
  /** Those that have not begun. */
  readonly #silent = new Set<Entry>();
  readonly #atOnceMax: number;
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor({ atOnceMax = UNFINISHED_AT_ONCE_MAX, nowMs = () => performance.now() }: { atOnceMax?: number; nowMs?: () => number } = {}) {
    this.#atOnceMax = atOnceMax;
    this.#nowMs = nowMs;
  }

  get size(): number {
    return this.#entries.size;
  }

  begin(drop: () => void): UnfinishedConnection {
    const entry: Entry = {
      drop,
      sinceMs: this.#nowMs(),
      begun: () => void this.#silent.delete(entry),
      finish: () => this.#remove(entry),
    };
    this.#entries.add(entry);
    this.#silent.add(entry);
    // Also one that has begun, as unauthenticated callers can: else they would keep out whoever comes behind them.
    if (this.#entries.size > this.#atOnceMax) this.#dropFirst(this.#entries);
    this.#trimLater();
    return entry;
  }

  /** Those of too many that have had their time. */
  trim(): void {
    const nowMs = this.#nowMs();
    for (const { sinceMs } of this.#silent) {
      if (this.#silent.size <= UNFINISHED_MAX || nowMs - sinceMs < UNFINISHED_FOR_MS) return;
      this.#dropFirst(this.#silent);
    }
  }

  /** All of them, as the listener closes. */
  close(): void {
    clearTimeout(this.#timer);
    while (this.#entries.size > 0) this.#dropFirst(this.#entries);
  }

  #dropFirst(entries: ReadonlySet<Entry>): void {
    const [oldest] = entries;
    if (oldest === undefined) return;
    this.#remove(oldest);
    oldest.drop();
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry);
    this.#silent.delete(entry);
  }

  #trimLater(): void {
    if (this.#silent.size <= UNFINISHED_MAX || this.#timer !== undefined) return;
    // A process that was busy until now reads before it judges.
    this.#timer = setTimeout(
      () =>
        setImmediate(() => {
          this.#timer = undefined;
          this.trim();
          this.#trimLater();
        }),
      UNFINISHED_FOR_MS,
    );
    this.#timer.unref();
  }
}
