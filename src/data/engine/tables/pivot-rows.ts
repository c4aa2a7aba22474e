/**
 * The wide rows of a pivot: merged aggregates of two groupings, of which one becomes columns.
 *
 * The exchange brings the rows of each group together, and their aggregates are few. So memory follows the results, however many rows there were.
 */
import type { Aggregates } from "../../aggregates/group-aggregate.ts";
import { type Block, columnReader, takeBlock, vectorOf } from "../../blocks/block.ts";
import { isNumberKind, typeName } from "../../blocks/data-type.ts";
import { NO_ROW, takeVectorOrNull, type Vector } from "../../blocks/vector.ts";
import { DataError } from "../../errors.ts";
import { groupRows, keyVectors } from "../../kernels/hash.ts";

/** A value of the column that becomes columns. */
export type PivotValue = string | number | bigint | boolean | null;

export interface PivotAggregates {
  readonly kind: "pivotAggregates";
  readonly name: string;
  readonly keys: readonly string[];
  readonly on: string;
  readonly values: readonly PivotValue[];
  readonly aggregates: Aggregates;
  /** Whether names of aggregates stand before those of the values. */
  readonly hasNames: boolean;
}

/** Name of the column of an aggregate and a value. */
export function pivotName(aggregate: string, value: PivotValue, hasNames: boolean): string {
  return hasNames ? `${aggregate}_${String(value)}` : String(value);
}

/** Numbers and bigints of one value are the same, as columns of whole numbers may give either. */
export function pivotPlace(value: unknown): string {
  return typeof value === "bigint" || typeof value === "number" ? `number ${String(value)}` : `${typeof value} ${String(value)}`;
}

/**
 * Makes a row for each group of the keys.
 *
 * @param merged - a row for each group of the keys and the column `on`
 * @throws DataError for a column `on` whose values have no names
 */
export function pivotRows(merged: Block, { name, keys, on, values, aggregates, hasNames }: PivotAggregates): Block {
  const columnOn = vectorOf(merged, on) as Vector;
  if (!hasNamedValues(columnOn))
    throw new DataError(
      `Cannot run ${name}: texts, numbers or booleans become columns: column ${JSON.stringify(on)} has the type ${typeName(columnOn.type)}`,
      { hint: `cast it before: withColumn(${JSON.stringify(on)}, col(${JSON.stringify(on)}).cast("string"))` },
    );
  const { ids, firstRows } = groupRows(keyVectors(merged, keys, "group by"), merged.rowCount);
  const places = new Map(values.map((value, place) => [pivotPlace(value), place]));
  const rowsOfValue = values.map(() => new Uint32Array(firstRows.length).fill(NO_ROW));
  const read = columnReader(on, columnOn);
  for (let row = 0; row < merged.rowCount; row += 1) {
    const place = places.get(pivotPlace(read(row)));
    if (place !== undefined) (rowsOfValue[place] as Uint32Array)[ids[row] as number] = row;
  }
  const index = takeBlock({ rowCount: merged.rowCount, names: keys, vectors: keyVectors(merged, keys, "group by") }, firstRows);
  const names = aggregates.flatMap(([own]) => values.map((value) => pivotName(own, value, hasNames)));
  const vectors = aggregates.flatMap(([own]) => {
    const vector = vectorOf(merged, own) as Vector;
    return rowsOfValue.map((rows) => takeVectorOrNull(vector, rows));
  });
  return { rowCount: firstRows.length, names: [...keys, ...names], vectors: [...index.vectors, ...vectors] };
}

const NAMED: ReadonlySet<string> = new Set(["string", "dictionary", "bool", "int64", "uint64", "null"]);

function hasNamedValues({ type }: Vector): boolean {
  return isNumberKind(type.kind) || NAMED.has(type.kind);
}
