/**
 * Finds where the frames of Zstandard data end (RFC 8878), so that a decoder which takes one frame gets one at a time.
 *
 * Only the headers of frames and blocks are read: the decoder checks everything else. All bytes are passed on, including those of skippable
 * frames.
 */
import { StorageError } from "../errors.ts";

const FRAME = 0xfd2fb528;
/** The last four bits of a skippable frame's magic number are free. */
const SKIPPABLE = 0x184d2a50;
const BLOCK_HEADER_BYTES = 3;
const CHECKSUM_BYTES = 4;
const RUN_LENGTH_BLOCK = 1;

export class ZstdFrames {
  readonly #file: string;
  #fileBytes = 0;
  /** The header that is being read, and how many bytes it has as far as they tell. */
  #header: number[] = [];
  #headerBytes = 4;
  #isInBlocks = false;
  #hasChecksum = false;
  /** Bytes before the next header. */
  #ahead = 0;

  /** @param file - for messages */
  constructor(file: string) {
    this.#file = file;
  }

  /** The bytes of the file end within a frame. */
  get isAmidFrame(): boolean {
    return this.#isInBlocks || this.#ahead > 0 || this.#header.length > 0;
  }

  /**
   * Passes on the next bytes of the file, in pieces that end at the end of a frame.
   *
   * @throws StorageError if other bytes than a frame follow the end of a frame
   */
  *split(chunk: Uint8Array): Generator<Uint8Array, void, undefined> {
    let from = 0;
    let at = 0;
    while (at < chunk.length) {
      if (this.#ahead > 0) {
        const taken = Math.min(this.#ahead, chunk.length - at);
        this.#ahead -= taken;
        at += taken;
      } else {
        this.#header.push(chunk[at] as number);
        at += 1;
        if (this.#header.length === this.#headerBytes) this.#readHeader(this.#fileBytes + at);
      }
      if (this.isAmidFrame) continue;
      yield chunk.subarray(from, at);
      from = at;
    }
    this.#fileBytes += chunk.length;
    if (from < at) yield chunk.subarray(from);
  }

  #readHeader(end: number): void {
    const header = this.#header;
    if (this.#isInBlocks) return this.#readBlockHeader(header);
    const magic = littleEndian(header, 0, 4);
    if (magic === FRAME) return this.#readFrameHeader(header);
    if ((magic & 0xfffffff0) >>> 0 !== SKIPPABLE)
      throw new StorageError(`Cannot decompress ${this.#file}: no frame of Zstandard begins at byte ${end - 4}`, {
        hint: end === 4 ? "does its extension name the compression that it has?" : "was it damaged, or were other bytes appended to it?",
      });
    if (header.length < 8) this.#headerBytes = 8;
    else this.#next(4, littleEndian(header, 4, 4));
  }

  #readFrameHeader(header: readonly number[]): void {
    const [, , , , descriptor] = header;
    if (descriptor === undefined) {
      this.#headerBytes = 5;
      return;
    }
    const isSingleSegment = (descriptor & 0x20) !== 0;
    const sizeFlag = descriptor >> 6;
    const sizeBytes = sizeFlag === 0 ? Number(isSingleSegment) : 2 ** sizeFlag;
    const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] as number;
    this.#hasChecksum = (descriptor & 4) !== 0;
    this.#isInBlocks = true;
    this.#next(BLOCK_HEADER_BYTES, Number(!isSingleSegment) + dictionaryBytes + sizeBytes);
  }

  #readBlockHeader(header: readonly number[]): void {
    const block = littleEndian(header, 0, BLOCK_HEADER_BYTES);
    const contentBytes = ((block >> 1) & 3) === RUN_LENGTH_BLOCK ? 1 : block >> 3;
    const isLast = (block & 1) === 1;
    if (isLast) this.#isInBlocks = false;
    this.#next(isLast ? 4 : BLOCK_HEADER_BYTES, contentBytes + (isLast && this.#hasChecksum ? CHECKSUM_BYTES : 0));
  }

  #next(headerBytes: number, ahead: number): void {
    this.#header = [];
    this.#headerBytes = headerBytes;
    this.#ahead = ahead;
  }
}

function littleEndian(bytes: readonly number[], from: number, count: number): number {
  let value = 0;
  for (let i = from + count - 1; i >= from; i -= 1) value = value * 256 + (bytes[i] as number);
  return value;
}
