/**
 * States that are lists: all values of a group, or the distinct ones.
 *
 * A list keeps the order of the rows. Lists of one group are joined by taking their elements apart, each with its group, and collecting them again.
 */
import { isNull, takeVector, type Vector } from "../blocks/vector.ts";
import { groupRows } from "../kernels/hash.ts";
import { rowsByPart } from "../kernels/partition.ts";
import { type Grouping, integers, type Kernel } from "./kernel.ts";

/** All values, or those that are not null, a list a group, in the order of the rows. */
function collect(vector: Vector, { ids, count }: Grouping, ignoreNulls: boolean): Vector {
  const isValue = (row: number): boolean => !ignoreNulls || vector.nullCount === 0 || !isNull(vector, row);
  // Rows without a value are a part of their own, behind the others.
  const { rows, starts } = rowsByPart(
    ids.map((id, row) => (isValue(row) ? id : count)),
    count + 1,
  );
  const offsets = Int32Array.from(starts.subarray(0, count + 1));
  const order = rows.subarray(0, starts[count]);
  return listsOf(offsets, takeVector(vector, order));
}

export function listsOf(offsets: Int32Array, elements: Vector): Vector {
  const type = { kind: "list", of: elements.type, as: "array" } as const;
  return { type, length: offsets.length - 1, nullCount: 0, bitOffset: 0, offsets, children: [elements] };
}

/** The elements of lists, and the group of each. */
export function flatten(states: Vector, { ids, count }: Grouping): { elements: Vector; groups: Grouping } {
  const offsets = states.offsets as Int32Array;
  const elements = takeAllElements(states);
  const own = new Uint32Array(elements.length);
  for (let row = 0, at = 0; row < states.length; row += 1)
    for (let i = offsets[row] as number; i < (offsets[row + 1] as number); i += 1) own[at++] = ids[row] as number;
  return { elements, groups: { ids: own, count } };
}

function takeAllElements(states: Vector): Vector {
  const offsets = states.offsets as Int32Array;
  const begin = offsets[0] as number;
  const length = (offsets[states.length] as number) - begin;
  const child = (states.children as Vector[])[0] as Vector;
  return takeVector(
    child,
    Uint32Array.from({ length }, (_, i) => begin + i),
  );
}

export const lists = (ignoreNulls: boolean): Omit<Kernel, "finalize"> => ({
  accumulate: (vector, groups) => [collect(vector, groups, ignoreNulls)],
  merge: ([states], groups) => {
    const { elements, groups: own } = flatten(states as Vector, groups);
    return [collect(elements, own, ignoreNulls)];
  },
});

/** Collects the first of all rows with the same group and value. */
function collectDistinct(vector: Vector, groups: Grouping, ignoreNulls: boolean): Vector {
  const { ids } = groups;
  const keys: Vector = { type: { kind: "uint32" }, length: ids.length, nullCount: 0, bitOffset: 0, values: ids };
  const { firstRows } = groupRows([keys, vector], ids.length);
  const own = { ids: Uint32Array.from(firstRows, (row) => ids[row] as number), count: groups.count };
  return collect(takeVector(vector, firstRows), own, ignoreNulls);
}

export const distinct = (ignoreNulls: boolean): Omit<Kernel, "finalize"> => ({
  accumulate: (vector, groups) => [collectDistinct(vector, groups, ignoreNulls)],
  merge: ([states], groups) => {
    const { elements, groups: own } = flatten(states as Vector, groups);
    return [collectDistinct(elements, own, ignoreNulls)];
  },
});

export function lengths(states: Vector): Vector {
  const offsets = states.offsets as Int32Array;
  return integers(Float64Array.from({ length: states.length }, (_, group) => (offsets[group + 1] as number) - (offsets[group] as number)));
}
