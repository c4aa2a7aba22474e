/**
 * Reading files: as a stream of chunks, or whole.
 *
 * What is compressed is decompressed by its extension.
 * Each chunk is the reader's own memory, which it may keep. The next chunk is read while the last one is worked on. Errors name the file.
 */
import { type FileHandle, open } from "node:fs/promises";
import { Readable } from "node:stream";
import { compressionOf } from "./compression.ts";
import { storageError, StorageError } from "./errors.ts";
import { READ_CHUNK_BYTES, WHOLE_FILE_BYTES_MAX } from "./limits.ts";
import { localPath } from "./local-path.ts";

/**
 * The bytes of a file in order, decompressed.
 *
 * @throws StorageError where the file cannot be read, or its compressed data are damaged or cut off
 */
export async function* readChunks(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const file = localPath(path);
  const compression = compressionOf(file);
  if (compression === undefined) yield* readRaw(file);
  else yield* decompressed(file, compression.decompress);
}

async function* readRaw(file: string): AsyncGenerator<Uint8Array, void, undefined> {
  const handle = await open(file, "r").catch((error: unknown) => {
    throw storageError(`Cannot read ${file}`, error);
  });
  let next: Promise<Uint8Array> | undefined;
  try {
    next = readChunk(handle, file);
    for (;;) {
      const chunk = await next;
      next = undefined;
      if (chunk.length === 0) return;
      next = readChunk(handle, file);
      // Whoever waits for it is told; until then it must not count as an error that nobody handles.
      next.catch(() => undefined);
      yield chunk;
    }
  } finally {
    await next?.catch(() => undefined);
    await handle.close();
  }
}

async function readChunk(handle: FileHandle, file: string): Promise<Uint8Array> {
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafeSlow(READ_CHUNK_BYTES), 0, READ_CHUNK_BYTES, null);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    throw storageError(`Cannot read ${file}`, error);
  }
}

type Decompress = NonNullable<ReturnType<typeof compressionOf>>["decompress"];

async function* decompressed(file: string, decompress: Decompress): AsyncGenerator<Uint8Array, void, undefined> {
  let compressedBytes = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of readRaw(file)) {
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
    throw new StorageError(`Cannot decompress ${file}: ${isCutOff ? "it is cut off amid its data" : message}`, {
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
      throw new StorageError(`Cannot read ${localPath(path)} whole: it has more than ${WHOLE_FILE_BYTES_MAX} bytes`);
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
