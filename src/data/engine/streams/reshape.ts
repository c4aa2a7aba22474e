/**
 * Steps that make several rows of one, block by block: the elements of a list, or the values of several columns.
 *
 * Both say where each new row comes from, and take whole columns by that. No value becomes a JavaScript value on the way, so types stay as
 * they are.
 */
import { type Block, takeBlock, vectorOf } from "../../blocks/block.ts";
import { type DataType, STRING, typeName, unifyTypes } from "../../blocks/data-type.ts";
import {
  concatVectors,
  decodeVector,
  isNull,
  NO_ROW,
  takeVector,
  takeVectorOrNull,
  type Vector,
  widenVector,
} from "../../blocks/vector.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";

export type ReshapeTransform =
  | { readonly kind: "explode"; readonly name: string; readonly column: string }
  | {
      readonly kind: "unpivot";
      readonly name: string;
      readonly on: readonly string[];
      readonly nameColumn: string;
      readonly valueColumn: string;
    };

/** The rows of a block in their new form. @throws DataError for a column that does not exist, or is of another type */
export function reshaped(block: Block, transform: ReshapeTransform): Block {
  return transform.kind === "explode" ? exploded(block, transform) : unpivoted(block, transform);
}

function columnOf(name: string, block: Block, column: string): Vector {
  const vector = vectorOf(block, column);
  if (vector !== undefined) return vector;
  throw new DataError(`Cannot run ${name}: there is no column ${JSON.stringify(column)}`, { hint: `there are ${block.names.join(", ")}` });
}

/** A row for each element; one row, with a null, for a null and for an empty list. */
function exploded(block: Block, { name, column }: Extract<ReshapeTransform, { kind: "explode" }>): Block {
  const vector = columnOf(name, block, column);
  if (vector.type.kind === "null") return block;
  const [elements] = vector.children ?? [];
  if (vector.type.kind !== "list" || elements === undefined)
    throw new DataError(`Cannot run ${name}: column ${JSON.stringify(column)} has the type ${typeName(vector.type)}, and a list is needed`);
  const offsets = vector.offsets as Int32Array;
  const rows: number[] = [];
  const places: number[] = [];
  for (let row = 0; row < block.rowCount; row += 1) {
    const [start, end] = isNull(vector, row) ? [0, 0] : [offsets[row] as number, offsets[row + 1] as number];
    for (let place = start; place < end; place += 1) {
      rows.push(row);
      places.push(place);
    }
    if (start < end) continue;
    rows.push(row);
    places.push(NO_ROW);
  }
  const others = takeBlock(block, Uint32Array.from(rows));
  const values = takeVectorOrNull(elements, Uint32Array.from(places));
  return { ...others, vectors: others.vectors.map((own, i) => (others.names[i] === column ? values : own)) };
}

/** A row for each of the columns, in their order: its name, and its value. */
function unpivoted(block: Block, { name, on, nameColumn, valueColumn }: Extract<ReshapeTransform, { kind: "unpivot" }>): Block {
  const vectors = on.map((column) => decodeVector(columnOf(name, block, column)));
  const type = vectors.reduce<DataType>(
    (all, own, i) => {
      const unified = unifyTypes(all, own.type);
      if (unified !== undefined) return unified;
      throw new DataError(
        `Cannot run ${name}: column ${JSON.stringify(on[i])} is ${typeName(own.type)}, and those before are ${typeName(all)}`,
        {
          hint: "cast them to one type before",
        },
      );
    },
    { kind: "null" },
  );
  const kept = block.names.filter((own) => !on.includes(own));
  const taken = kept.find((own) => own === nameColumn || own === valueColumn);
  if (taken !== undefined)
    throw new DataError(`Cannot run ${name}: there is a column ${JSON.stringify(taken)} already`, {
      hint: "choose nameColumn and valueColumn",
    });
  const { rowCount } = block;
  const rows = Uint32Array.from({ length: rowCount * on.length }, (_, i) => Math.floor(i / on.length));
  const places = rows.map((row, i) => (i % on.length) * rowCount + row);
  const values = takeVector(concatVectors(vectors.map((vector) => widenVector(vector, type))), places);
  const names = takeVector(
    buildVector(on, STRING),
    rows.map((_, i) => i % on.length),
  );
  const own = kept.map((column) => takeVector(columnOf(name, block, column), rows));
  return { rowCount: rows.length, names: [...kept, nameColumn, valueColumn], vectors: [...own, names, values] };
}
