/**
 * The log of a job's entry point: its output byte for byte, in files of bounded number and size.
 *
 * A full file is renamed and the oldest is removed, as with workers' output, so the same readers follow it. A write that fails loses its
 * bytes, and the file says how many once there is room again: the job itself goes on.
 */
import { rmSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { asError } from "../../base/texts/describe.ts";
import { describeSystemFailure } from "../machine/open-files.ts";
import { JOB_TAIL_BYTES, JOB_TAIL_LINES, OUTPUT_FILE_BYTES_MAX, OUTPUT_FILES_MAX } from "./limits.ts";

interface JobLogOptions {
  readonly fileBytesMax?: number;
  /** Told of the first bytes that are lost. */
  readonly onFailure?: (reason: string) => void;
}

export class JobLog {
  readonly #file: string;
  readonly #fileBytesMax: number;
  readonly #onFailure: (reason: string) => void;
  #handle: FileHandle | undefined;
  #sizeBytes = 0;
  #lostBytes = 0;
  #lostBy = "";
  #tail = Buffer.alloc(0);

  constructor(file: string, { fileBytesMax = OUTPUT_FILE_BYTES_MAX, onFailure = () => {} }: JobLogOptions = {}) {
    this.#file = file;
    this.#fileBytesMax = fileBytesMax;
    this.#onFailure = onFailure;
  }

  /** Resolves when the bytes are written or lost. Never rejects. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#tail = Buffer.concat([this.#tail, bytes]).subarray(-JOB_TAIL_BYTES);
    try {
      const handle = await this.#opened(bytes.byteLength);
      if (this.#lostBytes > 0)
        await writeAll(handle, Buffer.from(`\n[shoal: ${this.#lostBytes} bytes are missing here: ${this.#lostBy}]\n`));
      this.#lostBytes = 0;
      await writeAll(handle, bytes);
      this.#sizeBytes += bytes.byteLength;
    } catch (error) {
      this.#lostBy = describeSystemFailure(asError(error));
      if (this.#lostBytes === 0) this.#onFailure(this.#lostBy);
      this.#lostBytes += bytes.byteLength;
    }
  }

  /** The last lines, for messages. */
  get lastLines(): string {
    return this.#tail.toString("utf8").trimEnd().split("\n").slice(-JOB_TAIL_LINES).join("\n");
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => {});
  }

  async #opened(moreBytes: number): Promise<FileHandle> {
    if (this.#handle !== undefined && this.#sizeBytes > 0 && this.#sizeBytes + moreBytes > this.#fileBytesMax) {
      await this.close();
      await this.#rotate();
    }
    if (this.#handle === undefined) {
      await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
      this.#handle = await open(this.#file, "a", 0o600);
      this.#sizeBytes = (await this.#handle.stat()).size;
    }
    return this.#handle;
  }

  async #rotate(): Promise<void> {
    const nameOf = (number: number): string => (number === 0 ? this.#file : `${this.#file}.${number}`);
    await rm(nameOf(OUTPUT_FILES_MAX - 1), { force: true });
    for (let number = OUTPUT_FILES_MAX - 2; number >= 0; number -= 1)
      await rename(nameOf(number), nameOf(number + 1)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
  }
}

/** Removes a log with its older files, before anything can write a new one of that name. */
export function removeJobLog(file: string): void {
  for (let number = 0; number < OUTPUT_FILES_MAX; number += 1) {
    try {
      rmSync(number === 0 ? file : `${file}.${number}`, { force: true });
    } catch {
      // The folder is another user's, or away.
    }
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.byteLength; ) from += (await handle.write(bytes.subarray(from))).bytesWritten;
}
