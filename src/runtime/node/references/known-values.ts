/**
 * Values of refs that processes of this node own, as their owners told them: the daemon answers readers while the owner computes.
 *
 * Keeps small values and the places of stored ones, up to `KNOWN_BYTES_MAX` in all; of the rest the owner is asked. An entry goes when nobody holds the ref any
 * more, when its owner ends, and when a reader finds its bytes lost. So an answer from here is at worst a place that the reader reports as lost.
 */
import type { ObjectId } from "../../base/ids.ts";
import { KNOWN_BYTES_MAX } from "../../objects/limits.ts";
import type { RefValue } from "./ref-values.ts";

/** Size of an entry besides the bytes of its value: place, id, row. */
const ENTRY_BYTES = 512;

export class KnownValues {
  readonly #values = new Map<ObjectId, RefValue>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number = KNOWN_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  get size(): number {
    return this.#values.size;
  }

  told(id: ObjectId, value: RefValue): void {
    this.forget(id);
    const bytes = bytesOf(value);
    if (this.#bytes + bytes > this.#bytesMax) return;
    this.#values.set(id, value);
    this.#bytes += bytes;
  }

  get(id: ObjectId): RefValue | undefined {
    return this.#values.get(id);
  }

  forget(id: ObjectId): void {
    const value = this.#values.get(id);
    if (value === undefined) return;
    this.#values.delete(id);
    this.#bytes -= bytesOf(value);
  }
}

function bytesOf({ body }: RefValue): number {
  return ENTRY_BYTES + body.length;
}
