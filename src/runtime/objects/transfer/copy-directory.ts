/**
 * Knows which nodes have, or are receiving, copies of the objects written on this node, and which source the next receiver uses.
 *
 * A pure table on the home of the objects. Sources form a tree. A source serves few receivers at once (two, for a large object), and receivers serve the bytes
 * they have so far. The next receiver goes to the source that has had room for the longest time, so the tree grows in breadth. No node is directed to a
 * source that waits, directly or indirectly, for that node's own bytes. Reports about a replaced pull are recognized by its number and ignored.
 */
import type { NodeTag } from "../../base/ids.ts";

interface Holder {
  readonly node: NodeTag;
  pull: number;
  isWhole: boolean;
  /** The node that sends to this one; this node's own tag for the primary. */
  source: NodeTag;
}

interface Row {
  readonly sizeBytes: number;
  readonly holders: Map<NodeTag, Holder>;
  /** How many receive from each source. */
  readonly children: Map<NodeTag, number>;
  /** Sources with room for another, the one that had it first in front. */
  readonly open: Set<NodeTag>;
}

/** Number of receivers that a source of a large object serves at once, with half of its bandwidth each. */
const CHILDREN_MIN = 2;
/** A source of small objects serves more receivers: together about this many bytes. */
const CHILDREN_BYTES = 16 * 1024 * 1024;
const CHILDREN_MAX = 64;

export class CopyDirectory {
  readonly #self: NodeTag;
  readonly #rows = new Map<string, Row>();

  constructor(self: NodeTag) {
    this.#self = self;
  }

  /** Objects of which there are copies. */
  get size(): number {
    return this.#rows.size;
  }

  /** Nodes that have or receive an object. */
  holdersOf(key: string): NodeTag[] {
    return Array.from(this.#rows.get(key)?.holders.keys() ?? []);
  }

  /** Nodes that have all of an object. */
  wholeHolders(key: string): NodeTag[] {
    return Array.from(this.#rows.get(key)?.holders.values() ?? []).flatMap(({ node, isWhole }) => (isWhole ? [node] : []));
  }

  /**
   * A node wants an object.
   *
   * @returns the node to receive it from: this one's own tag, or another's
   */
  wanted(request: { key: string; sizeBytes: number; node: NodeTag; pull: number; avoid: readonly string[] }): NodeTag {
    const { key, sizeBytes, node, pull, avoid } = request;
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = { sizeBytes, holders: new Map(), children: new Map(), open: new Set([this.#self]) };
      this.#rows.set(key, row);
    }
    const known = row.holders.get(node);
    if (known !== undefined) this.#leaveSource(row, known);
    const source = this.#choose(row, node, avoid);
    const holder: Holder = { node, pull, isWhole: false, source };
    row.holders.set(node, holder);
    const count = (row.children.get(source) ?? 0) + 1;
    row.children.set(source, count);
    if (count >= childrenMax(row)) row.open.delete(source);
    if ((row.children.get(node) ?? 0) < childrenMax(row)) row.open.add(node);
    return source;
  }

  /** A node that has all of an object whose bytes are no longer here. */
  wholeAt(key: string, options: { for: NodeTag; avoid: readonly string[] }): NodeTag | undefined {
    for (const { node, isWhole } of this.#rows.get(key)?.holders.values() ?? [])
      if (isWhole && node !== options.for && !options.avoid.includes(node)) return node;
    return undefined;
  }

  /** Notes that a node has the whole object. */
  whole({ key, node, pull }: { key: string; node: NodeTag; pull: number }): void {
    const row = this.#rows.get(key);
    const holder = row?.holders.get(node);
    if (row === undefined || holder?.pull !== pull || holder.isWhole) return;
    this.#leaveSource(row, holder);
    holder.isWhole = true;
  }

  /** Notes that a node has no bytes of the object any more. */
  gone({ key, node, pull }: { key: string; node: NodeTag; pull: number }): void {
    const row = this.#rows.get(key);
    if (row !== undefined && row.holders.get(node)?.pull === pull) this.#remove(key, row, node);
  }

  nodeGone(node: NodeTag): void {
    for (const [key, row] of this.#rows) if (row.holders.has(node)) this.#remove(key, row, node);
  }

  /** Forgets an object that is not needed or whose bytes are gone. @returns the nodes to inform */
  freed(key: string): NodeTag[] {
    const holders = this.holdersOf(key);
    this.#rows.delete(key);
    return holders;
  }

  #choose(row: Row, node: NodeTag, avoid: readonly string[]): NodeTag {
    for (const candidate of row.open) {
      if (candidate === node || avoid.includes(candidate) || this.#waitsFor(row, candidate, node)) continue;
      return candidate;
    }
    return this.#self;
  }

  /** Tells whether the candidate's bytes come from `node`, directly or by other nodes. */
  #waitsFor(row: Row, candidate: NodeTag, node: NodeTag): boolean {
    let holder = row.holders.get(candidate);
    while (holder !== undefined && !holder.isWhole) {
      if (holder.source === node) return true;
      holder = row.holders.get(holder.source);
    }
    return false;
  }

  #leaveSource(row: Row, holder: Holder): void {
    if (holder.isWhole) return;
    const { source } = holder;
    const count = (row.children.get(source) ?? 0) - 1;
    if (count > 0) row.children.set(source, count);
    else row.children.delete(source);
    const isThere = source === this.#self || row.holders.has(source);
    if (isThere && count < childrenMax(row)) row.open.add(source);
  }

  #remove(key: string, row: Row, node: NodeTag): void {
    const holder = row.holders.get(node);
    if (holder === undefined) return;
    this.#leaveSource(row, holder);
    row.holders.delete(node);
    row.open.delete(node);
    if (row.holders.size === 0) this.#rows.delete(key);
  }
}

function childrenMax(row: Row): number {
  return Math.min(CHILDREN_MAX, Math.max(CHILDREN_MIN, Math.floor(CHILDREN_BYTES / row.sizeBytes)));
}
