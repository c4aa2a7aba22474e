/**
 * Gives memory of blocks back at once.
 *
 * The garbage collector is told of all memory behind arrays, and looks through the whole heap whenever some 64 MB of it are new: a task that passes a gigabyte on would spend a
 * third of its time there, and fill fresh pages all the while. So tasks of an exchange, in which no code of users runs, free what they have read, and what has been sent; and
 * tasks that read free what a decoder has filled for them.
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

/** Memory that the vectors of one block have, and nobody else: that of columns which a decoder has filled. */
const decoded = new WeakSet<ArrayBuffer>();

export function noteDecoded(buffer: ArrayBuffer): ArrayBuffer {
  decoded.add(buffer);
  return buffer;
}

/** Frees what decoders have filled for blocks that nobody looks at any more, but for what blocks that were made of them still have. */
export function freeDecoded(blocks: readonly Block[], made: readonly Block[] = []): void {
  const own = [...buffersOf(blocks)].filter((buffer) => decoded.has(buffer));
  freeBuffers(own, buffersOf(made));
}

/** Frees arrays that have memory of their own. */
export function freeArrays(arrays: readonly ArrayBufferView[]): void {
  freeBuffers(arrays.map(({ buffer }) => buffer as ArrayBuffer));
}
