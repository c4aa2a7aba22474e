/**
 * Storage of the head's tables: a few thousand to a hundred thousand small values under keys, with revisions.
 *
 * Decides the contract that the memory store and the NATS store share and that the suite in `test/control-plane` holds both to:
 * - Every change gets a revision, larger than all before it. A transaction is applied as a whole or not at all.
 * - A read is a hint: while the store changes its leader, an old one may answer. A caller that acts on a read repeats its revisions in the
 *   transaction's checks, which are exact.
 * - An acknowledged write survives the death of any process.
 * - A transaction whose outcome cannot be known fails with `UnknownOutcomeError` and is never applied twice.
 */

/** A value in the store. Its bytes belong to the reader. */
export interface StoreEntry {
  readonly key: string;
  readonly value: Uint8Array;
  /** Revision of the change that wrote the entry. */
  readonly revision: number;
}

/** A condition of a transaction: this revision is the key's last change, be it a write or a deletion. 0: the key does not exist. */
interface RevisionCheck {
  readonly key: string;
  readonly revision: number;
}

/** A write of a transaction. Without `value` it deletes the key. */
export interface StoreWrite {
  readonly key: string;
  readonly value?: Uint8Array | undefined;
}

export interface StoreTransaction {
  /** Checks on keys that the transaction writes; all have to hold. */
  readonly checks?: readonly RevisionCheck[];
  /** At least one, each key once. */
  readonly writes: readonly StoreWrite[];
  /** How long to wait for a store that has no leader at the moment. Default: `TRANSACTION_TIMEOUT_MS`. */
  readonly timeoutMs?: number;
}

/** `revisions` has those of the writes, in order. A refused transaction changed nothing: read again and decide again. */
export type TransactionResult = { readonly committed: true; readonly revisions: readonly number[] } | { readonly committed: false };

export interface ControlStore extends AsyncDisposable {
  get(key: string): Promise<StoreEntry | undefined>;
  /** All keys that begin with the words of `prefix`: "actor" has "actor.1", not "actors.1". "" is everything. */
  list(prefix: string): Promise<readonly StoreEntry[]>;
  transaction(transaction: StoreTransaction): Promise<TransactionResult>;
  /**
   * Forgets keys that were deleted before the previous call. Transactions under way may still need younger deletions. The leading head
   * calls this now and then, since the marks of deleted keys would grow without bound.
   */
  compact(): Promise<void>;
  /** Rejects later calls. The stored data stays. */
  close(): Promise<void>;
}
