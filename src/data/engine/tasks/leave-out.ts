/**
 * Leaves out the rows whose ids an earlier run has recorded. Directly behind the source of a write with a checkpoint.
 *
 * A worker keeps the table of the run that it works for, as all tasks need the same one. A task that meets a recorded id twice fails: one of the two rows
 * was never written. Tasks know nothing of each other's rows, so such a pair in two tasks is not noticed.
 */
import { get, type ObjectRef } from "../../../core/index.ts";
import { type Block, columnReader, takeBlock, vectorOf } from "../../blocks/block.ts";
import { keepOrigin } from "../../blocks/memory/origin.ts";
import { type DataType, typeName } from "../../blocks/data-type.ts";
import { type Vector, widenVector } from "../../blocks/vector.ts";
import { idsIn, sharedId, withoutIds } from "../../checkpoint/written-ids.ts";
import { DataError } from "../../errors.ts";
import { NO_GROUP } from "../../kernels/hash.ts";
import { KeyTable } from "../../kernels/key-table.ts";

export interface LeaveOutTransform {
  readonly kind: "leaveOut";
  readonly name: string;
  readonly idColumn: string;
  readonly runId: string;
  /** The recorded ids. Undefined: none. */
  readonly recorded: ObjectRef<Block> | undefined;
}

interface RecordedTable {
  readonly runId: string;
  readonly type: DataType;
  readonly table: KeyTable;
}

let kept: RecordedTable | undefined;

export async function* leaveOut(
  blocks: AsyncIterable<Block>,
  { idColumn, runId, recorded }: LeaveOutTransform,
): AsyncGenerator<Block, void, undefined> {
  const met = new Set<number>();
  for await (const block of blocks) {
    const vector = vectorOf(block, idColumn);
    if (vector === undefined && block.names.length > 0) throw withoutIds(idColumn, block);
    yield vector === undefined || recorded === undefined || block.rowCount === 0
      ? block
      : remaining(block, { ids: idsIn(idColumn, vector), idColumn, met }, await tableOf(idColumn, runId, recorded));
  }
}

interface MetIds {
  readonly ids: Vector;
  readonly idColumn: string;
  /** The recorded ids that this task has met. */
  readonly met: Set<number>;
}

/** @throws DataError for ids of another type, and for a recorded id that another row of the task has, too */
function remaining(block: Block, { ids, idColumn, met }: MetIds, { type, table }: RecordedTable): Block {
  if (ids.type.kind !== type.kind && ids.type.kind !== "null")
    throw new DataError(
      `Cannot resume: the recorded ids are of the type ${typeName(type)}: received ids of the type ${typeName(ids.type)}`,
      {
        hint: "read the source with the types of before, or give another path, which begins anew",
      },
    );
  const groups = table.find([widenVector(ids, type)], block.rowCount);
  const rows = new Uint32Array(block.rowCount);
  let count = 0;
  for (let row = 0; row < rows.length; row += 1) {
    const group = groups[row] as number;
    if (group === NO_GROUP) rows[count++] = row;
    else if (met.has(group)) throw sharedId(idColumn, columnReader(idColumn, ids)(row));
    else met.add(group);
  }
  if (count === block.rowCount) return block;
  const taken = rows.subarray(0, count);
  return keepOrigin(takeBlock(block, taken), block, (row) => [taken[row] as number, taken[row] as number]);
}

async function tableOf(idColumn: string, runId: string, recorded: ObjectRef<Block>): Promise<RecordedTable> {
  if (kept?.runId === runId) return kept;
  const block = await get(recorded);
  const vector = vectorOf(block, idColumn) as Vector;
  kept = { runId, type: vector.type, table: new KeyTable([vector], block.rowCount) };
  return kept;
}
