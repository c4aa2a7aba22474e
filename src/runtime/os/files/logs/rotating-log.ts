/**
 * A log file for lines with their times, of bounded size: a full file is renamed, and the oldest is dropped.
 *
 * A full disk or a removed folder loses lines and causes no error: the caller has more important things to do.
 */
import { appendFileSync, renameSync, rmSync, statSync } from "node:fs";
import { LOG_BYTES_MAX, LOG_FILES_MAX } from "../../limits.ts";

export class RotatingLog {
  readonly file: string;
  readonly #sizeBytesMax: number;
  #sizeBytes: number;

  /** Default: 8 MB, and four older files (`head.log.1` is the newest of them). */
  constructor(file: string, options: { sizeBytesMax?: number } = {}) {
    this.file = file;
    this.#sizeBytesMax = options.sizeBytesMax ?? LOG_BYTES_MAX;
    this.#sizeBytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  }

  write(text: string, at: Date = new Date()): void {
    const line = `${at.toISOString()} ${text}\n`;
    try {
      if (this.#sizeBytes > 0 && this.#sizeBytes + line.length > this.#sizeBytesMax) this.#rotate();
      appendFileSync(this.file, line, { mode: 0o600 });
      this.#sizeBytes += line.length;
    } catch {
      // A log that cannot be written cannot report that.
    }
  }

  #rotate(): void {
    rmSync(`${this.file}.${LOG_FILES_MAX - 1}`, { force: true });
    for (let number = LOG_FILES_MAX - 2; number >= 0; number -= 1) {
      const from = number === 0 ? this.file : `${this.file}.${number}`;
      if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, `${this.file}.${number + 1}`);
    }
    this.#sizeBytes = 0;
  }
}
