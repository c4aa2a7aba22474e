/**
 * Gives memory of blocks back at once.
 *
 * The garbage collector is told of all memory behind arrays, and looks through the whole heap whenever some 64 MB of it are new: a task that passes a gigabyte on would spend a
 * third of its time there. So tasks of an exchange, in which no code of users runs, free what they have read, and what has been sent.
 */
import type { Block } from "./block.ts";
import type { Vector } from "./vector.ts";

/** The memory of all vectors of blocks, which may be shared among them. */
export function buffersOf(blocks: readonly Block[]): Set<ArrayBuffer> {
  const buffers = new Set<ArrayBuffer>();
  for (const { vectors } of blocks) for (const vector of vectors) addBuffers(vector, buffers);
  return buffers;
}

function addBuffers({ validity, values, offsets, children }: Vector, buffers: Set<ArrayBuffer>): void {
  for (const array of [validity, values, offsets]) if (array?.buffer instanceof ArrayBuffer) buffers.add(array.buffer);
  for (const child of children ?? []) addBuffers(child, buffers);
}

/** Whatever still refers to the memory sees arrays of no elements from now on. A mapping of the object store ends in the next turn. */
export function freeBuffers(buffers: Iterable<ArrayBuffer>, except?: ReadonlySet<ArrayBuffer>): void {
  for (const buffer of buffers) if (except?.has(buffer) !== true && !buffer.detached) buffer.transfer(0);
}

/** Frees arrays that have memory of their own. */
export function freeArrays(arrays: readonly ArrayBufferView[]): void {
  freeBuffers(arrays.map(({ buffer }) => buffer as ArrayBuffer));
}
