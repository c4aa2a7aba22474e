/**
 * Writing a file that appears whole or not at all, in any file system that can be written.
 *
 * Compresses by the target's extension. The sink of the file system turns the bytes into a file: by a new name on the disk, by the
 * completion of an upload in S3. A writer that is left without a commit drops its bytes.
 */
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { compressionOf } from "./compression/compression.ts";
import { storageError } from "./errors.ts";
import type { FileSink } from "./file-system.ts";
import { fileSystemOf } from "./file-systems.ts";

export class FileWriter {
  /** The path of the file to be, in full. */
  readonly path: string;
  readonly #sink: FileSink;
  readonly #compressor: Transform | undefined;
  /** The way from the compressor to the file. */
  readonly #compressed: Promise<void> | undefined;
  #sizeBytes = 0;
  #isEnded = false;

  private constructor(path: string, sink: FileSink) {
    this.path = path;
    this.#sink = sink;
    this.#compressor = compressionOf(path)?.compress();
    if (this.#compressor !== undefined) {
      this.#compressed = pipeline(this.#compressor, async (chunks: AsyncIterable<Uint8Array>) => {
        for await (const chunk of chunks) await this.#writeRaw(chunk);
      });
      this.#compressed.catch(() => undefined);
    }
  }

  /**
   * Begins a file at `path`.
   *
   * @throws StorageError where the folder is not there, too
   */
  static async open(path: string): Promise<FileWriter> {
    const files = await fileSystemOf(path);
    const target = files.fullPath(path);
    try {
      return new FileWriter(target, await files.openSink(target));
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

  /** Puts the whole file at its place, and replaces an existing one. */
  async commit(): Promise<{ path: string; sizeBytes: number }> {
    await this.#naming(async () => {
      this.#compressor?.end();
      await this.#compressed;
      await this.#sink.commit();
      this.#isEnded = true;
    });
    return { path: this.path, sizeBytes: this.#sizeBytes };
  }

  /** Removes the written bytes; an earlier file at `path` stays. After `commit` it does nothing. */
  async abort(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#compressor?.destroy();
    await this.#compressed?.catch(() => undefined);
    await this.#sink.abort();
  }

  /** Aborts unless the file was committed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.abort();
  }

  async #writeRaw(bytes: Uint8Array): Promise<void> {
    await this.#sink.write(bytes);
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
