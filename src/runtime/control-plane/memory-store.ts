/**
 * Control store in the memory of one process, for a machine without a cluster. The tests compare the NATS store with it.
 *
 * Several stores can share one `KeyTable`, as several clients share one NATS. Invariants: no answer is older than the last change, and
 * answers arrive in a later turn, so that code that works here does not rely on an immediate answer.
 */
import { closedError } from "./control-plane-errors.ts";
import type { ControlStore, StoreEntry, StoreTransaction, TransactionResult } from "./control-store.ts";
import { KeyTable } from "./key-table.ts";
import { checkKey, checkPrefix, checkTransaction } from "./store-keys.ts";

export class MemoryStore implements ControlStore {
  readonly #table: KeyTable;
  #isClosed = false;

  constructor(table: KeyTable = new KeyTable()) {
    this.#table = table;
  }

  async get(key: string): Promise<StoreEntry | undefined> {
    checkKey(key, "read a key");
    this.#assertOpen();
    const entry = this.#table.get(key);
    return entry && copyOf(entry);
  }

  async list(prefix: string): Promise<StoreEntry[]> {
    checkPrefix(prefix, "list keys");
    this.#assertOpen();
    return this.#table.list(prefix).map(copyOf);
  }

  async transaction(transaction: StoreTransaction): Promise<TransactionResult> {
    checkTransaction(transaction);
    this.#assertOpen();
    return this.#table.apply(transaction);
  }

  async compact(): Promise<void> {
    this.#assertOpen();
    this.#table.compact();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw closedError();
  }
}

/** Copies the bytes, as a network would. */
function copyOf({ key, value, revision }: StoreEntry): StoreEntry {
  return { key, value: value.slice(), revision };
}
