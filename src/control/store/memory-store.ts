/**
 * A control store in the memory of one process: what a machine without a cluster uses, and the model that the NATS store is compared with.
 *
 * Several stores can share one `MemoryTables`, as several clients share one NATS. Invariants: nothing it answers is older than the last
 * change; answers come after the caller's own turn, so that code that works here does not rely on an answer at once.
 */
import { closedError } from "../control-errors.ts";
import type { ChangeQueue } from "./change-queue.ts";
import type { ControlStore, StoreEntry, StoreListing, StoreTransaction, StoreWatch, TransactionResult } from "./control-store.ts";
import { copyOf, MemoryTables } from "./memory-tables.ts";
import { checkKey, checkPrefix, checkRevision, checkTransaction } from "./store-keys.ts";

export class MemoryStore implements ControlStore {
  readonly #tables: MemoryTables;
  readonly #watches = new Set<ChangeQueue>();
  #isClosed = false;

  constructor(tables: MemoryTables = new MemoryTables()) {
    this.#tables = tables;
  }

  async get(key: string): Promise<StoreEntry | undefined> {
    checkKey(key, "read a key");
    this.#assertOpen();
    const entry = this.#tables.table.get(key);
    return entry && copyOf(entry);
  }

  async list(prefix: string): Promise<StoreListing> {
    checkPrefix(prefix, "list keys");
    this.#assertOpen();
    const { entries, revision } = this.#tables.table.list(prefix);
    return { entries: entries.map(copyOf), revision };
  }

  watch(prefix: string, { afterRevision }: { afterRevision: number }): StoreWatch {
    checkPrefix(prefix, "watch keys");
    checkRevision(afterRevision, "watch keys");
    this.#assertOpen();
    const queue = this.#tables.watch(prefix, { afterRevision, onClose: (closed) => this.#watches.delete(closed) });
    this.#watches.add(queue);
    return queue;
  }

  async transaction(transaction: StoreTransaction): Promise<TransactionResult> {
    checkTransaction(transaction);
    this.#assertOpen();
    return this.#tables.commit(transaction);
  }

  async compact(): Promise<void> {
    this.#assertOpen();
    this.#tables.table.compact();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const queue of this.#watches) queue.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw closedError();
  }
}
