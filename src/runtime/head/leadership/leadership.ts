/**
 * Makes one head the only writer: the leader's record, and the queue through which the leading head writes its tables.
 *
 * A head becomes leader by writing the leader's key with the next term over the record that it read. From then on each transaction writes
 * that key again and checks the previous revision, so a transaction of an older leader is refused as a whole. That fence needs no clock.
 * Writes that arrive while a transaction is under way are combined in the next one. Invariants: commits are applied in the order in which
 * they were requested; after `fenced` is aborted nothing is written.
 */
import { FencedError, UnknownOutcomeError } from "../../control-plane/control-plane-errors.ts";
import { COMMIT_BYTES_MAX, COMMIT_WRITES_MAX } from "../limits.ts";
import type { ControlStore, StoreWrite } from "../../control-plane/control-store.ts";

interface LeaderRecord {
  /** Identifies the head. */
  readonly id: string;
  /** Counts leaders. A message with a smaller term than an earlier one comes from a replaced leader. */
  readonly term: number;
  /** Counts the transactions of this term. */
  readonly batch: number;
  /** Whether others may take over from it. */
  readonly hasRivals?: boolean | undefined;
}

interface LeadershipOptions {
  readonly id: string;
  /** Whether others may take over from it. Default: false. */
  readonly hasRivals?: boolean;
}

export const LEADER_KEY = "leader";
/** Writes that wait; beyond it the store is down and more of them do not help anybody. */
const WAITING_WRITES_MAX = 100_000;

/**
 * Tries to become the leader even if another head leads: the caller judges whether the old leader is dead. @returns undefined when another
 * head was faster.
 */
export async function claimLeadership(store: ControlStore, { id, hasRivals = false }: LeadershipOptions): Promise<Leadership | undefined> {
  const found = await store.get(LEADER_KEY);
  const before = found && decode(found.value);
  const record: LeaderRecord = { id, term: (before?.term ?? 0) + 1, batch: 0, ...(hasRivals && { hasRivals }) };
  const result = await store.transaction({
    checks: [{ key: LEADER_KEY, revision: found?.revision ?? 0 }],
    writes: [{ key: LEADER_KEY, value: encode(record) }],
  });
  return result.committed
    ? new Leadership({ store, record, revision: result.revisions[0] as number, hadRivals: before?.hasRivals === true })
    : undefined;
}

interface Commit {
  readonly writes: readonly StoreWrite[];
  readonly resolve: (revisions: readonly number[]) => void;
  readonly reject: (error: Error) => void;
}

interface LeadershipStart {
  readonly store: ControlStore;
  readonly record: LeaderRecord;
  readonly revision: number;
  readonly hadRivals?: boolean;
}

export class Leadership {
  readonly #store: ControlStore;
  /** Whether the previous leader may continue for a while without knowing that it was replaced. */
  readonly hadRivals: boolean;
  readonly #fenced = new AbortController();
  #record: LeaderRecord;
  #revision: number;
  #waiting: Commit[] = [];
  #waitingWrites = 0;
  #isCommitting = false;

  constructor({ store, record, revision, hadRivals = false }: LeadershipStart) {
    this.hadRivals = hadRivals;
    this.#store = store;
    this.#record = record;
    this.#revision = revision;
  }

  get term(): number {
    return this.#record.term;
  }

  /** Aborted with a `FencedError` when this head does not lead any more. */
  get fenced(): AbortSignal {
    return this.#fenced.signal;
  }

  /**
   * Writes as the leader; resolves with the revisions once the writes are kept.
   *
   * @throws FencedError when another head leads, or when it cannot be known whether this one does
   * @throws ControlPlaneUnavailableError when the store does not answer; nothing was written, and this head still leads as far as it knows
   */
  async commit(writes: readonly StoreWrite[]): Promise<readonly number[]> {
    if (this.#fenced.signal.aborted) throw this.#fenced.signal.reason;
    if (writes.length === 0 || writes.length > COMMIT_WRITES_MAX) {
      throw new RangeError(`Cannot commit: a commit has 1 to ${COMMIT_WRITES_MAX} writes: received ${writes.length}`);
    }
    if (writes.some(({ key }) => key === LEADER_KEY)) throw new RangeError(`Cannot commit: ${LEADER_KEY} is the leader's own key`);
    if (this.#waitingWrites + writes.length > WAITING_WRITES_MAX) {
      throw new RangeError(
        `Cannot commit: ${WAITING_WRITES_MAX} writes may wait for the store: received ${this.#waitingWrites + writes.length}`,
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>();
    this.#waiting.push({ writes, resolve, reject });
    this.#waitingWrites += writes.length;
    if (!this.#isCommitting) void this.#commitAll();
    return promise;
  }

  /** Hears of a leader: a higher term means that this head was replaced, long before its next write would be refused. */
  hear(term: number): void {
    if (term > this.term) this.#fence(`a leader of term ${term} was heard`);
  }

  async #commitAll(): Promise<void> {
    this.#isCommitting = true;
    // Requests made in one turn are combined.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commitGroup(this.#takeGroup());
    this.#isCommitting = false;
  }

  /** As many of the waiting commits as fit, in their order, up to the first that writes a key again: a transaction writes each key once. */
  #takeGroup(): Commit[] {
    const keys = new Set<string>();
    let bytes = 0;
    let count = 0;
    for (const { writes } of this.#waiting) {
      bytes += writes.reduce((sum, { value }) => sum + (value?.byteLength ?? 0), 0);
      if (count > 0 && (keys.size + writes.length > COMMIT_WRITES_MAX || bytes > COMMIT_BYTES_MAX)) break;
      if (writes.some(({ key }) => keys.has(key))) break;
      for (const { key } of writes) keys.add(key);
      count += 1;
    }
    // Never empty: only the first commit repeats no other's key.
    const group = this.#waiting.splice(0, count);
    this.#waitingWrites -= keys.size;
    return group;
  }

  async #commitGroup(group: readonly Commit[]): Promise<void> {
    if (this.#fenced.signal.aborted) return this.#rejectAll(group, this.#fenced.signal.reason as Error);
    const next: LeaderRecord = { ...this.#record, batch: this.#record.batch + 1 };
    try {
      const result = await this.#store.transaction({
        checks: [{ key: LEADER_KEY, revision: this.#revision }],
        writes: [{ key: LEADER_KEY, value: encode(next) }, ...group.flatMap(({ writes }) => writes)],
      });
      if (!result.committed) {
        this.#fence("another head has written the leader's key");
        return this.#rejectAll(group, this.#fenced.signal.reason as Error);
      }
      this.#record = next;
      const [revision, ...revisions] = result.revisions;
      this.#revision = revision as number;
      let from = 0;
      for (const { writes, resolve } of group) {
        resolve(revisions.slice(from, from + writes.length));
        from += writes.length;
      }
    } catch (error) {
      if (error instanceof UnknownOutcomeError) this.#fence("the store does not tell whether the last write was kept", error);
      this.#rejectAll(group, this.#fenced.signal.aborted ? (this.#fenced.signal.reason as Error) : (error as Error));
    }
  }

  #rejectAll(group: readonly Commit[], error: Error): void {
    for (const { reject } of group) reject(error);
  }

  #fence(why: string, cause?: Error): void {
    if (this.#fenced.signal.aborted) return;
    const message = `The head ${this.#record.id} does not lead any more: its term is ${this.term}, and ${why}.`;
    const hint = "Read the tables again before you claim the next term.";
    this.#fenced.abort(new FencedError(message, { reason: why, hint, details: { ...this.#record }, ...(cause && { cause }) }));
  }
}

function encode(record: LeaderRecord): Uint8Array {
  return Buffer.from(JSON.stringify(record), "utf8");
}

function decode(value: Uint8Array): LeaderRecord {
  return JSON.parse(Buffer.from(value).toString("utf8")) as LeaderRecord;
}
