/**
 * Counts the holds of references on the node that counts them.
 *
 * A pure table in the node daemon. The sender of a ref registers a hold for the receiver on its own ordered connection, before it could give up its own hold. The receiver
 * releases it. So no message between two connections has to arrive in a given order, and a count may be below zero for a moment. When no process holds an object, its
 * owner frees it. The daemon itself is the owner of record for refs made inside workers, and keeps their values (`values`).
 *
 * Events may be repeated for processes that are gone: their holds are dropped and later ones ignored.
 */
import { type NodeTag, nodeTagOf, type ObjectId, type ProcessId } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";

interface Row {
  owner: ProcessId | undefined;
  readonly counts: Map<ProcessId, number>;
}

/** A change in the number of holds of one process. */
export interface RefCount {
  readonly id: ObjectId;
  readonly owner: ProcessId;
  readonly holder: ProcessId;
  readonly count: number;
}

export interface FreedRef {
  id: ObjectId;
  owner: ProcessId;
}

export class RefLedger {
  readonly #rows = new Map<ObjectId, Row>();
  readonly #gone = new Set<ProcessId>();
  readonly #goneNodes = new Set<NodeTag>();

  get size(): number {
    return this.#rows.size;
  }

  /** The owner of a ref that somebody holds. */
  ownerOf(id: ObjectId): ProcessId | undefined {
    return this.#rows.get(id)?.owner;
  }

  /** Returns all processes for which a ref is counted. */
  holders(): Set<ProcessId> {
    return new Set(Array.from(this.#rows.values()).flatMap(({ counts }) => Array.from(counts.keys())));
  }

  /** @returns the ref when nobody holds it any more. */
  add(change: { id: ObjectId; owner: ProcessId | undefined; holder: ProcessId; count: number }): FreedRef | undefined {
    const { id, owner, holder, count } = change;
    let row = this.#rows.get(id);
    if (row === undefined) {
      // Such a hold says nothing of other processes, whose holds may be on the way: freeing now would forget readers that wait for the value.
      if (this.isGone(holder)) return undefined;
      row = { owner: undefined, counts: new Map() };
      this.#rows.set(id, row);
    }
    if (owner !== undefined) row.owner ??= owner;
    if (!this.isGone(holder)) {
      const next = (row.counts.get(holder) ?? 0) + count;
      if (next === 0) row.counts.delete(holder);
      else row.counts.set(holder, next);
    }
    return this.#freeIfUnheld(id, row);
  }

  /** Drops every hold of a process. Rows that it owned are returned too: their values died with it. */
  processGone(process: ProcessId): { freed: FreedRef[]; orphaned: ObjectId[] } {
    this.#gone.add(process);
    const freed: FreedRef[] = [];
    const orphaned: ObjectId[] = [];
    for (const [id, row] of this.#rows) {
      row.counts.delete(process);
      if (row.owner === process) orphaned.push(id);
      const gone = this.#freeIfUnheld(id, row);
      if (gone !== undefined) freed.push(gone);
    }
    return { freed, orphaned };
  }

  /** Drops every hold of the processes of a node that is dead. */
  nodeGone(tag: NodeTag): FreedRef[] {
    this.#goneNodes.add(tag);
    const freed: FreedRef[] = [];
    for (const [id, row] of this.#rows) {
      for (const holder of row.counts.keys()) if (nodeTagOf(holder) === tag) row.counts.delete(holder);
      const gone = this.#freeIfUnheld(id, row);
      if (gone !== undefined) freed.push(gone);
    }
    return freed;
  }

  /** Tells whether a process is gone, so that its holds count no more. */
  isGone(holder: ProcessId): boolean {
    return this.#gone.has(holder) || (this.#goneNodes.size > 0 && this.#goneNodes.has(nodeTagOf(holder)));
  }

  /** @throws Error for a row without holds, or a hold of a process that is gone */
  checkInvariants(): void {
    for (const [id, { counts }] of this.#rows) {
      invariant(counts.size > 0, `ref ${id} is counted although no process holds it`);
      for (const [holder, count] of counts) {
        invariant(count !== 0, `ref ${id} has a hold of ${holder} that counts nothing`);
        invariant(!this.isGone(holder), `ref ${id} is held by ${holder}, which is gone`);
      }
    }
  }

  #freeIfUnheld(id: ObjectId, row: Row): FreedRef | undefined {
    if (row.counts.size > 0) return undefined;
    this.#rows.delete(id);
    return row.owner === undefined ? undefined : { id, owner: row.owner };
  }
}
