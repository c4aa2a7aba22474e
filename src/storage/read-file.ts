/**
 * Reading files: as a stream of chunks, or whole.
 *
 * Decompresses by extension. Each chunk is separate memory, which the reader may keep. The next chunk is read while the last one is worked
 * on. Errors name the file.
 */
import { Readable } from "node:stream";
import { type Compression, compressionOf } from "./compression/compression.ts";
import { StorageError } from "./errors.ts";
import { fileSystemOf } from "./file-systems.ts";
import { fileExists } from "./listing/folders.ts";
import { WHOLE_FILE_BYTES_MAX } from "./limits.ts";
import { shownPath } from "./paths.ts";
import { ZstdFrames } from "./compression/zstd-frames.ts";

/**
 * The bytes of a file in order, decompressed.
 *
 * @throws StorageError where the file cannot be read, or its compressed data are damaged or cut off
 */
export async function* readChunks(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const raw = (await fileSystemOf(path)).read(path);
  const compression = compressionOf(shownPath(path));
  if (compression === undefined) yield* raw;
  else yield* decompressed(raw, shownPath(path), compression);
}

/**
 * {@link readChunks} of a file of text. By its extension it may be compressed in a way that Node does not know, and its bytes would be no text.
 *
 * @throws StorageError for such an extension
 */
export async function* readTextChunks(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const shown = shownPath(path);
  const extension = shown.slice(shown.lastIndexOf(".") + 1).toLowerCase();
  if (FOREIGN_COMPRESSIONS.includes(extension))
    throw new StorageError(`Cannot decompress ${shown}: files that end in .${extension} are not read here`, {
      hint: 'write it as .gz or .zst, in Spark by option("compression", "gzip"), or decompress it before',
    });
  yield* readChunks(path);
}

/** Compressions of Hadoop, and archives. */
const FOREIGN_COMPRESSIONS: readonly string[] = ["bz2", "snappy", "lz4", "lzo", "xz", "zip", "7z", "tar", "tgz"];

async function* decompressed(
  raw: AsyncGenerator<Uint8Array, void, undefined>,
  file: string,
  compression: Compression,
): AsyncGenerator<Uint8Array, void, undefined> {
  const output = compression.decompress();
  const input = new CompressedBytes(file, () => output.bytesWritten);
  const source = Readable.from(input.piecesOf(raw, compression.isFramed === true), { objectMode: true, highWaterMark: 1 });
  const closed = new Promise((resolve) => source.once("close", resolve));
  source.on("error", (error) => output.destroy(error));
  source.pipe(output);
  try {
    for await (const chunk of output) yield chunk as Uint8Array;
    // The decoder ends where its data end, and does not tell whether bytes follow.
    source.unpipe(output);
    const isPadding = (piece: Uint8Array): boolean => compression.mayBePadded === true && piece.every((byte) => byte === 0);
    if (!input.rest().every(isPadding)) throw input.trailing();
    for await (const piece of source) if (!isPadding(piece as Uint8Array)) throw input.trailing();
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "Z_BUF_ERROR") throw input.cutOff(error);
    // The damage is after the bytes that were decompressed before.
    throw new StorageError(`Cannot decompress ${file}: ${message} (behind byte ${output.bytesWritten})`, {
      cause: error,
      hint: "does its extension name the compression that it has?",
    });
  } finally {
    source.destroy();
    output.destroy();
    await closed;
  }
}

/** The bytes of a compressed file on their way to a decoder. Those that the decoder has not taken are kept. */
class CompressedBytes {
  readonly #file: string;
  readonly #taken: () => number;
  #byteCount = 0;
  #kept: Uint8Array[] = [];
  #keptFrom = 0;

  /** @param taken - how many bytes the decoder has taken */
  constructor(file: string, taken: () => number) {
    this.#file = file;
    this.#taken = taken;
  }

  async *piecesOf(raw: AsyncGenerator<Uint8Array, void, undefined>, isFramed: boolean): AsyncGenerator<Uint8Array, void, undefined> {
    const frames = isFramed ? new ZstdFrames(this.#file) : undefined;
    for await (const chunk of raw) {
      this.#byteCount += chunk.length;
      for (const piece of frames?.split(chunk) ?? [chunk]) {
        this.#forgetTaken();
        this.#kept.push(piece);
        yield piece;
      }
    }
    // The streams of Node take no bytes at all for a whole file.
    if (this.#byteCount === 0) throw new StorageError(`Cannot decompress ${this.#file}: it is empty`);
    if (frames?.isAmidFrame === true) throw this.cutOff();
  }

  /** Returns the bytes after the compressed data, as far as they have been read. Nothing is kept from then on. */
  rest(): Uint8Array[] {
    this.#forgetTaken();
    const [first, ...others] = this.#kept;
    this.#kept = [];
    return first === undefined ? [] : [first.subarray(this.#taken() - this.#keptFrom), ...others];
  }

  #forgetTaken(): void {
    const taken = this.#taken();
    let count = 0;
    for (const { length } of this.#kept) {
      if (this.#keptFrom + length > taken) break;
      this.#keptFrom += length;
      count += 1;
    }
    this.#kept.splice(0, count);
  }

  cutOff(cause?: unknown): StorageError {
    const message = `Cannot decompress ${this.#file}: it is cut off amid its data, at byte ${this.#byteCount}`;
    return new StorageError(message, { cause, hint: "was it copied to its end?" });
  }

  trailing(): StorageError {
    return new StorageError(`Cannot decompress ${this.#file}: its data end at byte ${this.#taken()}, and other bytes follow`, {
      hint: "was it damaged, or were other bytes appended to it?",
    });
  }
}

/**
 * All bytes of a file, decompressed.
 *
 * @throws StorageError as {@link readChunks}, and where the bytes are more than 2 GiB
 */
export async function readWhole(path: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of readChunks(path)) {
    total += chunk.length;
    if (total > WHOLE_FILE_BYTES_MAX)
      throw new StorageError(`Cannot read ${shownPath(path)} whole: it has more than ${WHOLE_FILE_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  if (chunks.length === 1) return chunks[0] as Uint8Array;
  const whole = Buffer.allocUnsafeSlow(total);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** The text of a file in UTF-8. @throws StorageError as {@link readWhole} */
export async function readText(path: string): Promise<string> {
  return new TextDecoder().decode(await readWhole(path));
}

/** The text of a file; undefined where there is no such file, also if it was removed meanwhile. @throws StorageError as {@link readWhole} */
export async function readTextIfThere(path: string): Promise<string | undefined> {
  if (!(await fileExists(path))) return undefined;
  try {
    return await readText(path);
  } catch (error) {
    if (await fileExists(path)) throw error;
    return undefined;
  }
}
