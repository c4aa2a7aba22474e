/**
 * The keys, values and revisions of a memory store: what a transaction and a compaction do to them.
 *
 * A pure state machine: events in, changes out, no clock and no promises. `memory-store.ts` is its shell. Invariants: revisions only grow; a
 * transaction whose checks do not all hold changes nothing; a deleted key is remembered with its revision until it is compacted.
 */
import type { StoreChange, StoreEntry, StoreListing, StoreTransaction } from "./control-store.ts";
import { isUnder } from "./store-keys.ts";

interface TableOutcome {
  readonly committed: boolean;
  readonly changes: readonly StoreChange[];
}

const REFUSED: TableOutcome = { committed: false, changes: [] };

export class KeyTable {
  readonly #entries = new Map<string, StoreEntry>();
  readonly #deletions = new Map<string, number>();
  #revision = 0;
  #lastCompactionAt = 0;
  #forgottenUpTo = 0;

  /** Of the last change. */
  get revision(): number {
    return this.#revision;
  }

  /** Deletions up to this revision may be forgotten. */
  get forgottenUpTo(): number {
    return this.#forgottenUpTo;
  }

  get(key: string): StoreEntry | undefined {
    return this.#entries.get(key);
  }

  list(prefix: string): StoreListing {
    return { entries: [...this.#entries.values()].filter(({ key }) => isUnder(prefix, key)), revision: this.#revision };
  }

  apply({ checks = [], writes }: StoreTransaction): TableOutcome {
    if (checks.some(({ key, revision }) => !this.#isAt(key, revision))) return REFUSED;
    return { committed: true, changes: writes.map(({ key, value }) => this.#write(key, value)) };
  }

  compact(): void {
    this.#forgottenUpTo = this.#lastCompactionAt;
    this.#lastCompactionAt = this.#revision;
    for (const [key, revision] of this.#deletions) if (revision <= this.#forgottenUpTo) this.#deletions.delete(key);
  }

  /** The last change of every key that changed after a revision, oldest first. */
  changesAfter(prefix: string, afterRevision: number): StoreChange[] {
    const puts = [...this.#entries.values()].map((entry): StoreChange => ({ kind: "put", entry }));
    const deletions = [...this.#deletions].map(([key, revision]): StoreChange => ({ kind: "delete", key, revision }));
    return [...puts, ...deletions]
      .filter((change) => revisionOf(change) > afterRevision && isUnder(prefix, keyOf(change)))
      .sort((left, right) => revisionOf(left) - revisionOf(right));
  }

  /** A deletion is a write, too: until it is forgotten, its revision says that the key is gone and was not written since. */
  #isAt(key: string, revision: number): boolean {
    const entry = this.#entries.get(key);
    if (entry !== undefined) return entry.revision === revision;
    return revision === 0 || this.#deletions.get(key) === revision;
  }

  #write(key: string, value: Uint8Array | undefined): StoreChange {
    this.#revision += 1;
    const revision = this.#revision;
    if (value === undefined) {
      this.#entries.delete(key);
      this.#deletions.set(key, revision);
      return { kind: "delete", key, revision };
    }
    // The caller goes on using its buffer.
    const entry: StoreEntry = { key, value: value.slice(), revision };
    this.#deletions.delete(key);
    this.#entries.set(key, entry);
    return { kind: "put", entry };
  }
}

export function keyOf(change: StoreChange): string {
  return change.kind === "put" ? change.entry.key : change.key;
}

export function revisionOf(change: StoreChange): number {
  return change.kind === "put" ? change.entry.revision : change.revision;
}
