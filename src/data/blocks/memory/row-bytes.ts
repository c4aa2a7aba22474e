/**
 * Estimates how many bytes the rows have that a function of a user's or an iterator gives, before they are a block.
 *
 * A step that collects rows hands them on once they are large, so a worker never holds more than one such block.
 * Small rows are looked at now and then only: looking at each would cost as much as a small function.
 */
import { NdArray } from "../../../core/index.ts";
import { MADE_BYTES_MAX } from "../../limits.ts";

/** Rows that go by without a look behind a row of few bytes. */
const ROWS_BETWEEN_LOOKS = 64;

/** Levels of arrays and objects of a row that are looked into. */
const LEVELS = 4;

export class RowBytes {
  #bytes = 0;
  #unseen = 0;

  /** Counts a row that was added. @returns whether the rows are to become a block now */
  add(row: unknown): boolean {
    if (this.#unseen > 0) {
      this.#unseen -= 1;
      return false;
    }
    const bytes = bytesOf(row, LEVELS);
    // Each look stands for the rows behind it, too: they are taken to be as large.
    this.#unseen = Math.min(ROWS_BETWEEN_LOOKS, Math.floor(MADE_BYTES_MAX / (1 + bytes) / (4 * ROWS_BETWEEN_LOOKS)));
    this.#bytes += bytes * (1 + this.#unseen);
    return this.#bytes >= MADE_BYTES_MAX;
  }

  restart(): void {
    this.#bytes = 0;
  }
}

/** About so many bytes has a value in a block. */
function bytesOf(value: unknown, levels: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || levels === 0) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (value instanceof NdArray) return bytesOf(value.data, 1);
  if (Array.isArray(value)) {
    // The elements of a list are alike, and the ends tell enough of a long one.
    return value.length === 0 ? 0 : (value.length * (bytesOf(value[0], levels - 1) + bytesOf(value.at(-1), levels - 1))) / 2;
  }
  let bytes = 0;
  for (const name in value) bytes += bytesOf((value as Record<string, unknown>)[name], levels - 1);
  return bytes;
}
