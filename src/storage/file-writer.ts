/**
 * Writing a file that appears whole or not at all.
 *
 * The bytes go to a hidden file in the target's folder; `commit` makes them durable and gives them their name. A process that dies before leaves nothing but the hidden
 * file, which no reader takes. What the target's extension says is compressed.
 */
import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { compressionOf } from "./compression.ts";
import { storageError } from "./errors.ts";
import { localPath } from "./local-path.ts";

export class FileWriter {
  /** The absolute path of the file to be. */
  readonly path: string;
  readonly #temporary: string;
  readonly #handle: FileHandle;
  readonly #compressor: Transform | undefined;
  /** The way from the compressor to the file. */
  readonly #compressed: Promise<void> | undefined;
  #sizeBytes = 0;
  #isEnded = false;

  private constructor(path: string, temporary: string, handle: FileHandle) {
    this.path = path;
    this.#temporary = temporary;
    this.#handle = handle;
    this.#compressor = compressionOf(path)?.compress();
    if (this.#compressor !== undefined) {
      this.#compressed = pipeline(this.#compressor, async (chunks: AsyncIterable<Uint8Array>) => {
        for await (const chunk of chunks) await this.#writeRaw(chunk);
      });
      this.#compressed.catch(() => undefined);
    }
  }

  /** Begins a file at `path`; folders that are not there are made. */
  static async open(path: string): Promise<FileWriter> {
    const target = localPath(path);
    const temporary = join(dirname(target), `.${basename(target)}.${process.pid}-${randomBytes(6).toString("hex")}.tmp`);
    try {
      await mkdir(dirname(target), { recursive: true });
      return new FileWriter(target, temporary, await open(temporary, "wx"));
    } catch (error) {
      throw storageError(`Cannot write ${target}`, error);
    }
  }

  /** Appends bytes. They may be changed once the promise is fulfilled. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#naming(async () => {
      const compressor = this.#compressor;
      if (compressor === undefined) return this.#writeRaw(bytes);
      await new Promise<void>((resolve, reject) => {
        compressor.write(bytes, (error) => (error ? reject(error) : resolve()));
      });
    });
  }

  /** Puts the whole file at its place, in place of one that was there. */
  async commit(): Promise<{ path: string; sizeBytes: number }> {
    await this.#naming(async () => {
      this.#compressor?.end();
      await this.#compressed;
      await this.#handle.sync();
      await this.#handle.close();
      await rename(this.#temporary, this.path);
      this.#isEnded = true;
    });
    return { path: this.path, sizeBytes: this.#sizeBytes };
  }

  /** Removes what was written; what was at `path` before stays. After `commit` it does nothing. */
  async abort(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#compressor?.destroy();
    await this.#compressed?.catch(() => undefined);
    await this.#handle.close().catch(() => undefined);
    await rm(this.#temporary, { force: true });
  }

  /** Aborts unless the file was committed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.abort();
  }

  async #writeRaw(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(bytes, at);
      at += bytesWritten;
    }
    this.#sizeBytes += bytes.length;
  }

  async #naming(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      throw storageError(`Cannot write ${this.path}`, error);
    }
  }
}
