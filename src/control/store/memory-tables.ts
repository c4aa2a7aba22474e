/**
 * What the memory stores of one process share: the table of keys, and who watches what.
 *
 * The shell around `KeyTable`: events come from stores, changes go to the queues of watches. Invariant: a watch gets every change that is made while it
 * is open, and before it those that it has missed.
 */
import { compactedError } from "../control-errors.ts";
import { ChangeQueue } from "./change-queue.ts";
import type { StoreChange, StoreEntry, StoreTransaction, TransactionResult } from "./control-store.ts";
import { KeyTable, keyOf, revisionOf } from "./key-table.ts";
import { isUnder } from "./store-keys.ts";

/** What the stores of one process share. */
export class MemoryTables {
  readonly table: KeyTable = new KeyTable();
  readonly #watches = new Map<ChangeQueue, string>();

  commit(transaction: StoreTransaction): TransactionResult {
    const { committed, changes } = this.table.apply(transaction);
    if (!committed) return { committed };
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
