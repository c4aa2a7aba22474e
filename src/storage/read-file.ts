/**
 * Reading files: as a stream of chunks, or whole.
 *
 * What is compressed is decompressed by its extension.
 * Each chunk is the reader's own memory, which it may keep. The next chunk is read while the last one is worked on. Errors name the file.
 */
import { Readable } from "node:stream";
import { compressionOf } from "./compression.ts";
import { StorageError } from "./errors.ts";
import { fileSystemOf } from "./file-systems.ts";
import { fileExists } from "./folders.ts";
import { WHOLE_FILE_BYTES_MAX } from "./limits.ts";
import { shownPath } from "./paths.ts";

/**
 * The bytes of a file in order, decompressed.
 *
 * @throws StorageError where the file cannot be read, or its compressed data are damaged or cut off
 */
export async function* readChunks(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const raw = (await fileSystemOf(path)).read(path);
  const compression = compressionOf(shownPath(path));
  if (compression === undefined) yield* raw;
  else yield* decompressed(raw, shownPath(path), compression.decompress);
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

type Decompress = NonNullable<ReturnType<typeof compressionOf>>["decompress"];

async function* decompressed(
  raw: AsyncGenerator<Uint8Array, void, undefined>,
  file: string,
  decompress: Decompress,
): AsyncGenerator<Uint8Array, void, undefined> {
  let compressedBytes = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of raw) {
      compressedBytes += chunk.length;
      yield chunk;
    }
    // The streams of Node take no bytes at all for a whole file.
    if (compressedBytes === 0) throw new StorageError(`Cannot decompress ${file}: it is empty`);
  };
  const source = Readable.from(counted(), { objectMode: true, highWaterMark: 1 });
  const closed = new Promise((resolve) => source.once("close", resolve));
  const output = decompress();
  source.on("error", (error) => output.destroy(error));
  source.pipe(output);
  try {
    for await (const chunk of output) yield chunk as Uint8Array;
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const isCutOff = code === "Z_BUF_ERROR";
    // The damage lies somewhere behind the bytes that were decompressed before.
    const problem = isCutOff
      ? `it is cut off amid its data, at byte ${compressedBytes}`
      : `${message} (behind byte ${output.bytesWritten})`;
    throw new StorageError(`Cannot decompress ${file}: ${problem}`, {
      cause: error,
      hint: isCutOff ? "was it copied to its end?" : "does its extension name the compression that it has?",
    });
  } finally {
    source.destroy();
    output.destroy();
    await closed;
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

/** The text of a file; undefined where there is no such file. @throws StorageError as {@link readWhole} */
export async function readTextIfThere(path: string): Promise<string | undefined> {
  return (await fileExists(path)) ? await readText(path) : undefined;
}
