/**
 * Files that grow at their end: logs, results, events.
 *
 * On this machine bytes are appended in place, and nothing is held open between two appends, so a thousand paused trials take no file descriptors. S3 cannot append: the bytes
 * gather in a temporary file, which is uploaded whole when it has doubled, and at the end; so the cost stays linear, and a crash loses the end of a file that nothing depends on.
 *
 * An append that fails can be repeated: the next one removes whatever the failed one has left.
 */
import { appendFile, open, readFile, rm, stat, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { newTemporaryFolder } from "../core/internal.ts";
import { StorageError, storageError } from "./errors.ts";
import { fileSystemOf } from "./file-systems.ts";
import { fileExists, writeWhole } from "./folders.ts";
import { UPLOADED_AGAIN_FROM_BYTES } from "./limits.ts";
import { schemeOf, shownPath } from "./paths.ts";

/** An open file. Callers await each call before the next. */
export interface AppendedFile {
  append(bytes: Uint8Array | string): Promise<void>;
  /** Appends, and makes it durable beyond a power cut. */
  appendDurably(bytes: Uint8Array | string): Promise<void>;
  /** All bytes so far; none of a file that is not there yet. */
  contents(): Promise<Uint8Array>;
  /** Sets all bytes, in one step. */
  replace(bytes: Uint8Array): Promise<void>;
  /** Flushes appended bytes to the storage and ends the use of the file. A call that fails can come again: what it has not flushed stays on this machine, and its error says where. */
  close(): Promise<void>;
}

interface AppendedFileOptions {
  /** Whether the caller knows that there is no such file yet: nothing is looked up then. Default: false. */
  readonly isNew?: boolean;
}

/** Goes on at the end of a file, or begins it. The folder is there. */
export async function openAppended(path: string, { isNew = false }: AppendedFileOptions = {}): Promise<AppendedFile> {
  const files = await fileSystemOf(path);
  const full = files.fullPath(path);
  return schemeOf(path) === "file" ? new LocalAppended(full, isNew) : await UploadedAppended.open(full, isNew);
}

class LocalAppended implements AppendedFile {
  readonly #path: string;
  /** The size of the file with all appends that succeeded; undefined where that is not known yet. */
  #sizeBytes: number | undefined;
  /** Whether an append has failed, which may have written a part. */
  #isTorn = false;

  constructor(path: string, isNew: boolean) {
    this.#path = path;
    this.#sizeBytes = isNew ? 0 : undefined;
  }

  append(bytes: Uint8Array | string): Promise<void> {
    return this.#whole(bytes, () => appendFile(this.#path, bytes));
  }

  async contents(): Promise<Uint8Array> {
    if (this.#sizeBytes === 0) return new Uint8Array(0);
    const bytes = await bytesOf(this.#path);
    return this.#isTorn ? bytes.subarray(0, this.#sizeBytes) : bytes;
  }

  async replace(bytes: Uint8Array): Promise<void> {
    await writeWhole(this.#path, bytes, { isDurable: false });
    this.#sizeBytes = bytes.length;
    this.#isTorn = false;
  }

  async appendDurably(bytes: Uint8Array | string): Promise<void> {
    await this.#whole(bytes, async () => {
      const handle = await open(this.#path, "a");
      try {
        await handle.appendFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
    });
  }

  async #whole(bytes: Uint8Array | string, write: () => Promise<void>): Promise<void> {
    await naming(this.#path, async () => {
      this.#sizeBytes ??= await sizeOf(this.#path);
      if (this.#isTorn && (await sizeOf(this.#path)) > this.#sizeBytes) await truncate(this.#path, this.#sizeBytes);
      this.#isTorn = true;
      await write();
      this.#isTorn = false;
      this.#sizeBytes += Buffer.byteLength(bytes);
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class UploadedAppended implements AppendedFile {
  readonly #path: string;
  readonly #folder: string;
  readonly #local: string;
  #sizeBytes: number;
  #uploadedBytes: number;

  private constructor(path: string, folder: string, sizeBytes: number) {
    this.#path = path;
    this.#folder = folder;
    this.#local = join(folder, "file");
    this.#sizeBytes = sizeBytes;
    this.#uploadedBytes = sizeBytes;
  }

  static async open(path: string, isNew: boolean): Promise<UploadedAppended> {
    const folder = newTemporaryFolder("shoal-upload-");
    const local = join(folder, "file");
    await appendFile(local, "");
    if (!isNew && (await fileExists(path))) for await (const chunk of (await fileSystemOf(path)).read(path)) await appendFile(local, chunk);
    return new UploadedAppended(path, folder, (await stat(local)).size);
  }

  async append(bytes: Uint8Array | string): Promise<void> {
    await naming(this.#path, async () => {
      await truncate(this.#local, this.#sizeBytes);
      await appendFile(this.#local, bytes);
    });
    this.#sizeBytes += Buffer.byteLength(bytes);
    // An upload that fails is made up for by the next one, or by that at the end, whose failure is told.
    if (this.#sizeBytes >= Math.max(UPLOADED_AGAIN_FROM_BYTES, 2 * this.#uploadedBytes)) await this.#upload().catch(() => undefined);
  }

  async appendDurably(bytes: Uint8Array | string): Promise<void> {
    await this.append(bytes);
    await this.#upload();
  }

  contents(): Promise<Uint8Array> {
    return bytesOf(this.#local);
  }

  async replace(bytes: Uint8Array): Promise<void> {
    await writeWhole(this.#local, bytes, { isDurable: false });
    this.#sizeBytes = bytes.length;
    // Differs from what is there, whatever its size.
    this.#uploadedBytes = -1;
  }

  async #upload(): Promise<void> {
    if (this.#uploadedBytes === this.#sizeBytes) return;
    const [files, local] = [await fileSystemOf(this.#path), await fileSystemOf(this.#local)];
    const sink = await files.openSink(this.#path);
    try {
      for await (const chunk of local.read(this.#local)) await sink.write(chunk);
      await sink.commit();
    } catch (error) {
      await sink.abort().catch(() => undefined);
      throw error;
    }
    this.#uploadedBytes = this.#sizeBytes;
  }

  async close(): Promise<void> {
    try {
      await this.#upload();
    } catch (cause) {
      throw new StorageError(`${(cause as Error).message}; its contents are in ${this.#local}`, { cause });
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** 0 for a file that is not there. */
async function sizeOf(path: string): Promise<number> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  return stats?.size ?? 0;
}

async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Uint8Array(0);
    throw storageError(`Cannot read ${path}`, error);
  }
}

async function naming(path: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (schemeOf(path) !== "file" || (error as NodeJS.ErrnoException).code !== "ENOENT")
      throw storageError(`Cannot write ${shownPath(path)}`, error);
    throw new StorageError(`Cannot write ${path}: there is no folder ${dirname(path)}`, { cause: error });
  }
}
