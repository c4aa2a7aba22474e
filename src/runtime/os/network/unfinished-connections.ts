/**
 * Limits a listener's connections whose other end has not identified itself, and decides which to drop.
 *
 * Each costs a file descriptor and a parser's memory, and anybody who reaches the listener can open them, so there is a cap. The oldest go
 * first: an honest caller speaks at once, so it gets in while others only connect. A listener begins an entry for each connection; the
 * entry is finished when the hello was taken (`Transport.identified`) or the connection has closed. A caller that has begun as ours do
 * (`Transport.begun`) and was answered may be an honest one that waits for a processor. It may stay as long as its reader allows
 * (`runtime/rpc/handshake.ts`), and counts only towards the number at once.
 */
import { UNFINISHED_AT_ONCE_MAX, UNFINISHED_FOR_MS, UNFINISHED_MAX } from "../limits.ts";

export interface UnfinishedConnection {
  /** Ends it. Replaced when the connection is wrapped in another, such as TLS. */
  drop: () => void;
  /** The first message was valid and was answered. The caller's next one comes when it gets processor time. */
  begun(): void;
  /** The caller has identified itself, or the connection has closed. May be called twice. */
  finish(): void;
}

interface Entry extends UnfinishedConnection {
  readonly sinceMs: number;
}

export class UnfinishedConnections {
  /** In order of arrival. */
  readonly #entries = new Set<Entry>();
  /** Connections that have not begun. */
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
    // May drop one that has begun, as unauthenticated callers can begin: else they would keep out later callers.
    if (this.#entries.size > this.#atOnceMax) this.#dropFirst(this.#entries);
    this.#trimLater();
    return entry;
  }

  /** Drops those of too many whose time is over. */
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
