/**
 * The functions and classes of the cluster by id and by content hash. The capturing process sends each once. A process fetches a definition
 * once, when it meets the id inside a value or starts an actor from it. A fetch that precedes its definition waits. A fetch after a
 * function was dropped is refused.
 *
 * A definition is kept as long as a counted reference is held (`definition-holds.ts` at the node that counts them); one without a reference
 * is kept for good. Equal contents are stored once.
 */
import { copyBytes } from "../base/collections/bytes.ts";
import { type NodeTag, nodeTagOf, type ObjectId } from "../base/ids.ts";
import { SetMap } from "../base/collections/set-map.ts";
import { GONE_FUNCTIONS_MAX } from "./limits.ts";
import type { DefinitionHeader } from "../wire/calls/definition-messages.ts";
import { WireError } from "../wire/wire-error.ts";

export interface StoredDefinition {
  header: DefinitionHeader;
  body: Uint8Array;
}

interface Row {
  readonly definition: StoredDefinition;
  /** Counted references with the nodes that count them; `null` for a definition that is kept for good. */
  keepers: Map<ObjectId, NodeTag> | null;
}

type OnFetched = (found: StoredDefinition | WireError) => void;

export class DefinitionTable {
  readonly #rows = new Map<string, Row>();
  /** By content hash, the rows with that content. */
  readonly #byContent = new SetMap<string, Row>();
  readonly #byReference = new Map<ObjectId, Row>();
  readonly #waiting = new Map<string, OnFetched[]>();
  /** Names of dropped functions, by id. */
  readonly #gone = new Map<string, string>();

  get size(): number {
    return this.#rows.size;
  }

  define(header: DefinitionHeader, body: Uint8Array): void {
    const { id, contentId, reference, owner } = header;
    let row = this.#rows.get(id);
    if (row === undefined) {
      const [same] = this.#byContent.get(contentId);
      row = { definition: { header: { ...header, number: 0 }, body: same?.definition.body ?? copyBytes(body) }, keepers: new Map() };
      this.#rows.set(id, row);
      this.#byContent.add(contentId, row);
    }
    if (reference === undefined) row.keepers = null;
    else if (row.keepers !== null && !this.#byReference.has(reference)) {
      row.keepers.set(reference, nodeTagOf(owner ?? ""));
      this.#byReference.set(reference, row);
    }
    for (const known of new Set([id, contentId])) {
      const waiting = this.#waiting.get(known) ?? [];
      this.#waiting.delete(known);
      for (const resolve of waiting) resolve(row.definition);
    }
  }

  has(id: string): boolean {
    return this.find(id) !== undefined;
  }

  /** Handles the end of the last hold on a reference. Each node reports the references that it counts. */
  unheld(reference: ObjectId, node: NodeTag): void {
    const row = this.#byReference.get(reference);
    if (row?.keepers?.get(reference) !== node) return;
    this.#byReference.delete(reference);
    row.keepers.delete(reference);
    if (row.keepers.size === 0) this.#drop(row);
  }

  /** Drops the references that a dead node counted, except for those that living actors need to restart. */
  nodeGone(node: NodeTag, isNeeded: (id: string) => boolean): void {
    for (const [reference, row] of this.#byReference) {
      if (row.keepers?.get(reference) === node && !isNeeded(row.definition.header.id)) this.unheld(reference, node);
    }
  }

  /** Restores the definitions that an earlier head kept. */
  restore(definitions: readonly StoredDefinition[]): void {
    for (const { header, body } of definitions) this.define(header, body);
  }

  fetch(id: string, resolve: OnFetched): void {
    const gone = this.#gone.get(id);
    const known = this.find(id) ?? (gone === undefined ? undefined : goneError(gone));
    if (known !== undefined) {
      resolve(known);
      return;
    }
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) this.#waiting.set(id, [resolve]);
    else waiting.push(resolve);
  }

  /** Returns the content hash of the definition that lives with this reference. */
  protected contentOf(reference: ObjectId): string | undefined {
    return this.#byReference.get(reference)?.definition.header.contentId;
  }

  protected find(id: string): StoredDefinition | undefined {
    const [same] = this.#byContent.get(id);
    return (this.#rows.get(id) ?? same)?.definition;
  }

  #drop(row: Row): void {
    const { id, contentId, name } = row.definition.header;
    this.#rows.delete(id);
    this.#byContent.delete(contentId, row);
    // A class's id is its content's id, and returns with the next process that sends the class.
    if (id === contentId) return;
    this.#gone.set(id, name);
    const [oldest] = this.#gone.keys();
    if (this.#gone.size > GONE_FUNCTIONS_MAX && oldest !== undefined) this.#gone.delete(oldest);
  }
}

function goneError(name: string): WireError {
  return new WireError(
    "notFound",
    `Cannot run ${name}: its definition is gone: the program or node that made it remote has ended, or nobody held it any more: make it remote where it is called, or export it from a module that both import`,
  );
}
