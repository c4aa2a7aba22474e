/**
 * A window over the bytes of a file, for parsers of records.
 *
 * Readers take whole records from the window's beginning and ask for more where one is cut off. Behind the last byte stands one that is
 * free for a sentinel, so that scanning loops need no test for the end.
 */
import { badUtf8At } from "../../storage/utf8.ts";
import { RECORD_BYTES_MAX } from "../limits.ts";
import { DataError } from "../errors.ts";
import { UTF8 } from "./texts/text-encoding.ts";

export class ByteWindow {
  readonly file: string;
  readonly #chunks: AsyncIterator<Uint8Array>;
  bytes: Uint8Array = new Uint8Array(1);
  /** The bytes from `start` to before `end` are there and not taken yet. */
  start = 0;
  end = 0;
  /** Nothing follows behind `end`. */
  isLast = false;
  readonly #encoding: string | undefined;
  /** The place in the file of the byte at index 0. */
  #origin = 0;

  /** @param encoding - of the file, whose bytes come as UTF-8; undefined where the reader takes UTF-8 alone */
  constructor(chunks: AsyncIterable<Uint8Array>, file: string, encoding?: string) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.file = file;
    this.#encoding = encoding;
  }

  get length(): number {
    return this.end - this.start;
  }

  /** Where the byte at this index of `bytes` lies in the file (decompressed). */
  offsetOf(index: number): number {
    return this.#origin + index;
  }

  /** The same in words. Where the file is no UTF-8, its own bytes lie elsewhere. */
  placeOf(index: number): string {
    const isUtf8 = this.#encoding === undefined || this.#encoding === UTF8;
    return `byte ${this.offsetOf(index)}${isUtf8 ? "" : " of its text in UTF-8"}`;
  }

  /** Reads on until the window has at least `least` bytes, or all that are left. */
  async fill(least: number): Promise<void> {
    while (!this.isLast && this.length < least) {
      const { value, done } = await this.#chunks.next();
      if (done === true) this.isLast = true;
      else this.#append(value, least);
    }
  }

  /**
   * Reads on because the record at the window's beginning is cut off. The window doubles, so the parser restarts few times on a long record.
   *
   * @throws DataError for a record beyond `RECORD_BYTES_MAX`
   */
  async grow(): Promise<void> {
    if (this.length >= RECORD_BYTES_MAX) {
      throw new DataError(
        `Cannot read ${this.file}: the record at ${this.placeOf(this.start)} does not end within ${RECORD_BYTES_MAX} bytes`,
        {
          hint: "a quote that is opened and never closed makes one record of the rest of a file",
        },
      );
    }
    await this.fill(Math.max(1, this.length * 2));
  }

  /** Ends a last line that has no newline. */
  endLastLine(): void {
    if (this.isLast && this.length > 0 && this.bytes[this.end - 1] !== LF) this.#append(NEWLINE, 0);
  }

  /**
   * Skips the mark with which Excel begins UTF-8.
   *
   * @throws DataError for that of UTF-16
   */
  skipByteOrderMark(): void {
    const [a, b, c] = this.bytes;
    if (this.length >= 2 && ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)))
      throw new DataError(`Cannot read ${this.file}: the file is UTF-16, and only UTF-8 is read`, {
        hint: "save it as UTF-8, or convert it: iconv -f UTF-16 -t UTF-8",
      });
    if (this.length >= 3 && a === 0xef && b === 0xbb && c === 0xbf) this.start += 3;
  }

  /** @throws DataError where the bytes before `end` are no UTF-8 */
  checkUtf8(end: number): void {
    const bad = badUtf8At(this.bytes.subarray(this.start, end));
    if (bad < 0) return;
    const byte = (this.bytes[this.start + bad] as number).toString(16).padStart(2, "0");
    throw new DataError(`Cannot read ${this.file}: byte ${this.offsetOf(this.start + bad)} (0x${byte}) is no UTF-8`, {
      hint:
        this.#encoding === undefined
          ? 'convert the file, such as by: iconv -f WINDOWS-1252 -t UTF-8; encodingErrors: "replace" reads such bytes as U+FFFD, and counts them'
          : 'name the encoding that the file has, such as encoding: "windows-1252"; encodingErrors: "replace" reads such bytes as U+FFFD, and counts them',
    });
  }

  /** How many newlines stand before `end`. */
  countLines(end: number): number {
    let lines = 0;
    for (let at = this.bytes.indexOf(LF, this.start); at >= 0 && at < end; at = this.bytes.indexOf(LF, at + 1)) lines += 1;
    return lines;
  }

  /** Lets the file go. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  #append(chunk: Uint8Array, least: number): void {
    const needed = this.length + chunk.length;
    if (this.end + chunk.length + 1 > this.bytes.length) {
      // A file whose first chunk is short is a small one: room for all of `least` would cost more than reading it.
      const wanted = chunk.length < SHORT_CHUNK_BYTES ? 0 : least + chunk.length;
      const target = needed + 1 > this.bytes.length ? new Uint8Array(Math.max(2 * needed, wanted) + 1) : this.bytes;
      target.set(this.bytes.subarray(this.start, this.end));
      this.bytes = target;
      this.#origin += this.start;
      this.end -= this.start;
      this.start = 0;
    }
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
  }
}

const LF = 10;
/** Chunks of large files have more. */
const SHORT_CHUNK_BYTES = 16_384;
const NEWLINE = Uint8Array.of(LF);
