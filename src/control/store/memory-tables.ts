/**
 * What the memory stores of one process share: the table of keys, the clocks of keys that vanish, and who watches what.
 *
 * The shell around `KeyTable`: events come from stores and from timers, changes go to the queues of watches. Invariant: each key has at most one
 * clock, that of its last write.
 */
import { compactedError } from "../control-errors.ts";
import { ChangeQueue } from "./change-queue.ts";
import type { StoreChange, StoreEntry, StoreTransaction, StoreWrite, TransactionResult } from "./control-store.ts";
import { KeyTable, keyOf, revisionOf } from "./key-table.ts";
import { isUnder } from "./store-keys.ts";

/** Runs something later; returns what takes it back. */
type Timer = (delayMs: number, run: () => void) => () => void;

const realTimer: Timer = (delayMs, run) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};

/** What the stores of one process share. */
export class MemoryTables {
  readonly table: KeyTable = new KeyTable();
  readonly #watches = new Map<ChangeQueue, string>();
  readonly #expiries = new Map<string, () => void>();
  readonly #timer: Timer;

  constructor({ timer = realTimer }: { timer?: Timer } = {}) {
    this.#timer = timer;
  }

  commit(transaction: StoreTransaction): TransactionResult {
    const { committed, changes } = this.table.apply(transaction);
    if (!committed) return { committed };
    for (const [index, write] of transaction.writes.entries()) this.#expect(write, revisionOf(changes[index] as StoreChange));
    this.#publish(changes);
    return { committed, revisions: changes.map(revisionOf) };
  }

  watch(prefix: string, { afterRevision, onClose }: { afterRevision: number; onClose: (queue: ChangeQueue) => void }): ChangeQueue {
    const queue = new ChangeQueue(() => {
      this.#watches.delete(queue);
      onClose(queue);
    });
    if (afterRevision < this.table.forgottenUpTo) {
      queue.fail(compactedError(afterRevision, this.table.forgottenUpTo));
      return queue;
    }
    for (const change of this.table.changesAfter(prefix, afterRevision)) queue.push(readersOwn(change));
    this.#watches.set(queue, prefix);
    return queue;
  }

  /** Ends the clocks of keys that would vanish; for the end of the process. */
  dispose(): void {
    for (const cancel of this.#expiries.values()) cancel();
    this.#expiries.clear();
  }

  /** Every write of a key ends the clock of the one before. */
  #expect({ key, ttlMs }: StoreWrite, revision: number): void {
    this.#expiries.get(key)?.();
    this.#expiries.delete(key);
    if (ttlMs === undefined) return;
    const cancel = this.#timer(Math.ceil(ttlMs / 1000) * 1000, () => {
      this.#expiries.delete(key);
      const change = this.table.expire({ key, revision });
      if (change !== undefined) this.#publish([change]);
    });
    this.#expiries.set(key, cancel);
  }

  #publish(changes: readonly StoreChange[]): void {
    for (const change of changes) {
      for (const [queue, prefix] of this.#watches) if (isUnder(prefix, keyOf(change))) queue.push(readersOwn(change));
    }
  }
}

/** Bytes of its own, as over a network. */
export function copyOf({ key, value, revision }: StoreEntry): StoreEntry {
  return { key, value: value.slice(), revision };
}

function readersOwn(change: StoreChange): StoreChange {
  return change.kind === "put" ? { kind: "put", entry: copyOf(change.entry) } : change;
}
