/**
 * A channel: a ring of records in shared memory, with one writer and one or several readers, each of which reads every record.
 *
 * Positions count bytes, wrap around at 2^32 and are multiples of 8. The capacity is a power of two, so the low bits of a position are its place. A record
 * is contiguous: `length | kind | body`, padded to 8 bytes. A record that does not fit before the end of the ring starts at its beginning, behind a filler.
 * The writer publishes by moving its position, and a reader gives room back by moving its own. Each side caches the other's position and looks again only
 * when the ring seems empty or full. The ring works on any memory and knows nothing of processes.
 */
import { LINE_WORDS } from "../limits.ts";

/** Where the parts of a channel lie in the shared memory, in 32-bit words, but for the data, which is in bytes. */
export interface ChannelPlace {
  /** The writer's position. */
  readonly tail: number;
  /** Set by a writer that waits for room. */
  readonly writerWaits: number;
  /** Each reader's position. */
  readonly heads: readonly number[];
  readonly data: number;
  readonly capacityBytes: number;
}

/** The same memory in three widths. */
export interface ChannelMemory {
  readonly words: Int32Array;
  readonly bytes: Uint8Array;
}

/** The kind of a filler; kinds of records are 1 and above. */
const FILLER = 0;
const RECORD_HEADER_BYTES = 8;

/** Bytes that a record with such a body takes. */
function recordBytes(bodyBytes: number): number {
  return (RECORD_HEADER_BYTES + bodyBytes + 7) & ~7;
}

/** The largest body that always fits into an empty ring, at any position: half of the capacity. */
export function bodyBytesMax(capacityBytes: number): number {
  return capacityBytes / 2 - RECORD_HEADER_BYTES;
}

/** Lays channels out one after the other, from a word on. @returns the places, and the bytes that are needed in all */
export function placeChannels(
  channels: readonly { readers: number; capacityBytes: number }[],
  firstWord: number,
): { places: ChannelPlace[]; sizeBytes: number } {
  let word = firstWord;
  const line = (): number => {
    const at = word;
    word += LINE_WORDS;
    return at;
  };
  const heads = channels.map(({ readers }) => ({ tail: line(), writerWaits: line(), heads: Array.from({ length: readers }, line) }));
  let data = word * 4;
  const places = heads.map((positions, index) => {
    const { capacityBytes } = channels[index] as { capacityBytes: number };
    const place = { ...positions, data, capacityBytes };
    data += capacityBytes;
    return place;
  });
  return { places, sizeBytes: data };
}

export class ChannelWriter {
  readonly #words: Int32Array;
  readonly #place: ChannelPlace;
  readonly #mask: number;
  #tail: number;
  /** The slowest reader's position as last seen. */
  #head: number;
  /** Where the record that is being written begins. */
  #record = 0;

  constructor(memory: ChannelMemory, place: ChannelPlace) {
    this.#words = memory.words;
    this.#place = place;
    this.#mask = place.capacityBytes - 1;
    this.#tail = Atomics.load(memory.words, place.tail);
    this.#head = this.#tail;
  }

  /**
   * Where the body of the next record goes, in bytes from the start of the memory; nothing is visible until {@link commit}.
   *
   * @returns -1 when there is no room now
   */
  begin(bodyBytes: number): number {
    const size = recordBytes(bodyBytes);
    const { capacityBytes, data } = this.#place;
    let at = this.#tail & this.#mask;
    const filler = at + size > capacityBytes ? capacityBytes - at : 0;
    if (!this.#hasRoom(filler + size)) return -1;
    if (filler > 0) {
      this.#writeHeader(at, filler - RECORD_HEADER_BYTES, FILLER);
      this.#tail = (this.#tail + filler) | 0;
      at = 0;
    }
    this.#record = at;
    return data + at + RECORD_HEADER_BYTES;
  }

  /** Shows the record to the readers. */
  commit(kind: number, bodyBytes: number): void {
    this.#writeHeader(this.#record, bodyBytes, kind);
    this.#tail = (this.#tail + recordBytes(bodyBytes)) | 0;
    Atomics.store(this.#words, this.#place.tail, this.#tail);
  }

  /** Asks the readers to say when there is room; ask for room once more after this. */
  waitForRoom(waits: boolean): void {
    Atomics.store(this.#words, this.#place.writerWaits, waits ? 1 : 0);
  }

  #hasRoom(size: number): boolean {
    const { capacityBytes, heads } = this.#place;
    if (((this.#tail - this.#head) | 0) + size <= capacityBytes) return true;
    let used = 0;
    for (const head of heads) used = Math.max(used, (this.#tail - Atomics.load(this.#words, head)) | 0);
    this.#head = (this.#tail - used) | 0;
    return used + size <= capacityBytes;
  }

  #writeHeader(at: number, bodyBytes: number, kind: number): void {
    const word = (this.#place.data + at) >> 2;
    this.#words[word] = bodyBytes;
    this.#words[word + 1] = kind;
  }
}

export class ChannelReader {
  readonly #words: Int32Array;
  readonly #place: ChannelPlace;
  readonly #headWord: number;
  readonly #mask: number;
  #head: number;
  #tail: number;
  /** The kind of the current record, once `next` has found one. */
  kind = 0;
  /** In bytes from the start of the memory. */
  bodyStart = 0;
  bodyBytes = 0;

  constructor(memory: ChannelMemory, place: ChannelPlace, reader: number) {
    this.#words = memory.words;
    this.#place = place;
    this.#headWord = place.heads[reader] as number;
    this.#mask = place.capacityBytes - 1;
    this.#head = Atomics.load(memory.words, this.#headWord);
    this.#tail = this.#head;
  }

  /** Whether there is a record; it is the current one then, and stays until {@link advance}. */
  next(): boolean {
    if (this.#head === this.#tail) {
      this.#tail = Atomics.load(this.#words, this.#place.tail);
      if (this.#head === this.#tail) return false;
    }
    for (;;) {
      const at = this.#head & this.#mask;
      const word = (this.#place.data + at) >> 2;
      this.bodyBytes = this.#words[word] as number;
      this.kind = this.#words[word + 1] as number;
      this.bodyStart = this.#place.data + at + RECORD_HEADER_BYTES;
      if (this.kind !== FILLER) return true;
      this.#head = (this.#head + RECORD_HEADER_BYTES + this.bodyBytes) | 0;
    }
  }

  /** Gives the room of the current record back: its bytes are lost. @returns whether the writer waits for it */
  advance(): boolean {
    this.#head = (this.#head + recordBytes(this.bodyBytes)) | 0;
    Atomics.store(this.#words, this.#headWord, this.#head);
    const { writerWaits } = this.#place;
    return Atomics.load(this.#words, writerWaits) === 1 && Atomics.compareExchange(this.#words, writerWaits, 1, 0) === 1;
  }
}
