/**
 * Gives the memory of blocks back at once, without the garbage collector.
 *
 * V8 counts the memory behind arrays and marks the whole heap after each 64 MB of new memory. A task that passes a gigabyte on would spend a third of its time
 * there, and always fill fresh pages. So the tasks of an exchange, which run no user code, free the blocks that they have read or sent. Tasks that read files
 * free the memory that a decoder has filled for them.
 */
import type { Block } from "../block.ts";
import type { Vector } from "../vector.ts";

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

/** Frees buffers. Arrays on them have no elements from now on. A mapping of the object store ends in the next turn. */
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
