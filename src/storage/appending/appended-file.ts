/**
 * Files that grow at their end: logs, results, events.
 *
 * On this machine bytes are appended in place, and nothing is held open between two appends, so a thousand paused trials take no file
 * descriptors. S3 cannot append: the bytes gather in a temporary file, which is uploaded whole every few seconds while it grows
 * (`upload-schedule.ts`), and at the end. An append never waits for S3, and a crash loses the appends since the last upload began.
 *
 * An append that fails can be repeated: the next one removes the failed one's remains.
 */
import { appendFile, open, readFile, rm, stat, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf, newTemporaryFolder } from "../../core/internal.ts";
import { StorageError, storageError } from "../errors.ts";
import { fileSystemOf } from "../file-systems.ts";
import { fileExists, writeWhole } from "../listing/folders.ts";
import { READ_CHUNK_BYTES } from "../limits.ts";
import { schemeOf, shownPath } from "../paths.ts";
import { type GrowingFile, type UploadSchedule, uploadSchedule } from "./upload-schedule.ts";

/** An open file. Callers await each call before the next. */
export interface AppendedFile {
  append(bytes: Uint8Array | string): Promise<void>;
  /** Appends, and makes it durable beyond a power cut. */
  appendDurably(bytes: Uint8Array | string): Promise<void>;
  /** All bytes so far; none for a file that does not exist yet. */
  contents(): Promise<Uint8Array>;
  /** Sets all bytes, in one step. */
  replace(bytes: Uint8Array): Promise<void>;
  /**
   * Flushes appended bytes to the storage and ends the use of the file. A call that fails can come again: unflushed bytes stay on this
   * machine, and the error says where.
   */
  close(): Promise<void>;
}

interface AppendedFileOptions {
  /** Whether the caller knows that there is no such file yet: nothing is looked up then. Default: false. */
  readonly isNew?: boolean;
  /** Decides when a file of a storage without appends is sent. Default: the schedule of this process. */
  readonly schedule?: UploadSchedule;
}

/** Continues at the end of a file, or begins it. The folder exists. */
export async function openAppended(
  path: string,
  { isNew = false, schedule = uploadSchedule }: AppendedFileOptions = {},
): Promise<AppendedFile> {
  const files = await fileSystemOf(path);
  const full = files.fullPath(path);
  return schemeOf(path) === "file" ? new LocalAppended(full, isNew) : await UploadedAppended.open(full, { isNew, schedule });
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

class UploadedAppended implements AppendedFile, GrowingFile {
  readonly folder: string;
  readonly #path: string;
  readonly #schedule: UploadSchedule;
  readonly #temporaryFolder: string;
  readonly #local: string;
  #sizeBytes: number;
  /** Counts the changes; the storage has the state after change `#uploaded`. */
  #changes = 0;
  #uploaded = 0;
  /** Tail of the queue of operations that change the local file or begin to read it. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(path: string, local: { readonly folder: string; readonly sizeBytes: number }, schedule: UploadSchedule) {
    this.#path = path;
    this.#schedule = schedule;
    this.folder = path.slice(0, path.lastIndexOf("/"));
    this.#temporaryFolder = local.folder;
    this.#local = join(local.folder, "file");
    this.#sizeBytes = local.sizeBytes;
  }

  static async open(path: string, { isNew, schedule }: Required<AppendedFileOptions>): Promise<UploadedAppended> {
    const folder = newTemporaryFolder("shoal-upload-");
    const local = join(folder, "file");
    await appendFile(local, "");
    if (!isNew && (await fileExists(path))) for await (const chunk of (await fileSystemOf(path)).read(path)) await appendFile(local, chunk);
    return new UploadedAppended(path, { folder, sizeBytes: (await stat(local)).size }, schedule);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  async append(bytes: Uint8Array | string): Promise<void> {
    await this.#inTurn(() =>
      naming(this.#path, async () => {
        await truncate(this.#local, this.#sizeBytes);
        await appendFile(this.#local, bytes);
        this.#changed(this.#sizeBytes + Buffer.byteLength(bytes));
      }),
    );
  }

  async appendDurably(bytes: Uint8Array | string): Promise<void> {
    await this.append(bytes);
    await this.#schedule.ended(this);
    await this.upload();
  }

  contents(): Promise<Uint8Array> {
    return bytesOf(this.#local);
  }

  async replace(bytes: Uint8Array): Promise<void> {
    await this.#inTurn(async () => {
      await writeWhole(this.#local, bytes, { isDurable: false });
      this.#changed(bytes.length);
    });
  }

  #changed(sizeBytes: number): void {
    this.#sizeBytes = sizeBytes;
    this.#changes += 1;
    this.#schedule.grown(this);
  }

  /** Sends the file's present content; later appends are not in it. */
  async upload(): Promise<void> {
    const { handle, changes, sizeBytes } = await this.#inTurn(async () => ({
      handle: await open(this.#local, "r"),
      changes: this.#changes,
      sizeBytes: this.#sizeBytes,
    }));
    try {
      if (changes === this.#uploaded) return;
      const sink = await (await fileSystemOf(this.#path)).openSink(this.#path);
      try {
        if (sizeBytes > 0) {
          const chunks = handle.createReadStream({ start: 0, end: sizeBytes - 1, highWaterMark: READ_CHUNK_BYTES, autoClose: false });
          for await (const chunk of chunks as AsyncIterable<Uint8Array>) await sink.write(chunk);
        }
        await sink.commit();
      } catch (error) {
        await sink.abort().catch(() => undefined);
        throw error;
      }
      this.#uploaded = changes;
    } finally {
      await handle.close();
    }
  }

  async close(): Promise<void> {
    await this.#schedule.ended(this);
    try {
      await this.upload();
    } catch (cause) {
      throw new StorageError(`${messageOf(cause)}; its contents are in ${this.#local}`, { cause });
    }
    await rm(this.#temporaryFolder, { recursive: true, force: true });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
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
