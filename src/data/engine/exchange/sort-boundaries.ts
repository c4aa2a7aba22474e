/**
 * The user's boundaries of a sort: values of the first key, as rows of that column's type and in the order of the sort.
 *
 * The type is known only once blocks have come, so a boundary that does not fit the column is an error of the run.
 */
import { describeValue } from "../../../core/internal.ts";
import { type Block, blockOfRows, takeBlock, unifySchemas, schemaOf } from "../../blocks/block.ts";
import { type DataType, type Field, typeName } from "../../blocks/data-type.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";
import { type SortKey, sortedIndices } from "../../kernels/sort.ts";

type Boundaries = readonly (number | bigint | string | Date)[];

/** @throws DataError for values of another type than the column */
export function bordersOf(boundaries: Boundaries, key: SortKey, fields: readonly Field[]): Block {
  const type = fields.find(({ name }) => name === key.column)?.type;
  try {
    const borders = blockOf(wholeBoundaries(boundaries, key, type), key.column, type);
    if (type !== undefined) unifySchemas([[{ name: key.column, type }], schemaOf(borders)]);
    return takeBlock(borders, sortedIndices(borders, [key]));
  } catch {
    const given = boundaries.map((value) => (value instanceof Date ? value.toISOString() : describeValue(value))).join(", ");
    throw new DataError(
      `Cannot sort by ${JSON.stringify(key.column)} with boundaries ${given}: the column is ${typeName(type as DataType)}`,
      {
        hint: "give values of the column's type",
      },
    );
  }
}

/**
 * Turns the boundaries of a 64-bit integer column into such integers between the same rows, because doubles would round the column. Numbers that a double
 * does not hold exactly stay unchanged.
 */
function wholeBoundaries(boundaries: Boundaries, { descending }: SortKey, type: DataType | undefined): Boundaries {
  const isWide = (type?.kind === "int64" || type?.kind === "uint64") && type.as !== "bigint";
  const least = type?.kind === "uint64" ? 0 : Number.MIN_SAFE_INTEGER;
  const isExact = (value: Boundaries[number]): value is number =>
    typeof value === "number" && value >= least && value <= Number.MAX_SAFE_INTEGER;
  if (!isWide || !boundaries.every(isExact)) return boundaries;
  return boundaries.map((value) => BigInt(descending ? Math.floor(value) : Math.ceil(value)));
}

function blockOf(boundaries: Boundaries, column: string, type: DataType | undefined): Block {
  // Numbers may lie between those of the column: 2.5 between whole ones. Among bigints they may not.
  const isBigint = type !== undefined && "as" in type && type.as === "bigint";
  if (type === undefined || type.kind === "null" || (type.kind !== "decimal" && !isBigint && typeof boundaries[0] === "number"))
    return blockOfRows(
      boundaries.map((value) => ({ [column]: value })),
      "sort",
    );
  const values =
    type.kind === "decimal"
      ? boundaries.map(String)
      : isBigint
        ? boundaries.map((value) => (typeof value === "number" ? BigInt(value) : value))
        : boundaries;
  return { rowCount: values.length, names: [column], vectors: [buildVector(values, type)] };
}
