/**
 * How aggregates are computed: a state a group in columns, so that states travel as blocks.
 *
 * `accumulate` makes the states of the rows of one block, `merge` those of several states of a group, and `finalize` the results. Each takes the group of every row, by
 * number, and how many groups there are.
 */
import { bitmapBytes, setBit } from "../blocks/values/bitmap.ts";
import { type DecimalType, FLOAT64 } from "../blocks/data-type.ts";
import { decimalText, sumType, unscaledReader } from "../blocks/values/decimals.ts";
import { valueReader } from "../blocks/value-reader.ts";
import { isNull, takeVector, type Vector } from "../blocks/vector.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { DataError } from "../errors.ts";
import { precedes } from "../kernels/sort.ts";
import type { Aggregate } from "./aggregate.ts";
import { frequentValues, valueCounts } from "./frequencies.ts";
import { floats, type Grouping, integers, isBigints, isFloat, type Kernel, numbersOf } from "./kernel.ts";
import { distinct, lengths, lists } from "./list-states.ts";
import { estimatedQuantiles } from "./quantile-sketch.ts";

export function kernelOf(aggregate: Aggregate): Kernel {
  const kernel = ownKernelOf(aggregate);
  return aggregate.ignoreNulls === false && NULL_OF_NULLS.has(aggregate.kind) ? nullOfNulls(kernel) : kernel;
}

/** Aggregates that are null where a value is, unless nulls are left out. */
const NULL_OF_NULLS: ReadonlySet<string> = new Set<Aggregate["kind"]>(["sum", "min", "max", "mean", "std", "absMax", "quantile"]);

function ownKernelOf({ kind, column, quantile = 0.5, quantiles = [], k = 0, room = 0, ddof = 1, ignoreNulls = true }: Aggregate): Kernel {
  switch (kind) {
    case "count":
      return column !== undefined && ignoreNulls
        ? { ...counting, accumulate: (values, groups) => [countValues(values, groups)] }
        : counting;
    case "countDistinct":
      return { ...distinct(ignoreNulls), finalize: ([values]) => lengths(values as Vector) };
    case "unique":
      return { ...distinct(ignoreNulls), finalize: ([values]) => values as Vector };
    case "asList":
      return { ...lists(ignoreNulls), finalize: ([all]) => all as Vector };
    case "quantile":
      return { ...lists(true), finalize: ([all]) => exactQuantiles(all as Vector, quantile) };
    case "sum":
      return exactSums;
    case "mean":
      return { ...sums, finalize: (states) => ratio(states, 1) };
    case "std":
      return deviations(ddof);
    case "min":
      return best(-1);
    case "max":
      return best(1);
    case "absMax":
      return { ...best(1), accumulate: (values, groups) => best(1).accumulate(absolute(values), groups) };
    case "missingValuePercentage":
      return percentage((values) => {
        const isNaNAt = isFloat(values) ? (row: number) => Number.isNaN((values.values as Float64Array)[row]) : () => false;
        return { isCounted: () => true, isHit: (row) => isNull(values, row) || isNaNAt(row) };
      });
    case "zeroPercentage":
      return percentage((values) => {
        const numbers = numbersOf(values);
        return { isCounted: (row) => !ignoreNulls || !isNull(values, row), isHit: (row) => !isNull(values, row) && numbers[row] === 0 };
      });
    case "valueCounter":
      return valueCounts;
    case "approxQuantile":
      return estimatedQuantiles(quantiles, room);
    case "approxTopK":
      return frequentValues(k, room);
    case "custom":
      throw new TypeError("An aggregate of the user's has no kernel");
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Counts and sums

function addUp(values: Float64Array, vector: Vector, { ids, count }: Grouping): Float64Array {
  const totals = new Float64Array(count);
  const hasNulls = vector.nullCount > 0;
  for (let row = 0; row < ids.length; row += 1) {
    if (hasNulls && isNull(vector, row)) continue;
    const id = ids[row] as number;
    totals[id] = (totals[id] as number) + (values[row] as number);
  }
  return totals;
}

/** Counts the rows of each group in one vector for all aggregates, so that it travels once. */
function countAll(groups: Grouping): Vector {
  const { ids, count } = groups;
  if (groups.rowCounts !== undefined) return groups.rowCounts;
  const counts = new Float64Array(count);
  for (let row = 0; row < ids.length; row += 1) {
    const id = ids[row] as number;
    counts[id] = (counts[id] as number) + 1;
  }
  groups.rowCounts = floats(counts);
  return groups.rowCounts;
}

function countRows({ ids, count }: Grouping, isCounted: (row: number) => boolean): Float64Array {
  const counts = new Float64Array(count);
  for (let row = 0; row < ids.length; row += 1) {
    if (!isCounted(row)) continue;
    const id = ids[row] as number;
    counts[id] = (counts[id] as number) + 1;
  }
  return counts;
}

function countValues(vector: Vector, groups: Grouping): Vector {
  return vector.nullCount === 0 ? countAll(groups) : floats(countRows(groups, (row) => !isNull(vector, row)));
}

/** The states of one column of numbers each, added up. */
function mergeSums(states: readonly Vector[], groups: Grouping): Vector[] {
  groups.added ??= new Map();
  const { added } = groups;
  return states.map((state) => {
    const total = added.get(state) ?? floats(addUp(state.values as Float64Array, state, groups));
    added.set(state, total);
    return total;
  });
}

const counting: Kernel = {
  accumulate: (_values, groups) => [countAll(groups)],
  merge: mergeSums,
  finalize: ([totals]) => integers((totals as Vector).values as Float64Array),
};

/** States: the sum and the number of values. */
const sums: Kernel = {
  accumulate: (vector, groups) => [floats(addUp(numbersOf(vector), vector, groups)), countValues(vector, groups)],
  merge: mergeSums,
  finalize: ([totals, counts]) =>
    floats((totals as Vector).values as Float64Array, (group) => ((counts as Vector).values as Float64Array)[group] !== 0),
};

/** As {@link sums}, but decimals and bigints are added as whole numbers, and their sum is of their kind. */
const exactSums: Kernel = {
  accumulate: (vector, groups) => {
    const { type } = vector;
    if (type.kind === "decimal") return [addDecimals(vector, type, sumType(type), groups), countValues(vector, groups)];
    return isBigints(type) ? [addBigints(vector, groups), countValues(vector, groups)] : sums.accumulate(vector, groups);
  },
  merge: ([totals, counts], groups) => {
    const { type } = totals as Vector;
    if (type.kind === "float64") return mergeSums([totals as Vector, counts as Vector], groups);
    const added = type.kind === "decimal" ? addDecimals(totals as Vector, type, type, groups) : addBigints(totals as Vector, groups);
    return [added, ...mergeSums([counts as Vector], groups)];
  },
  finalize: ([totals, counts]) => {
    const total = totals as Vector;
    const numbers = (counts as Vector).values as Float64Array;
    if (total.type.kind === "float64") return sums.finalize([total, counts as Vector]);
    const { nullCount, validity } = floats(numbers, (group) => numbers[group] !== 0);
    return { ...total, nullCount, bitOffset: 0, ...(validity === undefined ? {} : { validity }) };
  },
};

/** @throws DataError for a sum that 64 bits do not hold */
function addBigints(vector: Vector, { ids, count }: Grouping): Vector {
  const { type } = vector;
  const values = vector.values as BigInt64Array;
  const totals = new Array<bigint>(count).fill(0n);
  for (let row = 0; row < ids.length; row += 1) {
    const id = ids[row] as number;
    if (!isNull(vector, row)) totals[id] = (totals[id] as bigint) + (values[row] as bigint);
  }
  const sum = type.kind === "int64" ? BigInt64Array.from(totals) : BigUint64Array.from(totals);
  totals.forEach((total, group) => {
    if (sum[group] !== total)
      throw new DataError(`The sum ${total} is beyond ${type.kind}`, {
        hint: 'make the column decimals before: cast("decimal<38, 0>"), or numbers, which are rounded',
      });
  });
  return { type, length: count, nullCount: 0, bitOffset: 0, values: sum };
}

function addDecimals(vector: Vector, from: DecimalType, to: DecimalType, { ids, count }: Grouping): Vector {
  const read = unscaledReader(vector.values as BigUint64Array, from);
  const totals = new Array<bigint>(count).fill(0n);
  for (let row = 0; row < ids.length; row += 1) {
    const id = ids[row] as number;
    if (!isNull(vector, row)) totals[id] = (totals[id] as bigint) + read(row);
  }
  return buildVector(
    totals.map((total) => decimalText(total, to.scale)),
    to,
  );
}

function ratio([parts, wholes]: readonly Vector[], factor: number): Vector {
  const [part, whole] = [(parts as Vector).values as Float64Array, (wholes as Vector).values as Float64Array];
  return floats(
    part.map((value, group) => (factor * value) / (whole[group] as number)),
    (group) => whole[group] !== 0,
  );
}

/** The rows that count, and the hits among them. */
interface Hits {
  isCounted(row: number): boolean;
  isHit(row: number): boolean;
}

function percentage(hitsOf: (values: Vector) => Hits): Kernel {
  return {
    accumulate: (values, groups) => {
      const { isCounted, isHit } = hitsOf(values);
      return [floats(countRows(groups, (row) => isCounted(row) && isHit(row))), floats(countRows(groups, isCounted))];
    },
    merge: mergeSums,
    finalize: (states) => ratio(states, 100),
  };
}

/** States: the number of values, their mean, and the sum of squared distances from it. */
const deviations = (ddof: number): Kernel => ({
  accumulate: (vector, groups) => {
    const values = numbersOf(vector);
    const known = countValues(vector, groups);
    const counts = known.values as Float64Array;
    const means = addUp(values, vector, groups).map((total, group) => total / (counts[group] as number));
    const squares = new Float64Array(groups.count);
    for (let row = 0; row < groups.ids.length; row += 1) {
      if (vector.nullCount > 0 && isNull(vector, row)) continue;
      const id = groups.ids[row] as number;
      squares[id] = (squares[id] as number) + ((values[row] as number) - (means[id] as number)) ** 2;
    }
    return [known, floats(means), floats(squares)];
  },
  merge: (states, { ids, count }) => {
    const [n, m, s] = states.map((state) => state.values as Float64Array) as [Float64Array, Float64Array, Float64Array];
    const [counts, means, squares] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)];
    for (let row = 0; row < ids.length; row += 1) {
      const id = ids[row] as number;
      const [a, b] = [counts[id] as number, n[row] as number];
      if (b === 0) continue;
      const distance = (m[row] as number) - (means[id] as number);
      counts[id] = a + b;
      means[id] = (means[id] as number) + (distance * b) / (a + b);
      squares[id] = (squares[id] as number) + (s[row] as number) + (distance * distance * a * b) / (a + b);
    }
    return [floats(counts), floats(means), floats(squares)];
  },
  finalize: ([counts, , squares]) => {
    const n = (counts as Vector).values as Float64Array;
    return floats(
      ((squares as Vector).values as Float64Array).map((square, group) => Math.sqrt(square / ((n[group] as number) - ddof))),
      (group) => (n[group] as number) > ddof,
    );
  },
});

// ---------------------------------------------------------------------------------------------------------------------
// Nulls

/** The kernel with null for groups in which a value is null. One state more: how many are. */
function nullOfNulls(kernel: Kernel): Kernel {
  return {
    accumulate: (values, groups) => [...kernel.accumulate(values, groups), floats(countRows(groups, (row) => isNull(values, row)))],
    merge: (states, groups) => [...kernel.merge(states.slice(0, -1), groups), ...mergeSums(states.slice(-1), groups)],
    finalize: (states) => {
      const nulls = (states.at(-1) as Vector).values as Float64Array;
      return nullWhere(kernel.finalize(states.slice(0, -1)), (group) => nulls[group] !== 0);
    },
  };
}

function nullWhere(vector: Vector, isWithout: (row: number) => boolean): Vector {
  const { length, bitOffset, type } = vector;
  if (type.kind === "null") return vector;
  const validity = new Uint8Array(bitmapBytes(bitOffset + length));
  let nullCount = 0;
  for (let row = 0; row < length; row += 1) {
    if (isWithout(row) || isNull(vector, row)) nullCount += 1;
    else setBit(validity, bitOffset + row);
  }
  return nullCount === 0 ? vector : { ...vector, nullCount, validity };
}

// ---------------------------------------------------------------------------------------------------------------------
// The smallest and the largest

/** The state is the best value so far. `sign`: 1 for the largest, -1 for the smallest. */
function best(sign: 1 | -1): Kernel {
  const bestRows = (vector: Vector, { ids, count }: Grouping): Vector[] => {
    const compare = precedes(vector);
    const isNaNAt = isFloat(vector) ? (row: number) => Number.isNaN((vector.values as Float64Array)[row]) : () => false;
    const rows = new Int32Array(count).fill(-1);
    for (let row = 0; row < ids.length; row += 1) {
      if (isNull(vector, row)) continue;
      const id = ids[row] as number;
      const other = rows[id] as number;
      if (other < 0 || isNaNAt(other) || (!isNaNAt(row) && sign * compare(row, other) > 0)) rows[id] = row;
    }
    return [takeOrNull(vector, rows)];
  };
  return { accumulate: bestRows, merge: ([state], groups) => bestRows(state as Vector, groups), finalize: ([state]) => state as Vector };
}

/** The values of the rows; null where there is none, which is -1. */
function takeOrNull(vector: Vector, rows: Int32Array): Vector {
  const hasNone = rows.includes(-1);
  const taken = takeVector(
    vector,
    Uint32Array.from(rows, (row) => Math.max(0, row)),
  );
  if (!hasNone || vector.length === 0) return taken;
  const validity = new Uint8Array(bitmapBytes(rows.length));
  let nullCount = 0;
  rows.forEach((row, i) => {
    if (row >= 0 && !isNull(taken, i)) setBit(validity, i);
    else nullCount += 1;
  });
  return { ...taken, nullCount, validity, bitOffset: 0 };
}

function absolute(vector: Vector): Vector {
  if (!isBigints(vector.type)) return { ...vector, type: FLOAT64, values: Float64Array.from(numbersOf(vector), Math.abs) };
  // The least int64 has no positive counterpart there.
  const values = BigUint64Array.from(vector.values as BigInt64Array, (value) => (value < 0n ? -value : value));
  return { ...vector, type: { kind: "uint64", as: "bigint" }, values };
}

// ---------------------------------------------------------------------------------------------------------------------
// Quantiles, and states of functions

function exactQuantiles(states: Vector, q: number): Vector {
  const offsets = states.offsets as Int32Array;
  const numbers = Float64Array.from(numbersOf((states.children as Vector[])[0] as Vector));
  const results = new Float64Array(states.length);
  for (let group = 0; group < states.length; group += 1) {
    const sorted = numbers.subarray(offsets[group], offsets[group + 1]).sort();
    const place = (sorted.length - 1) * q;
    const below = sorted[Math.floor(place)] as number;
    results[group] = below + ((sorted[Math.ceil(place)] as number) - below) * (place - Math.floor(place));
  }
  return floats(results, (group) => offsets[group] !== offsets[group + 1]);
}

/** A vector of values of the user's functions. */
export function vectorOfStates(states: readonly unknown[]): Vector {
  return buildVector(states);
}

export function statesOf(vector: Vector): unknown[] {
  const read = valueReader(vector);
  return Array.from({ length: vector.length }, (_, i) => read(i));
}
