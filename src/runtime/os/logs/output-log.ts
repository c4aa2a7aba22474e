/**
 * Writes one stream of one worker into a file, a line at a time, with an index of the writers.
 *
 * Never makes its caller wait: lines gather in memory while a write is under way, and one write takes all that have gathered. A full file
 * is renamed and the oldest is removed. A disk that is full or too slow loses lines. How many is written where they are missing, once there
 * is room again.
 */
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { asError } from "../../base/texts/describe.ts";
import { describeSystemFailure } from "../machine/open-files.ts";
import { INDEX_SUFFIX, indexLine, indexOf, type OutputSource } from "./log-index.ts";
import {
  INDEX_BYTES_MAX,
  INDEX_EVERY_BYTES,
  INDEX_EVERY_MS,
  OUTPUT_FILE_BYTES_MAX,
  OUTPUT_FILES_MAX,
  UNWRITTEN_BYTES_MAX,
} from "./limits.ts";

interface OutputLogOptions {
  /** Whether so many more bytes may wait, all streams of the node together. */
  readonly mayWait?: (bytes: number) => boolean;
  readonly onFailure?: (reason: string) => void;
  readonly fileBytesMax?: number;
  readonly nowMs?: () => number;
  /** Opens a file to append to. */
  readonly open?: (path: string) => Promise<OutputHandle>;
}

/** The part of a `FileHandle` that is used. */
export type OutputHandle = Pick<FileHandle, "close"> & {
  write(bytes: Uint8Array): Promise<{ bytesWritten: number }>;
  stat(): Promise<{ size: number }>;
};

interface WaitingLine extends OutputSource {
  readonly text: string;
}

const openToAppend = (path: string): Promise<OutputHandle> => open(path, "a", 0o600);

export class OutputLog {
  readonly file: string;
  readonly #options: Required<OutputLogOptions>;
  #waiting: WaitingLine[] = [];
  #waitingBytes = 0;
  #handle: OutputHandle | undefined;
  #index: OutputHandle | undefined;
  #sizeBytes = 0;
  #indexBytes = 0;
  #indexedAt = 0;
  #indexedMs = 0;
  #source: OutputSource | undefined;
  /** Lines that were lost and have not been told of in the file, and why. */
  #lost = 0;
  #lostBy = "";
  #isTorn = false;
  #written: Promise<void> = Promise.resolve();
  #isWriting = false;

  constructor(file: string, options: OutputLogOptions = {}) {
    this.file = file;
    this.#options = {
      mayWait: () => true,
      onFailure: () => {},
      fileBytesMax: OUTPUT_FILE_BYTES_MAX,
      nowMs: () => Date.now(),
      open: openToAppend,
      ...options,
    };
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  write(text: string, { name, taskId }: OutputSource): void {
    const bytes = text.length + 1;
    if (this.#waitingBytes + bytes > UNWRITTEN_BYTES_MAX || !this.#options.mayWait(bytes)) {
      this.#loses(1, "the disk was too slow");
      return;
    }
    this.#waiting.push({ text, name, taskId });
    this.#waitingBytes += bytes;
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#written = this.#writeAll();
  }

  /** Resolves when all lines so far are in the file, or lost. */
  async flush(): Promise<void> {
    await this.#written;
  }

  /** Ends when nothing waits any more. A line that comes later opens the file again. */
  async close(): Promise<void> {
    do {
      await this.#written;
      await this.#closeFiles();
    } while (this.#isWriting);
  }

  async #closeFiles(): Promise<void> {
    const files = [this.#handle, this.#index];
    this.#handle = undefined;
    this.#index = undefined;
    await Promise.allSettled(files.map((file) => file?.close() ?? Promise.resolve()));
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Lines of the same moment share a write.
      await new Promise<void>((resolve) => setImmediate(resolve));
      const lines = this.#waiting;
      this.#waiting = [];
      await this.#writeLines(lines);
      this.#waitingBytes -= lines.reduce((sum, { text }) => sum + text.length + 1, 0);
    }
    this.#isWriting = false;
  }

  async #writeLines(lines: readonly WaitingLine[]): Promise<void> {
    try {
      const pieces = lines.map(({ text }) => Buffer.from(`${text}\n`));
      const handle = await this.#opened(pieces.reduce((sum, { length }) => sum + length, 0));
      const lost = this.#lost;
      const notice = this.#notice();
      if (notice.length > 0) await this.#append(handle, notice);
      this.#lost -= lost;
      // The index comes first: output in the file always has its entry.
      await this.#appendIndex(this.#entriesOf(lines, pieces));
      await this.#append(handle, Buffer.concat(pieces));
    } catch (error) {
      this.#source = undefined;
      this.#loses(lines.length, describeSystemFailure(asError(error)));
    }
  }

  #loses(lines: number, reason: string): void {
    if (this.#lost === 0) this.#options.onFailure(reason);
    this.#lost += lines;
    this.#lostBy = reason;
  }

  /** Says where lines are missing. */
  #notice(): Buffer {
    const end = this.#isTorn ? "\n" : "";
    return Buffer.from(this.#lost === 0 ? end : `${end}[shoal: up to ${this.#lost} lines are missing here: ${this.#lostBy}]\n`);
  }

  /** @throws Error when not all could be written */
  async #append(handle: OutputHandle, bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes.subarray(from));
      from += bytesWritten;
      this.#sizeBytes += bytesWritten;
      this.#isTorn = bytes[from - 1] !== 0x0a;
      if (bytesWritten === 0) throw new Error("the system wrote nothing");
    }
  }

  #entriesOf(lines: readonly WaitingLine[], pieces: readonly Buffer[]): string {
    const timeMs = this.#options.nowMs();
    let offset = this.#sizeBytes;
    let entries = "";
    for (const [at, { name, taskId }] of lines.entries()) {
      const isSame = this.#source?.name === name && this.#source.taskId === taskId;
      if (!isSame || offset - this.#indexedAt >= INDEX_EVERY_BYTES || timeMs - this.#indexedMs >= INDEX_EVERY_MS) {
        entries += indexLine({ offset, timeMs, taskId, name });
        this.#source = { name, taskId };
        this.#indexedAt = offset;
        this.#indexedMs = timeMs;
      }
      offset += pieces[at]?.length ?? 0;
    }
    return entries;
  }

  async #appendIndex(entries: string): Promise<void> {
    if (entries === "") return;
    try {
      this.#index ??= await this.#options.open(indexOf(this.file));
      await this.#index.write(Buffer.from(entries));
      this.#indexBytes += entries.length;
    } catch {
      // The output is there without its index.
    }
  }

  async #opened(moreBytes: number): Promise<OutputHandle> {
    const isFull = this.#sizeBytes + moreBytes > this.#options.fileBytesMax || this.#indexBytes > INDEX_BYTES_MAX;
    if (this.#handle !== undefined && isFull && this.#sizeBytes > 0) {
      await this.#closeFiles();
      await this.#rotate();
    }
    if (this.#handle === undefined) {
      this.#handle = await this.#options.open(this.file);
      this.#sizeBytes = (await this.#handle.stat()).size;
      this.#indexBytes = 0;
      this.#source = undefined;
    }
    return this.#handle;
  }

  /** A reader follows a file by its identity, so renaming loses it nothing. */
  async #rotate(): Promise<void> {
    const nameOf = (number: number): string => (number === 0 ? this.file : `${this.file}.${number}`);
    for (let number = OUTPUT_FILES_MAX - 1; number >= 0; number -= 1) {
      for (const path of [nameOf(number), indexOf(nameOf(number))]) {
        const isOldest = number === OUTPUT_FILES_MAX - 1;
        const to = path.endsWith(INDEX_SUFFIX) ? indexOf(nameOf(number + 1)) : nameOf(number + 1);
        await (isOldest ? rm(path, { force: true }) : rename(path, to)).catch(ignoreMissing);
      }
    }
    this.#sizeBytes = 0;
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
