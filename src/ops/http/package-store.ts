/**
 * Packages with working directories of jobs: received as zip archives, unpacked once, and found by their names.
 *
 * A name holds the hash of a content, so a package never changes and is sent once. Each is a folder below the head's own, which appears
 * whole. The packages that have been unused for longest go first where there is too much.
 */
import { createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Readable } from "node:stream";
import { BadZipError, unpackZip } from "../../runtime/os/files/archives/zip-file.ts";
import { HttpError } from "./http-answers.ts";
import { PACKAGE_BYTES_MAX, PACKAGE_USED_MS, PACKAGES_BYTES_MAX, PACKAGES_RECEIVED_MAX } from "./limits.ts";

const URI = /^gcs:\/\/(?<name>_(?:ray|shoal)_pkg_[0-9a-f]{1,64}\.zip)$/;

export class PackageStore {
  readonly #folder: string;
  /** By folder. A second sender of a content waits for the first. */
  readonly #receiving = new Map<string, Promise<void>>();

  /** @param folder made with the first package */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The folder with a package's files; undefined where it was not sent. @throws HttpError 400 for a name that no package has */
  async folderOf(uri: string): Promise<string | undefined> {
    const folder = this.#placeOf(uri);
    const now = new Date();
    // The time of the last use is that of the file beside the folder.
    return await utimes(sizeFileOf(folder), now, now).then(
      () => folder,
      () => undefined,
    );
  }

  /** Unpacks an archive that a client sends. @throws HttpError 400 for a bad archive, 413 for a large one, 503 for too many at once */
  async receive(uri: string, { body, signal }: { body: Readable; signal: AbortSignal }): Promise<void> {
    const folder = this.#placeOf(uri);
    if ((await this.folderOf(uri)) !== undefined) return;
    const known = this.#receiving.get(folder);
    if (known !== undefined) return await known;
    const receiving = this.#receive(folder, { body, signal });
    this.#receiving.set(folder, receiving);
    try {
      await receiving;
    } finally {
      this.#receiving.delete(folder);
    }
  }

  async #receive(folder: string, { body, signal }: { body: Readable; signal: AbortSignal }): Promise<void> {
    if (this.#receiving.size >= PACKAGES_RECEIVED_MAX)
      throw new HttpError(503, "Cannot take the package: others are being received", { "retry-after": "1" });
    const archive = `${folder}.${process.pid}-${Math.random().toString(36).slice(2)}.part`;
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await pipeline(body, bounded, createWriteStream(archive, { mode: 0o600 }), { signal });
      // A server that ended before the size was written has left it.
      await rm(folder, { recursive: true, force: true });
      const bytes = await unpackZip(archive, folder);
      await writeFile(sizeFileOf(folder), String(bytes), { mode: 0o600 });
      await this.#sweep(folder);
    } catch (error) {
      if (error instanceof BadZipError)
        throw new HttpError(400, `Cannot take the package: ${error.message}. Send a zip archive of plain files.`);
      throw error;
    } finally {
      await rm(archive, { force: true });
    }
  }

  async #sweep(newest: string): Promise<void> {
    const found: { folder: string; bytes: number; usedMs: number }[] = [];
    for (const name of await readdir(this.#folder)) {
      if (!name.endsWith(SIZE)) continue;
      const folder = join(this.#folder, name.slice(0, -SIZE.length));
      const [text, facts] = await Promise.all([readFile(sizeFileOf(folder), "utf8"), stat(sizeFileOf(folder))]);
      found.push({ folder, bytes: Number(text), usedMs: facts.mtimeMs });
    }
    let sum = found.reduce((total, { bytes }) => total + bytes, 0);
    for (const { folder, bytes, usedMs } of found.sort((a, b) => a.usedMs - b.usedMs)) {
      if (sum <= PACKAGES_BYTES_MAX) return;
      if (folder === newest || Date.now() - usedMs < PACKAGE_USED_MS) continue;
      await rm(sizeFileOf(folder), { force: true });
      await rm(folder, { recursive: true, force: true });
      sum -= bytes;
    }
    if (sum <= PACKAGES_BYTES_MAX) return;
    await rm(sizeFileOf(newest), { force: true });
    await rm(newest, { recursive: true, force: true });
    throw new HttpError(413, `Cannot take the package: all packages together would have more than ${PACKAGES_BYTES_MAX} bytes`);
  }

  #placeOf(uri: string): string {
    const name = URI.exec(uri)?.groups?.["name"];
    if (name !== undefined) return join(this.#folder, name);
    throw new HttpError(
      400,
      `Cannot use the package: its name is gcs://_ray_pkg_HASH.zip or gcs://_shoal_pkg_HASH.zip: received ${JSON.stringify(uri.slice(0, 200))}. ` +
        "Send the working directory with a client, which uploads it.",
    );
  }
}

const SIZE = ".size";

function sizeFileOf(folder: string): string {
  return `${folder}${SIZE}`;
}

async function* bounded(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > PACKAGE_BYTES_MAX) throw new HttpError(413, `Cannot take the package: it has more than ${PACKAGE_BYTES_MAX} bytes`);
    yield piece;
  }
}
