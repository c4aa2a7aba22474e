/**
 * The keys, values and revisions of a memory store, and how transactions and compactions change them.
 *
 * A pure state machine, no clock and no promises; `memory-store.ts` is its shell, and several of them may share one. Invariants: revisions only grow; a
 * transaction whose checks do not all hold changes nothing; a deleted key is remembered with its revision until it is compacted.
 */
import type { StoreEntry, StoreTransaction, StoreWrite, TransactionResult } from "./control-store.ts";
import { isUnder } from "./store-keys.ts";

export class KeyTable {
  readonly #entries = new Map<string, StoreEntry>();
  readonly #deletions = new Map<string, number>();
  #revision = 0;
  #lastCompactionAt = 0;

  get(key: string): StoreEntry | undefined {
    return this.#entries.get(key);
  }

  list(prefix: string): StoreEntry[] {
    return [...this.#entries.values()].filter(({ key }) => isUnder(prefix, key));
  }

  apply({ checks = [], writes }: StoreTransaction): TransactionResult {
    if (checks.some(({ key, revision }) => !this.#isAt(key, revision))) return { committed: false };
    return { committed: true, revisions: writes.map((write) => this.#write(write)) };
  }

  compact(): void {
    for (const [key, revision] of this.#deletions) if (revision <= this.#lastCompactionAt) this.#deletions.delete(key);
    this.#lastCompactionAt = this.#revision;
  }

  /** A deletion is a write, too: until it is forgotten, its revision shows that the key was deleted and not written since. */
  #isAt(key: string, revision: number): boolean {
    const entry = this.#entries.get(key);
    if (entry !== undefined) return entry.revision === revision;
    return revision === 0 || this.#deletions.get(key) === revision;
  }

  #write({ key, value }: StoreWrite): number {
    this.#revision += 1;
    const revision = this.#revision;
    if (value === undefined) {
      this.#entries.delete(key);
      this.#deletions.set(key, revision);
    } else {
      this.#deletions.delete(key);
      // The caller continues to use its buffer.
      this.#entries.set(key, { key, value: value.slice(), revision });
    }
    return revision;
  }
}
