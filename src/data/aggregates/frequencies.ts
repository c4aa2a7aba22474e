/**
 * Counts each value of a column: exactly for all values, or approximately for the frequent ones.
 *
 * The states are two lists of equal lengths, distinct values and their counts. The approximate form (Misra and Gries; kept as in Anderson et al., "A
 * High-Performance Algorithm for Identifying Frequent Items in Data Streams", 2017, which Apache DataSketches uses) has room for a fixed number of values.
 * When the room is full, the median of the counts is subtracted from all, and values with nothing left go. A count is then too small by about 2 / room of all
 * rows at most, and never too large.
 */
import type { DataType } from "../blocks/data-type.ts";
import { isNull, takeVector, type Vector } from "../blocks/vector.ts";
import { groupRows } from "../kernels/hash.ts";
import { rowsByPart } from "../kernels/partition.ts";
import { floats, type Grouping, integers, type Kernel } from "./kernel.ts";
import { flatten, listsOf } from "./list-states.ts";

/** @param room - how many values of a group are counted; undefined: all */
function frequencies(room: number | undefined): Omit<Kernel, "finalize"> {
  return {
    accumulate: (values, groups) => counted(values, undefined, groups, room),
    merge: ([values, counts], groups) => {
      const { elements, groups: own } = flatten(values as Vector, groups);
      const { elements: weights } = flatten(counts as Vector, groups);
      return counted(elements, weights.values as Float64Array, own, room);
    },
  };
}

/** The distinct values of each group and their counts, the frequent ones first, and of equally frequent ones those that came first. */
function counted(values: Vector, weights: Float64Array | undefined, { ids, count }: Grouping, room: number | undefined): Vector[] {
  const groupNumbers: Vector = { type: { kind: "uint32" }, length: ids.length, nullCount: 0, bitOffset: 0, values: ids };
  const { ids: distinct, firstRows } = groupRows([groupNumbers, values], ids.length);
  const totals = new Float64Array(firstRows.length);
  for (let row = 0; row < distinct.length; row += 1) {
    const value = distinct[row] as number;
    totals[value] = (totals[value] as number) + (weights?.[row] ?? 1);
  }
  // Nulls are not counted: they go to a separate part behind the groups.
  const parts = Uint32Array.from(firstRows, (row) => (isNull(values, row) ? count : (ids[row] as number)));
  const { rows: order, starts } = rowsByPart(parts, count + 1);
  const offsets = new Int32Array(count + 1);
  const kept: number[] = [];
  for (let group = 0; group < count; group += 1) {
    const own = order.subarray(starts[group], starts[group + 1]).sort((a, b) => (totals[b] as number) - (totals[a] as number) || a - b);
    const tooMany = room !== undefined && own.length > room;
    const taken = tooMany ? (totals[own[own.length >> 1] as number] as number) : 0;
    for (const value of own) {
      const total = (totals[value] as number) - taken;
      if (total <= 0) break;
      totals[value] = total;
      kept.push(value);
    }
    offsets[group + 1] = kept.length;
  }
  const found = takeVector(
    values,
    Uint32Array.from(kept, (value) => firstRows[value] as number),
  );
  return [listsOf(offsets, found), listsOf(offsets, floats(Float64Array.from(kept, (value) => totals[value] as number)))];
}

function wholeCounts(lists: Vector): Vector {
  const [counts] = lists.children as [Vector];
  return {
    ...lists,
    type: { kind: "list", of: { kind: "int64", as: "number" }, as: "array" },
    children: [integers(counts.values as Float64Array)],
  };
}

/** Gives `{ values, counts }`. */
export const valueCounts: Kernel = {
  ...frequencies(undefined),
  finalize: ([values, counts]) => {
    const [own, whole] = [values as Vector, wholeCounts(counts as Vector)];
    const fields = [
      { name: "values", type: own.type },
      { name: "counts", type: whole.type },
    ];
    return { type: { kind: "struct", fields }, length: own.length, nullCount: 0, bitOffset: 0, children: [own, whole] };
  },
};

/** Gives the first `k` as `{ value, count }`. */
export function frequentValues(k: number, room: number): Kernel {
  return {
    ...frequencies(room),
    finalize: ([values, counts]) => {
      const given = (values as Vector).offsets as Int32Array;
      const offsets = new Int32Array(given.length);
      const kept: number[] = [];
      for (let group = 0; group + 1 < given.length; group += 1) {
        const begin = given[group] as number;
        const end = Math.min(begin + k, given[group + 1] as number);
        for (let i = begin; i < end; i += 1) kept.push(i);
        offsets[group + 1] = kept.length;
      }
      const rows = Uint32Array.from(kept);
      const [value] = (values as Vector).children as [Vector];
      const [count] = wholeCounts(counts as Vector).children as [Vector];
      const children = [takeVector(value, rows), takeVector(count, rows)];
      const type: DataType = {
        kind: "struct",
        fields: [
          { name: "value", type: value.type },
          { name: "count", type: count.type },
        ],
      };
      return listsOf(offsets, { type, length: rows.length, nullCount: 0, bitOffset: 0, children });
    },
  };
}
