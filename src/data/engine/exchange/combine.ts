/**
 * How rows of several inputs become rows of all: by equal keys, as a join, by the nearest keys, or by their numbers, as a zip. Runs in the tasks of an exchange, a partition each.
 *
 * The rows of a partition of a zip have the same numbers in all inputs, since those have equally many rows; the exchange has seen to that.
 */
import { type Block, concatBlocks } from "../../blocks/block.ts";
import { DataError } from "../../errors.ts";
import { type Join, joinBlocks, wholeSides } from "../tables/join.ts";
import { type JoinAsof, joinAsofBlocks } from "../tables/join-asof.ts";

export type Combine = Join | JoinAsof | Zip;

interface Zip {
  readonly kind: "zip";
  readonly name: string;
}

/** The inputs of which every task may have all rows, with any rows of the other one. */
export function wholeInputsOf(combine: Combine | undefined): readonly number[] {
  if (combine?.kind === "join") return wholeSides(combine.type);
  return combine?.kind === "joinAsof" ? [1] : [];
}

/** @param inputs - the blocks of the partition, by input */
export function combineBlocks(combine: Combine, inputs: readonly (readonly Block[])[]): Iterable<Block> {
  if (combine.kind === "zip") return [zipBlocks(combine, inputs)];
  const [left = [], right = []] = inputs;
  return combine.kind === "join" ? joinBlocks(combine, left, right) : joinAsofBlocks(combine, left, right);
}

/** A name that an earlier input has gets a number behind it, from `_1` on, as in Ray. */
function zipBlocks({ name }: Zip, inputs: readonly (readonly Block[])[]): Block {
  const sides = inputs.map(concatBlocks);
  const rowCount = sides[0]?.rowCount ?? 0;
  if (sides.some((side) => side.rowCount !== rowCount))
    throw new DataError(`Cannot run ${name}: the inputs have ${sides.map((side) => side.rowCount).join(" and ")} rows in one partition`);
  const names = new Set<string>();
  for (const column of sides.flatMap((side) => side.names)) names.add(freeName(column, names));
  return { rowCount, names: [...names], vectors: sides.flatMap((side) => side.vectors) };
}

function freeName(column: string, names: ReadonlySet<string>): string {
  let free = column;
  for (let i = 1; names.has(free); i += 1) free = `${column}_${i}`;
  return free;
}
