/**
 * Columns: values of one space side by side, in the form that vector environments and batches have.
 *
 * A layout knows how a space's values lie in a column: flat arrays for spaces of numbers, plain lists for the others. It allocates columns and moves values between them.
 */
import { Box } from "./box.ts";
import { Discrete } from "./discrete.ts";
import { DTYPES, type NumericArray } from "./dtype.ts";
import { MultiBinary } from "./multi-binary.ts";
import { MultiDiscrete } from "./multi-discrete.ts";
import type { Space } from "./space.ts";

/**
 * Values of several environments: flat arrays for `Box` (of the space's dtype), `Discrete` and `MultiDiscrete` (`Int32Array`) and `MultiBinary` (`Int8Array`), one after another; a list of values
 * for all other spaces.
 */
export type ColumnData = NumericArray | unknown[];

export interface ColumnLayout {
  /** Numbers that a value takes in a flat array; `undefined` where columns are lists of values. */
  readonly size: number | undefined;
  allocate(rows: number): ColumnData;
  write(column: ColumnData, row: number, value: unknown): void;
  /** A copy of the value in a row. */
  read(column: ColumnData, row: number): unknown;
}

export function columnLayout(space: Space): ColumnLayout {
  if (space instanceof Discrete) return DISCRETE;
  if (space instanceof Box) return flatLayout(space.size, DTYPES[space.dtype as keyof typeof DTYPES].array);
  if (space instanceof MultiDiscrete) return flatLayout(space.counts.length, Int32Array);
  if (space instanceof MultiBinary) return flatLayout(space.n, Int8Array);
  return LIST;
}

const DISCRETE: ColumnLayout = {
  size: 1,
  allocate: (rows) => new Int32Array(rows),
  write: (column, row, value) => void (column[row] = value as number),
  read: (column, row) => column[row],
};

const LIST: ColumnLayout = {
  size: undefined,
  allocate: (rows) => new Array<unknown>(rows).fill(undefined),
  write: (column, row, value) => void ((column as unknown[])[row] = value),
  read: (column, row) => column[row],
};

function flatLayout(size: number, array: new (length: number) => NumericArray): ColumnLayout {
  return {
    size,
    allocate: (rows) => new array(rows * size),
    write: (column, row, value) => {
      for (let at = 0; at < size; at += 1) (column as NumericArray)[row * size + at] = (value as ArrayLike<number>)[at] as number;
    },
    read: (column, row) => (column as NumericArray).slice(row * size, (row + 1) * size),
  };
}
