/**
 * Columns over the rows of a group in order: ranks, values of rows before and behind, and sums, means and extremes of the last rows.
 *
 * Each column is made for all groups in one pass. Sums and extremes of the last `n` rows combine two values a row: a suffix and a prefix
 * of blocks of `n` rows. Nothing is subtracted, so rounding errors do not add up, and an infinity leaves with its row.
 */
import { type Block, vectorOf } from "../../blocks/block.ts";
import { bitmapBytes, setBit } from "../../blocks/values/bitmap.ts";
import { type DataType, FLOAT64, INT64, isNumberKind, typeName } from "../../blocks/data-type.ts";
import { decodeVector, isNull, NO_ROW, takeVectorOrNull, toFloat64, type Vector } from "../../blocks/vector.ts";
import { DataError } from "../../errors.ts";
import { groupRows, keyVectors } from "../../kernels/hash.ts";

/** One column of a window. */
export type WindowSpec =
  | { readonly kind: "rowNumber" | "rank" | "denseRank" }
  /** The value so many rows before; behind where the number is below 0. */
  | { readonly kind: "shift"; readonly column: string; readonly rows: number }
  | {
      readonly kind: "sum" | "mean" | "min" | "max";
      readonly column: string;
      /** How many rows count, with the own one. Undefined: all from the first. */
      readonly rows: number | undefined;
      /** Values that there have to be; with fewer the result is null. */
      readonly minRows: number;
    };

/** Rows of a block that are in groups and in order. */
interface OrderedGroups {
  readonly block: Block;
  /** Where each group begins, and the last one ends. */
  readonly starts: Uint32Array;
  readonly orderBy: readonly string[];
}

/** The vector of a column for all rows. @throws DataError for a column that does not exist, or is of another type */
export function windowVector(name: string, groups: OrderedGroups, spec: WindowSpec): Vector {
  switch (spec.kind) {
    case "rowNumber":
    case "rank":
    case "denseRank":
      return ranks(groups, spec.kind);
    case "shift":
      return shifted(groups, columnOf(name, groups.block, spec.column), spec.rows);
    default:
      return framed(groups, numbersOf(name, groups.block, spec.column), spec);
  }
}

function columnOf(name: string, block: Block, column: string): Vector {
  const vector = vectorOf(block, column);
  if (vector !== undefined) return vector;
  throw new DataError(`Cannot run ${name}: there is no column ${JSON.stringify(column)}`, { hint: `there are ${block.names.join(", ")}` });
}

interface Numbers {
  readonly values: Float64Array;
  readonly vector: Vector;
}

function numbersOf(name: string, block: Block, column: string): Numbers {
  const vector = decodeVector(columnOf(name, block, column));
  const { kind }: DataType = vector.type;
  if (isNumberKind(kind) || kind === "int64" || kind === "uint64") return { values: toFloat64(vector), vector };
  if (kind === "null") return { values: new Float64Array(vector.length), vector };
  throw new DataError(
    `Cannot run ${name}: column ${JSON.stringify(column)} has the type ${typeName(vector.type)}, and numbers are needed`,
    {
      hint: `cast it before: withColumn(${JSON.stringify(column)}, col(${JSON.stringify(column)}).cast("float64"))`,
    },
  );
}

/** Runs a loop for each group. */
function eachGroup({ starts }: OrderedGroups, run: (start: number, end: number) => void): void {
  for (let group = 0; group + 1 < starts.length; group += 1) run(starts[group] as number, starts[group + 1] as number);
}

function ranks(groups: OrderedGroups, kind: "rowNumber" | "rank" | "denseRank"): Vector {
  const { block, orderBy } = groups;
  const length = block.rowCount;
  const values = new BigInt64Array(length);
  const { ids } = groupRows(keyVectors(block, orderBy, "order by"), length);
  eachGroup(groups, (start, end) => {
    let rank = 1;
    for (let row = start; row < end; row += 1) {
      const isPeer = row > start && ids[row] === ids[row - 1];
      if (kind === "rowNumber" || (kind === "rank" && !isPeer)) rank = row - start + 1;
      else if (kind === "denseRank" && !isPeer && row > start) rank += 1;
      values[row] = BigInt(rank);
    }
  });
  return { type: INT64, length, nullCount: 0, bitOffset: 0, values };
}

function shifted(groups: OrderedGroups, vector: Vector, rows: number): Vector {
  const indices = new Uint32Array(vector.length);
  eachGroup(groups, (start, end) => {
    for (let row = start; row < end; row += 1) {
      const from = row - rows;
      indices[row] = from >= start && from < end ? from : NO_ROW;
    }
  });
  return takeVectorOrNull(vector, indices);
}

const COMBINE = {
  sum: { identity: 0, of: (a: number, b: number) => a + b },
  mean: { identity: 0, of: (a: number, b: number) => a + b },
  min: { identity: Number.POSITIVE_INFINITY, of: Math.min },
  max: { identity: Number.NEGATIVE_INFINITY, of: Math.max },
} as const;

function framed(
  groups: OrderedGroups,
  { values: all, vector }: Numbers,
  { kind, rows, minRows }: Extract<WindowSpec, { minRows: number }>,
): Vector {
  const { length } = vector;
  const { identity, of } = COMBINE[kind];
  const values = all.slice(0, length);
  /** Values before each row that are not null. */
  const counts = new Uint32Array(length + 1);
  for (let row = 0; row < length; row += 1) {
    const isValue = !isNull(vector, row);
    if (!isValue) values[row] = identity;
    counts[row + 1] = (counts[row] as number) + (isValue ? 1 : 0);
  }
  const results = new Float64Array(length);
  const validity = new Uint8Array(bitmapBytes(length));
  let nullCount = 0;
  const prefix = new Float64Array(length);
  const suffix = new Float64Array(rows === undefined ? 0 : length);
  eachGroup(groups, (start, end) => {
    const size = rows ?? end - start;
    for (let row = start; row < end; row += 1)
      prefix[row] = (row - start) % size === 0 ? (values[row] as number) : of(prefix[row - 1] as number, values[row] as number);
    if (rows !== undefined)
      for (let row = end - 1; row >= start; row -= 1)
        suffix[row] =
          row === end - 1 || (row - start + 1) % size === 0
            ? (values[row] as number)
            : of(values[row] as number, suffix[row + 1] as number);
    for (let row = start; row < end; row += 1) {
      const first = Math.max(start, row - size + 1);
      const count = (counts[row + 1] as number) - (counts[first] as number);
      if (count < Math.max(1, minRows)) {
        nullCount += 1;
        continue;
      }
      const isOneBlock = (first - start) % size === 0;
      const result = isOneBlock ? (prefix[row] as number) : of(suffix[first] as number, prefix[row] as number);
      results[row] = kind === "mean" ? result / count : result;
      setBit(validity, row);
    }
  });
  return { type: FLOAT64, length, nullCount, bitOffset: 0, values: results, ...(nullCount === 0 ? {} : { validity }) };
}
