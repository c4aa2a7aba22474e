/**
 * Tracks copies of objects whose owner is on this node and whose bytes are on other nodes. Once the home of such an object is dead, chooses its replacement.
 *
 * A pure table on the owners' node: events in, effects out. While the home lives the table only notes complete copies. When the home dies
 * this node adopts the object. It keeps one copy: its own, if it has one, since the object ends with the owner's node anyway. It leaves the
 * other copies as a cache, and directs receivers to sources as a home does. When the keeper dies or loses its copy, another copy is kept.
 * When the owner frees the object or ends, all copies are freed. A row lives as long as there is a complete copy.
 */
import { SetMap } from "../../base/collections/set-map.ts";
import type { NodeTag, ProcessId } from "../../base/ids.ts";
import type { CopyKey } from "../../wire/objects/transfer-messages.ts";
import { CopyDirectory } from "./copy-directory.ts";
import { placeOf } from "../wire-location.ts";

/** A node's report of its copy. */
export interface CopyReport {
  readonly key: string;
  readonly of: CopyKey;
  readonly home: NodeTag;
  /** The object's owner, a process of this node. */
  readonly owner: ProcessId;
  readonly node: NodeTag;
  readonly pull: number;
}

export type OrphanEffect =
  /** Tells a node whether its copy is the object now, and must stay, or is a cache. */
  | { kind: "keep"; node: NodeTag; of: CopyKey; isKept: boolean }
  /** Tells a node to free its copy, as no process needs the object. */
  | { kind: "free"; node: NodeTag; of: CopyKey };

/** Whether an object is still wanted by whoever owns it. */
export type IsOwned = (object: { of: CopyKey; owner: ProcessId }) => boolean;

interface Row extends Omit<CopyReport, "node" | "pull"> {
  /** Nodes with the whole object, and the numbers of their pulls, the oldest copy first. */
  readonly whole: Map<NodeTag, number>;
  /** Once the home is dead. */
  adopted: { keeper: NodeTag; tree: CopyDirectory } | undefined;
}

export class OrphanedObjects {
  readonly #self: NodeTag;
  readonly #isOwned: IsOwned;
  readonly #rows = new Map<string, Row>();
  /** Keys of the rows at a place of a store. */
  readonly #keysAt = new SetMap<string, string>();
  readonly #dead = new Set<NodeTag>();

  constructor(self: NodeTag, isOwned: IsOwned) {
    this.#self = self;
    this.#isOwned = isOwned;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Nodes that have all of an object. */
  wholeAt(key: string): NodeTag[] {
    return Array.from(this.#rows.get(key)?.whole.keys() ?? []);
  }

  /** Whether this node stands in for the home of an object, which is dead. */
  hasAdopted(key: string): boolean {
    return this.#rows.get(key)?.adopted !== undefined;
  }

  /** Notes that a node has the whole object. */
  whole({ node, pull, ...object }: CopyReport): OrphanEffect[] {
    const row = this.#rows.get(object.key);
    if (row === undefined) {
      // All copies that were known are gone, or it was freed: which of both is not known any more.
      if (this.#dead.has(object.home)) return [{ kind: "free", node, of: object.of }];
      this.#add({ ...object, whole: new Map([[node, pull]]), adopted: undefined });
      return [];
    }
    row.whole.set(node, pull);
    if (row.adopted === undefined) return [];
    noteWhole(row, node, pull);
    return [{ kind: "keep", node, of: row.of, isKept: node === row.adopted.keeper }];
  }

  /** A node has it no more. */
  gone({ key, node, pull }: Pick<CopyReport, "key" | "node" | "pull">): OrphanEffect[] {
    const row = this.#rows.get(key);
    row?.adopted?.tree.gone({ key, node, pull });
    if (row === undefined || row.whole.get(node) !== pull) return [];
    return this.#without(row, node);
  }

  nodeGone(node: NodeTag): OrphanEffect[] {
    this.#dead.add(node);
    const effects: OrphanEffect[] = [];
    for (const row of Array.from(this.#rows.values())) {
      row.adopted?.tree.nodeGone(node);
      if (row.whole.has(node)) effects.push(...this.#without(row, node));
      if (row.home === node && this.#rows.get(row.key) === row)
        effects.push(...(this.#isOwned(row) ? adopt(row, this.#self) : this.#free(row)));
    }
    return effects;
  }

  /** Frees the objects of a process that has ended, as no other process would free them once their homes are dead. */
  ownerGone(owner: ProcessId): OrphanEffect[] {
    const orphans = Array.from(this.#rows.values()).filter(
      (row) => row.owner === owner && row.adopted !== undefined && !this.#isOwned(row),
    );
    return orphans.flatMap((row) => this.#free(row));
  }

  /** Frees the object at a place, because its owner on this node needs it no more or its bytes are lost. */
  freed(place: string): OrphanEffect[] {
    const rows = Array.from(this.#keysAt.get(place), (key) => this.#rows.get(key) as Row);
    return rows.flatMap((row) => this.#free(row));
  }

  /** Chooses the source from which a node receives an object. @returns undefined when no node has the whole object */
  wanted({ key, node, pull, avoid }: { key: string; node: NodeTag; pull: number; avoid: readonly string[] }): NodeTag | undefined {
    const row = this.#rows.get(key);
    if (row === undefined) return undefined;
    const { adopted } = row;
    if (adopted !== undefined && node !== adopted.keeper) return adopted.tree.wanted({ key, sizeBytes: row.of[1][2], node, pull, avoid });
    // The node may not have heard yet that the home is dead, or that the keeper has lost its copy.
    for (const holder of row.whole.keys()) if (holder !== node && !avoid.includes(holder)) return holder;
    return undefined;
  }

  #add(row: Row): void {
    this.#rows.set(row.key, row);
    this.#keysAt.add(placeOf(row.of[1]), row.key);
  }

  #remove(row: Row): void {
    this.#rows.delete(row.key);
    this.#keysAt.delete(placeOf(row.of[1]), row.key);
  }

  #without(row: Row, node: NodeTag): OrphanEffect[] {
    row.whole.delete(node);
    if (row.whole.size === 0) {
      this.#remove(row);
      return [];
    }
    return row.adopted?.keeper === node ? adopt(row, this.#self) : [];
  }

  #free(row: Row): OrphanEffect[] {
    this.#remove(row);
    const nodes = new Set([...row.whole.keys(), ...(row.adopted?.tree.holdersOf(row.key) ?? [])]);
    return Array.from(nodes, (node): OrphanEffect => ({ kind: "free", node, of: row.of }));
  }
}

/** Makes one copy the object, because its home or its keeper is dead. */
function adopt(row: Row, self: NodeTag): OrphanEffect[] {
  const [first] = row.whole.keys();
  const keeper = row.whole.has(self) ? self : (first as NodeTag);
  row.adopted = { keeper, tree: new CopyDirectory(keeper) };
  for (const [node, pull] of row.whole) noteWhole(row, node, pull);
  return Array.from(row.whole.keys(), (node): OrphanEffect => ({ kind: "keep", node, of: row.of, isKept: node === keeper }));
}

/** A source like the keeper from now on. */
function noteWhole({ key, of, adopted }: Row, node: NodeTag, pull: number): void {
  if (adopted === undefined || node === adopted.keeper) return;
  const { tree } = adopted;
  // The pull was assigned by the home or by an earlier keeper.
  if (!tree.holdersOf(key).includes(node)) tree.wanted({ key, sizeBytes: of[1][2], node, pull, avoid: [] });
  tree.whole({ key, node, pull });
}
