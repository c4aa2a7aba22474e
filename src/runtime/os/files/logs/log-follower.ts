/**
 * Reads the lines that another program appends to its log, even when it renames the file and begins a new one.
 *
 * Looks at the file at intervals instead of watching it. It can miss the end of a renamed file, which no caller needs for certain.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const READ_BYTES_MAX = 256 * 1024;

export class LogFollower {
  readonly #file: string;
  #inode = 0;
  #offset = 0;
  #rest = "";

  /** Begins at the present end of the file. */
  constructor(file: string) {
    this.#file = file;
    this.#withFile((_, { inode, sizeBytes }) => {
      this.#inode = inode;
      this.#offset = sizeBytes;
    });
  }

  /** Lines that were completed since the last call. Of more than 256 KB, the last. */
  read(): string[] {
    let text = this.#rest;
    this.#withFile((descriptor, { inode, sizeBytes }) => {
      if (inode !== this.#inode || sizeBytes < this.#offset) [this.#inode, this.#offset] = [inode, 0];
      const from = Math.max(this.#offset, sizeBytes - READ_BYTES_MAX);
      const bytes = Buffer.alloc(sizeBytes - from);
      const length = readSync(descriptor, bytes, 0, bytes.length, from);
      this.#offset = from + length;
      text += bytes.toString("utf8", 0, length);
    });
    const lines = text.split(/\r?\n/);
    this.#rest = lines.pop() ?? "";
    return lines;
  }

  #withFile(use: (descriptor: number, facts: { inode: number; sizeBytes: number }) => void): void {
    let descriptor: number;
    try {
      descriptor = openSync(this.#file, "r");
    } catch {
      // Not there yet, or just being renamed.
      return;
    }
    try {
      const { ino, size } = fstatSync(descriptor);
      use(descriptor, { inode: ino, sizeBytes: size });
    } finally {
      closeSync(descriptor);
    }
  }
}
