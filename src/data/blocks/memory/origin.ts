/**
 * The origin of a block's rows, as far as a task knows it: the file and the row numbers.
 *
 * An origin is a note beside the block, so it costs nothing while rows pass. A stored block loses the note, but the block's facts keep a short form
 * (`originOf`) for steps in Python. Readers of files write the note, steps that keep or pick rows hand it on, and only errors read it. Rows count from 1.
 */
import type { Block } from "../block.ts";

/** Rows that follow each other. */
export type RowSpan = readonly [first: number, last: number];

interface Origin {
  readonly file: string;
  /** The rows of the file of which a row of the block was made. */
  readonly rowsOf: (row: number) => RowSpan;
}

const origins = new WeakMap<Block, Origin>();

/** Notes that a block has rows of a file that follow each other. `firstRow`: how many rows of the file are before them. */
export function noteFile(block: Block, file: string, firstRow: number): void {
  origins.set(block, { file, rowsOf: (row) => [firstRow + row + 1, firstRow + row + 1] });
}

/**
 * Notes for a block where another one's rows came from, of which it was made.
 *
 * @param rowsOf - the rows of the other block of which a row was made. Default: that of the same number
 */
export function keepOrigin(block: Block, from: Block, rowsOf?: (row: number) => RowSpan): Block {
  const origin = origins.get(from);
  if (origin === undefined) return block;
  const { file } = origin;
  origins.set(block, rowsOf === undefined ? origin : { file, rowsOf: (row) => span(origin, rowsOf(row)) });
  return block;
}

/** Notes for a block where the rows came from of which it was made, each of any of them. */
export function keepFile(block: Block, from: Block): Block {
  return keepOrigin(block, from, () => [0, from.rowCount - 1]);
}

/** Where the rows of a block came from, as data. */
export interface BlockOrigin {
  readonly file: string;
  readonly firstRow: number;
  readonly lastRow: number;
  /** The rows are those between first and last, one for one: no step has left out or added any. */
  readonly isExact: boolean;
}

/** Where rows of a block came from, of which the numbers begin with 0; undefined where nothing is known. */
export function originOf(block: Block, [first, last]: RowSpan): BlockOrigin | undefined {
  const origin = origins.get(block);
  if (origin === undefined || last < first) return undefined;
  const [start, end] = [origin.rowsOf(first), origin.rowsOf(last)];
  const isExact = start[0] === start[1] && end[0] === end[1] && end[0] - start[0] === last - first;
  return { file: origin.file, firstRow: start[0], lastRow: end[1], isExact };
}

/** Notes for a block where the rows of blocks came from that it is made of, one behind the other, if that is one file. */
export function keepOrigins(block: Block, parts: readonly Block[]): Block {
  const filled = parts.filter(({ rowCount }) => rowCount > 0);
  const known = filled.map((part) => origins.get(part));
  const first = known[0];
  if (filled[0] === block || first === undefined || known.some((origin) => origin?.file !== first.file)) return block;
  const rowsOf = (row: number): RowSpan => {
    let [at, part] = [row, 0];
    for (; at >= (filled[part] as Block).rowCount && part < filled.length - 1; part += 1) at -= (filled[part] as Block).rowCount;
    return (known[part] as Origin).rowsOf(at);
  };
  origins.set(block, { file: first.file, rowsOf });
  return block;
}

/** The known origin of some rows, for an error. */
export interface Place {
  /** Such as `row 8 of rides.csv`. */
  readonly text: string;
  /** The same as data. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Returns the origin of consecutive rows of a block, whose numbers begin with 0. */
export function placeOf(block: Block, [first, last]: RowSpan): Place {
  const origin = origins.get(block);
  if (origin === undefined)
    return { text: `${rowsText([first + 1, last + 1])} of the ${block.rowCount} in its block`, details: { rowInBlock: first + 1 } };
  const rows = span(origin, [first, last]);
  return { text: `${rowsText(rows)} of ${origin.file}`, details: { file: origin.file, firstRow: rows[0], lastRow: rows[1] } };
}

/** Names a row at the start of a message: `row 8 of rides.csv`, or `one of rows 1 to 9 of rides.csv` if no more is known. */
export function rowPlace(block: Block, row: number): string {
  const { text, details } = placeOf(block, [row, row]);
  return details["firstRow"] === details["lastRow"] ? text : `one of ${text}`;
}

function span({ rowsOf }: Origin, [first, last]: RowSpan): RowSpan {
  return [rowsOf(first)[0], rowsOf(last)[1]];
}

function rowsText([first, last]: RowSpan): string {
  return first === last ? `row ${first}` : `rows ${first} to ${last}`;
}
