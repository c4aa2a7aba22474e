/**
 * The arena: one memory for all numbers of this process, with a stack for scopes and blocks for longer lives.
 *
 * Decides where a tensor lies, and owns the segments of the stack and the free places of blocks. Freed places are used again, so a program whose steps
 * are scopes stays as large as its largest step. Offsets are bytes; memory of a new place holds old numbers.
 */
import type { KernelBuild } from "./kernels.ts";
import { ARENA_BYTES_MAX, SEGMENT_BYTES_MIN } from "./limits.ts";
import { nativeBuild } from "./native-build.ts";
import { wasmBuild } from "./wasm-build.ts";

/** Each place begins at a multiple: one line of the processor's cache. */
const PLACE_BYTES = 64;
const FLOAT_BYTES = 4;

/** A place in the arena that outlives scopes: parameters, tensors outside of scopes, and what `keep` let out. */
export class Block {
  readonly offset: number;
  readonly sizeBytes: number;
  /** Where the gradients of parameters lie, 0 before the first. */
  gradients: Block | null = null;
  /** Tensors in it that are parameters of one module. */
  readonly tensors: number;
  constructor(offset: number, sizeBytes: number, tensors: number) {
    this.offset = offset;
    this.sizeBytes = sizeBytes;
    this.tensors = tensors;
  }
}

interface Segment {
  readonly start: number;
  readonly end: number;
}

/** A position of the stack, to which a scope returns it. */
export interface StackMark {
  readonly segment: number;
  readonly top: number;
}

class Memory {
  readonly build: KernelBuild;
  /** Views of the whole memory; new ones after it has grown. */
  f32: Float32Array;
  i32: Int32Array;
  /** The index of the first word for arguments, in both views. */
  readonly words: number;
  #used: number;
  readonly #free = new Map<number, number[]>();
  readonly #segments: Segment[] = [];
  #segment = -1;
  #top = 0;
  #end = 0;
  readonly #collected = new FinalizationRegistry<{ offset: number; sizeBytes: number }>((place) => this.#release(place));

  constructor(build: KernelBuild) {
    this.build = build;
    this.f32 = new Float32Array(build.buffer());
    this.i32 = new Int32Array(build.buffer());
    this.words = build.words / FLOAT_BYTES;
    this.#used = roundUp(build.start, PLACE_BYTES);
  }

  /** Bytes of the arena that have ever been in use. */
  get usedBytes(): number {
    return this.#used;
  }

  /** A place of the stack that is free again when the stack returns to an earlier mark. */
  push(count: number): number {
    const sizeBytes = roundUp(Math.max(1, count) * FLOAT_BYTES, PLACE_BYTES);
    if (this.#top + sizeBytes > this.#end) this.#nextSegment(sizeBytes);
    const offset = this.#top;
    this.#top += sizeBytes;
    return offset;
  }

  mark(): StackMark {
    return { segment: this.#segment, top: this.#top };
  }

  returnTo({ segment, top }: StackMark): void {
    this.#segment = segment;
    this.#top = top;
    this.#end = this.#segments[segment]?.end ?? 0;
  }

  /** A block that is freed by {@link free}, or once nothing refers to it any more. */
  block(count: number, tensors = 1): Block {
    const sizeBytes = blockBytes(count);
    const offset = this.#free.get(sizeBytes)?.pop() ?? this.#extend(sizeBytes);
    const block = new Block(offset, sizeBytes, tensors);
    this.#collected.register(block, { offset, sizeBytes }, block);
    return block;
  }

  free(block: Block): void {
    this.#collected.unregister(block);
    this.#release(block);
    if (block.gradients !== null) this.free(block.gradients);
    block.gradients = null;
  }

  /** Numbers at an offset. The view is valid until the arena grows. */
  view(offset: number, count: number): Float32Array {
    return this.f32.subarray(offset / FLOAT_BYTES, offset / FLOAT_BYTES + count);
  }

  #release({ offset, sizeBytes }: { offset: number; sizeBytes: number }): void {
    const places = this.#free.get(sizeBytes);
    if (places === undefined) this.#free.set(sizeBytes, [offset]);
    else places.push(offset);
  }

  #nextSegment(sizeBytes: number): void {
    const next = this.#segments[this.#segment + 1];
    if (next === undefined || next.end - next.start < sizeBytes) {
      const current = this.#segments[this.#segment];
      const wanted = Math.max(sizeBytes, SEGMENT_BYTES_MIN, current === undefined ? 0 : 2 * (current.end - current.start));
      const size = roundUp(wanted, PLACE_BYTES);
      const start = this.#extend(size);
      this.#segments.splice(this.#segment + 1, 0, { start, end: start + size });
    }
    this.#segment += 1;
    const segment = this.#segments[this.#segment] as Segment;
    this.#top = segment.start;
    this.#end = segment.end;
  }

  #extend(sizeBytes: number): number {
    const offset = this.#used;
    const wanted = offset + sizeBytes;
    if (wanted > ARENA_BYTES_MAX)
      throw new RangeError(
        `Cannot make a tensor: the arena would be larger than ${ARENA_BYTES_MAX} bytes: received a request for ${sizeBytes} bytes. ` +
          "Wrap each step in scope(), which frees the tensors of the step.",
      );
    const buffer = this.build.buffer();
    if (wanted > buffer.byteLength) {
      this.build.grow(Math.min(ARENA_BYTES_MAX, Math.max(wanted, 2 * buffer.byteLength)));
      this.f32 = new Float32Array(this.build.buffer());
      this.i32 = new Int32Array(this.build.buffer());
    }
    this.#used = wanted;
    return offset;
  }
}

/** Sizes of blocks have four steps from one power of two to the next, so that freed places fit others. */
function blockBytes(count: number): number {
  const wanted = roundUp(Math.max(1, count) * FLOAT_BYTES, PLACE_BYTES);
  const step = 2 ** Math.max(0, Math.floor(Math.log2(wanted)) - 2);
  return roundUp(wanted, Math.max(PLACE_BYTES, step));
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

export const memory: Memory = new Memory(nativeBuild() ?? wasmBuild());
