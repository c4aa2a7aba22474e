/**
 * Adds columns to written CSV and JSON lines: each value keeps its own text, and missing values are nulls.
 *
 * The text comes in chunks from this project's own writers. So records end with LF, only quoted fields have one inside, and a quote is doubled.
 * Nothing but one record is held in memory.
 */
import type { Field } from "../blocks/data-type.ts";
import { rowlessBlock } from "../blocks/block.ts";
import { ByteSink } from "./byte-sink.ts";
import { csvChunks } from "./csv/csv-writer.ts";

const LF = 10;
const QUOTE = 34;
const COMMA = 44;
const CLOSE_OBJECT = 125;

interface Columns {
  /** The columns of the text, in their order. */
  readonly own: readonly Field[];
  /** The columns to be, all of `own` among them. */
  readonly all: readonly Field[];
}

/** CSV with the columns of `all` in their order. `header`: the first record has the names. */
export async function* csvWithColumns(
  chunks: AsyncIterable<Uint8Array>,
  { own, all }: Columns,
  { header }: { readonly header: boolean },
): AsyncGenerator<Uint8Array, void, undefined> {
  const places = all.map(({ name }) => own.findIndex((field) => field.name === name));
  // In a single column a null that is no text was written as "", which would be an empty text beside other columns.
  const [first] = own;
  const quotesNulls = own.length === 1 && first !== undefined && first.type.kind !== "string" && first.type.kind !== "dictionary";
  const records = new Records();
  let isHeader = header;
  for await (const chunk of chunks) {
    const sink = new ByteSink();
    records.add(chunk, (bytes, bounds) => {
      if (isHeader) {
        const names = csvChunks(rowlessBlock(all), { header: true });
        sink.copy(names, 0, names.length);
        isHeader = false;
        return;
      }
      for (const [i, place] of places.entries()) {
        if (i > 0) sink.byte(COMMA);
        if (place < 0) continue;
        const [start, end] = [bounds[place] as number, (bounds[place + 1] as number) - 1];
        if (!(quotesNulls && end - start === 2 && bytes[start] === QUOTE)) sink.copy(bytes, start, end);
      }
      sink.byte(LF);
    });
    yield sink.taken();
  }
}

/** Records of CSV that come in chunks. */
class Records {
  #pending = new ByteSink();
  /** Where the scan goes on. */
  #at = 0;
  /** The starts of the record's fields, and behind them where a further one would start. */
  #bounds: number[] = [0];
  #isQuoted = false;

  /** @param give - called with each whole record; the bytes are valid until it returns */
  add(chunk: Uint8Array, give: (bytes: Uint8Array, bounds: readonly number[]) => void): void {
    this.#pending.copy(chunk, 0, chunk.length);
    const { bytes, length } = this.#pending;
    for (; this.#at < length; this.#at += 1) {
      const byte = bytes[this.#at];
      // A doubled quote ends the quotes and begins them again.
      if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
      if (this.#isQuoted || (byte !== COMMA && byte !== LF)) continue;
      this.#bounds.push(this.#at + 1);
      if (byte === COMMA) continue;
      give(bytes, this.#bounds);
      this.#bounds = [this.#at + 1];
    }
    this.#forget(this.#bounds[0] as number);
  }

  #forget(count: number): void {
    if (count === 0) return;
    const rest = new ByteSink();
    rest.copy(this.#pending.bytes, count, this.#pending.length);
    this.#pending = rest;
    this.#at -= count;
    this.#bounds = this.#bounds.map((bound) => bound - count);
  }
}

/** JSON lines whose objects have the missing columns, as null, behind their own. */
export async function* jsonWithColumns(
  chunks: AsyncIterable<Uint8Array>,
  { own, all }: Columns,
): AsyncGenerator<Uint8Array, void, undefined> {
  const names = new Set(own.map(({ name }) => name));
  const entries = all.filter(({ name }) => !names.has(name)).map(({ name }) => `${JSON.stringify(name)}:null`);
  const added = Buffer.from(`${own.length === 0 ? "" : ","}${entries.join(",")}}`);
  // The brace of each line is replaced. One that ends a chunk is held until the next chunk says whether its line ends there.
  let isHeld = false;
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue;
    const sink = new ByteSink();
    if (isHeld && chunk[0] !== LF) sink.byte(CLOSE_OBJECT);
    let start = 0;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, start)) {
      sink.copy(chunk, start, Math.max(start, at - 1));
      sink.copy(added, 0, added.length);
      sink.byte(LF);
      start = at + 1;
    }
    isHeld = start < chunk.length && chunk.at(-1) === CLOSE_OBJECT;
    sink.copy(chunk, start, isHeld ? chunk.length - 1 : chunk.length);
    yield sink.taken();
  }
}
