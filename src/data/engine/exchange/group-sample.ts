/**
 * Random samples of each group: the rows whose random numbers are the least of their group.
 *
 * A number comes from the seed and the number of the row, so the same rows are taken however they lie in blocks. Where a number of rows is asked for, each
 * block keeps only that many of each group: groups may be larger than memory then.
 */
import { type Block, takeBlock, vectorOf } from "../../blocks/block.ts";
import { keepOrigin } from "../../blocks/memory/origin.ts";
import type { Vector } from "../../blocks/vector.ts";
import { ROW_NUMBER } from "../../expressions/nodes.ts";
import { groupRows, keyVectors } from "../../kernels/hash.ts";
import { rowsByPart } from "../../kernels/partition.ts";
import { hashNumber } from "../../kernels/random.ts";
import { withoutColumn } from "./bins.ts";

/** The size of a sample, and which groups it is taken of. */
interface GroupSample {
  readonly name: string;
  readonly keys: readonly string[];
  /** Rows of each group. Undefined: the fraction says. */
  readonly rows: number | undefined;
  /** The part of each group, from 0 to 1. */
  readonly fraction: number | undefined;
}

/** Gives rows their random numbers, and leaves out those that no sample takes. Before an exchange, in a numbered step. */
export type DrawTransform = GroupSample & { readonly kind: "drawInBlock"; readonly seed: number };

/** Takes the sample of whole groups. */
export type SampleGroupsTransform = GroupSample & { readonly kind: "sampleGroups" };

const HIDDEN_DRAW = "\0draw";

export function drawInBlock(block: Block, { keys, rows, seed }: DrawTransform): Block {
  const numbers = vectorOf(block, ROW_NUMBER)?.values as Float64Array | undefined;
  const values = new Uint32Array(block.rowCount);
  for (let row = 0; row < values.length; row += 1) values[row] = hashNumber(seed, numbers?.[row] as number);
  const draws: Vector = { type: { kind: "uint32" }, length: values.length, nullCount: 0, bitOffset: 0, values };
  const drawn = { rowCount: block.rowCount, names: [...block.names, HIDDEN_DRAW], vectors: [...block.vectors, draws] };
  const { ids, firstRows } = groupRows(keyVectors(block, keys, "group by"), block.rowCount);
  if (rows === undefined) return drawn;
  const taken = leastOfGroups(values, { ids, count: firstRows.length }, () => rows);
  if (taken.length === block.rowCount) return drawn;
  return keepOrigin(takeBlock(drawn, taken), block, (row) => [taken[row] as number, taken[row] as number]);
}

export function sampleGroups(block: Block, { keys, rows, fraction = 0 }: SampleGroupsTransform): Block {
  const draws = vectorOf(block, HIDDEN_DRAW)?.values as Uint32Array;
  const { ids, firstRows } = groupRows(keyVectors(block, keys, "group by"), block.rowCount);
  const taken = leastOfGroups(draws, { ids, count: firstRows.length }, (size) => rows ?? Math.round(size * fraction));
  return withoutColumn(takeBlock(block, taken), HIDDEN_DRAW);
}

/** The columns of a sample without rows. */
export function withoutDraws(block: Block): Block {
  return withoutColumn(block, HIDDEN_DRAW);
}

/**
 * The numbers of the rows with the least draws of each group, in their order. Of equal draws the earlier row comes first.
 *
 * @param rowsOf - how many rows a group of a size gives
 */
function leastOfGroups(
  draws: Uint32Array,
  { ids, count }: { readonly ids: Uint32Array; readonly count: number },
  rowsOf: (size: number) => number,
): Uint32Array {
  const { rows, starts } = rowsByPart(ids, count);
  const taken: Uint32Array[] = [];
  for (let group = 0; group < count; group += 1) {
    const own = rows.slice(starts[group], starts[group + 1]);
    const size = rowsOf(own.length);
    taken.push(size >= own.length ? own : own.sort((a, b) => (draws[a] as number) - (draws[b] as number) || a - b).subarray(0, size));
  }
  const all = new Uint32Array(taken.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const own of taken) {
    all.set(own, at);
    at += own.length;
  }
  return all.sort();
}
