/**
 * Where the bytes of a call's arguments lie, when that is another node and worth going there.
 *
 * Counts the calls that wait in a queue, so that a demand can say how many calls are near which node. A queue of the task submitter owns
 * this object; calls without refs never come here. Invariant: each counted call was added and not removed since.
 */
import { type NodeTag, nodeTagOf } from "../../../runtime/base/ids.ts";
import { NEAR_FROM_BYTES } from "../../../runtime/scheduling/limits.ts";
import type { LeaseDemandHeader } from "../../../runtime/wire/messages.ts";
import type { CallRecord } from "../call-record.ts";

interface Place {
  readonly node: NodeTag;
  readonly bytes: number;
}

/** @returns the other node that has most of them; undefined for this one, and where they are small */
export function placeOf({ dependencies }: CallRecord, here: NodeTag): Place | undefined {
  let found: Place | undefined;
  const sums = new Map<NodeTag, number>();
  for (const { payload } of dependencies) {
    if (payload?.stored === undefined) continue;
    const [arena, , sizeBytes] = payload.stored.location;
    const node = nodeTagOf(arena);
    sums.set(node, (sums.get(node) ?? 0) + sizeBytes);
  }
  const least = Math.max(NEAR_FROM_BYTES - 1, sums.get(here) ?? 0);
  for (const [node, bytes] of sums) if (bytes > (found?.bytes ?? least)) found = { node, bytes };
  return found;
}

export class ArgumentPlaces {
  readonly #placeOf = new Map<CallRecord, Place>();
  readonly #sums = new Map<NodeTag, { tasks: number; bytes: number }>();

  get isEmpty(): boolean {
    return this.#placeOf.size === 0;
  }

  nodeOf(record: CallRecord): NodeTag | undefined {
    return this.#placeOf.get(record)?.node;
  }

  add(record: CallRecord, place: Place): void {
    this.#placeOf.set(record, place);
    const sum = this.#sums.get(place.node);
    if (sum === undefined) {
      this.#sums.set(place.node, { tasks: 1, bytes: place.bytes });
      return;
    }
    sum.tasks += 1;
    sum.bytes += place.bytes;
  }

  remove(record: CallRecord): void {
    const place = this.#placeOf.get(record);
    const sum = place === undefined ? undefined : this.#sums.get(place.node);
    if (place === undefined || sum === undefined) return;
    this.#placeOf.delete(record);
    sum.tasks -= 1;
    sum.bytes -= place.bytes;
    if (sum.tasks === 0) this.#sums.delete(place.node);
  }

  clear(): void {
    this.#placeOf.clear();
    this.#sums.clear();
  }

  /** For a demand. */
  get near(): LeaseDemandHeader["near"] {
    if (this.isEmpty) return undefined;
    return Array.from(this.#sums, ([node, { tasks, bytes }]) => [node, tasks, bytes] as const);
  }
}
