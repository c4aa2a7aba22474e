/**
 * Reading a file that a server has: in order or by ranges, going on where a connection broke.
 *
 * The file may not change meanwhile: if it has a tag (`ETag`) or a date, each answer has to have the first one's. A server that gives no
 * ranges is read from the beginning again, and the received bytes are skipped. Readers of ranges fetch each range by one request, however
 * often that breaks.
 */
import { messageOf } from "../../core/internal.ts";
import { compressionOf } from "../compression/compression.ts";
import { StorageError } from "../errors.ts";
import type { FileBytes } from "../file-system.ts";
import { type HttpAnswer, isBrokenConnection, pauseBeforeRetry } from "./http-requests.ts";
import { READ_CHUNK_BYTES, REQUEST_ATTEMPTS_MAX } from "../limits.ts";

export interface RemoteFile {
  /** As messages may show it. */
  readonly shown: string;
  /** A streamed success, or an answer 416. Other failures are thrown. */
  get(range: string | undefined, signal?: AbortSignal): Promise<HttpAnswer>;
}

interface Range {
  readonly start?: number;
  /** Behind the last byte. Default: the end of the file. */
  readonly end?: number;
  /** The version to read. Default: the present one. */
  readonly version?: string | undefined;
}

/** The version of a file, by its tag or date; undefined where the server gives neither. */
export function versionOf({ headers }: HttpAnswer): string | undefined {
  return headers.etag ?? headers["last-modified"];
}

/** The bytes of a range in order, in chunks of about 1 MiB. */
export async function* readRemote(file: RemoteFile, range: Range = {}): AsyncGenerator<Uint8Array, void, undefined> {
  const leaving = new AbortController();
  const pieces = piecesOf(file, range, leaving.signal);
  let next: Promise<Uint8Array | undefined> | undefined;
  try {
    next = gathered(pieces);
    for (;;) {
      const chunk = await next;
      next = undefined;
      if (chunk === undefined) return;
      // The next chunk is fetched while the reader works on this one.
      next = gathered(pieces);
      next.catch(() => undefined);
      yield chunk;
    }
  } finally {
    // A reader that leaves does not wait for the chunk under way.
    leaving.abort();
    await pieces.return();
  }
}

async function gathered(pieces: AsyncGenerator<Uint8Array, void, undefined>): Promise<Uint8Array | undefined> {
  const taken: Uint8Array[] = [];
  for (let total = 0; total < READ_CHUNK_BYTES; ) {
    const { value } = await pieces.next();
    if (value === undefined) break;
    taken.push(value);
    total += value.length;
  }
  return taken.length <= 1 ? taken[0] : Buffer.concat(taken);
}

/** The bytes as the network delivers them. */
async function* piecesOf(
  file: RemoteFile,
  { start = 0, end, version: wanted }: Range,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  let at = start;
  let version = wanted;
  for (let failures = 0; ; ) {
    const answer = await file.get(at === 0 && end === undefined ? undefined : `bytes=${at}-${end === undefined ? "" : end - 1}`, signal);
    const { stream } = answer;
    // No byte is missing: the file had ended where the connection broke.
    if (stream === undefined) return;
    try {
      refuseEncoding(file, answer);
      const found = versionOf(answer);
      if (version !== undefined && found !== version)
        throw new StorageError(`Cannot read ${file.shown}: it was changed while it was read`, {
          hint: "run again once nobody writes to it",
        });
      version = found;
      // A server that gives no ranges sends all from the beginning.
      let skipped = answer.status === 206 ? 0 : at;
      for await (const bytes of stream as AsyncIterable<Uint8Array>) {
        const piece = bytes.subarray(skipped, end === undefined ? undefined : skipped + end - at);
        skipped = Math.max(0, skipped - bytes.length);
        if (piece.length === 0) continue;
        at += piece.length;
        failures = 0;
        yield piece;
        if (at === end) return;
      }
      return;
    } catch (error) {
      if (!isBrokenConnection(error)) throw error;
      failures += 1;
      if (failures === REQUEST_ATTEMPTS_MAX)
        throw new StorageError(`Cannot read ${file.shown}: ${messageOf(error)} behind byte ${at}, ${failures} times`, {
          cause: error,
        });
    } finally {
      stream.destroy();
    }
    await pauseBeforeRetry(failures, signal);
  }
}

/** Files are decompressed by their names. A file with a plain name that arrives compressed would be taken for damaged. */
function refuseEncoding({ shown }: RemoteFile, { headers }: HttpAnswer): void {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (!/^(gzip|x-gzip|br|zstd|deflate)$/.test(encoding) || compressionOf(shown) !== undefined) return;
  throw new StorageError(`Cannot read ${shown}: the server sends it compressed by ${encoding}, and its name does not say so`, {
    hint: "store it under a name with .gz, .br, .zst or .deflate, or without that encoding",
  });
}

/** All bytes of a range in one piece of memory. */
async function readRange(file: RemoteFile, start: number, end: number, version: string | undefined): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(end - start);
  let at = 0;
  if (end > start)
    for await (const piece of piecesOf(file, { start, end, version })) {
      whole.set(piece, at);
      at += piece.length;
    }
  if (at < whole.length)
    throw new StorageError(`Cannot read ${file.shown}: it ends at byte ${start + at}, and byte ${end - 1} was asked for`);
  return whole;
}

/** Bytes of a remote file, fetched on demand. */
export class RemoteBytes implements FileBytes {
  readonly #file: RemoteFile;
  readonly #version: string | undefined;
  readonly sizeBytes: number;

  constructor(file: RemoteFile, version: string | undefined, sizeBytes: number) {
    this.#file = file;
    this.#version = version;
    this.sizeBytes = sizeBytes;
  }

  async read(start: number, end: number): Promise<ArrayBuffer> {
    return (await readRange(this.#file, start, end, this.#version)).buffer;
  }

  /** Nothing is open between two reads. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
