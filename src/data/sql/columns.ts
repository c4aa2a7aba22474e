/**
 * Rows of a query as a block: the types of columns come from the option `schema`, from PostgreSQL's types, or from the values.
 *
 * Whole numbers of SQLite come as bigints, since its columns have no type of their own: a column of them is `int64`, and float64 beside
 * other numbers.
 */
import { type Block, columnOfRows, nameOfRow } from "../blocks/block.ts";
import { BIG_INT64, BINARY, BOOL, DATE, type DataType, decimalType, FLOAT64, INT64, NULL, parseType, STRING } from "../blocks/data-type.ts";
import { buildVector, MisfitError } from "../blocks/vector-builder.ts";
import type { Vector } from "../blocks/vector.ts";
import type { SqlField } from "./connection.ts";

/** PostgreSQL's numbers of types. */
const POSTGRES: Readonly<Record<number, DataType>> = {
  16: BOOL,
  17: BINARY,
  20: INT64,
  21: { kind: "int16" },
  23: { kind: "int32" },
  25: STRING,
  700: { kind: "float32" },
  701: FLOAT64,
  1043: STRING,
  1082: DATE,
};
const NUMERIC = 1700;

/** The block of rows. */
export function blockOfSql(
  rows: readonly Readonly<Record<string, unknown>>[],
  fields: readonly SqlField[] | undefined,
  schema: Readonly<Record<string, string>>,
): Block {
  const known = fields ?? Object.keys(rows[0] ?? {}).map((name) => ({ name }));
  const vectors = known.map((field) => {
    const { name } = field;
    const text = Object.hasOwn(schema, name) ? schema[name] : undefined;
    const type = text === undefined ? typeOfField(field) : parseType(text);
    return columnOfRows(name, "readSql", nameOfRow, () =>
      vectorOfSql(
        rows.map((row) => row[name]),
        type,
      ),
    );
  });
  return { rowCount: rows.length, names: known.map(({ name }) => name), vectors };
}

function typeOfField({ dataTypeID, dataTypeModifier = -1 }: SqlField): DataType | undefined {
  if (dataTypeID !== NUMERIC) return dataTypeID === undefined ? undefined : POSTGRES[dataTypeID];
  // The modifier of numeric(precision, scale); a plain numeric has any number of digits, and stays a text.
  const digits = dataTypeModifier - 4;
  return digits < 0 ? undefined : decimalType(digits >> 16, digits & 0x7ff);
}

function vectorOfSql(values: readonly unknown[], type: DataType | undefined): Vector {
  if (type === undefined) return inferred(values);
  return wideWhereNeeded(
    values.map((value, row) => valueFor(value, type, row)),
    type,
  );
}

/** Whole numbers of 64 bits are read as bigints where one is beyond 2^53. */
function wideWhereNeeded(values: readonly unknown[], type: DataType): Vector {
  const isWide = type.kind === "int64" && values.some((value) => typeof value === "bigint" && !Number.isSafeInteger(Number(value)));
  return buildVector(values, isWide ? BIG_INT64 : type);
}

function inferred(values: readonly unknown[]): Vector {
  const present = values.filter((value) => value !== null && value !== undefined);
  if (present.length === 0) return buildVector(values, NULL);
  if (present.every((value) => typeof value === "bigint")) return wideWhereNeeded(values, INT64);
  const isNumeric = present.every((value) => typeof value === "bigint" || typeof value === "number");
  if (!isNumeric) return buildVector(values);
  const row = values.findIndex((value) => typeof value === "bigint" && !Number.isSafeInteger(Number(value)));
  if (row >= 0) throw new MisfitError(row, `is ${String(values[row])}, and numbers beyond 2^53 would be rounded among others`);
  return buildVector(
    values.map((value) => (typeof value === "bigint" ? Number(value) : value)),
    FLOAT64,
  );
}

const MS_PER_DAY = 86_400_000;

/** The value in the form that its column takes. */
function valueFor(value: unknown, type: DataType, row: number): unknown {
  if (value === null || value === undefined) return null;
  if (type.kind === "date") return dayOf(value);
  if (type.kind === "timestamp" && typeof value === "string") return new Date(value);
  if (type.kind === "bool" && (typeof value === "bigint" || typeof value === "number")) return value !== 0 && value !== 0n;
  if (type.kind === "decimal" && (typeof value === "bigint" || typeof value === "number")) return String(value);
  if (type.kind === "string" && typeof value !== "string") return typeof value === "bigint" ? String(value) : JSON.stringify(value);
  const isWhole = /^u?int\d+$/.test(type.kind);
  if (isWhole && typeof value === "string") {
    if (!/^-?\d+$/.test(value)) throw new MisfitError(row, `is ${JSON.stringify(value)}, which is no whole number`);
    return type.kind.endsWith("64") ? BigInt(value) : Number(value);
  }
  if (typeof value === "bigint" && !type.kind.endsWith("int64")) return Number(value);
  if (type.kind.startsWith("float") && typeof value === "string") return Number(value);
  return value;
}

/** A day as midnight UTC. Drivers give texts, midnights UTC (PGlite), or midnights of this process's zone (pg). */
function dayOf(value: unknown): unknown {
  if (typeof value === "string") return new Date(`${value.slice(0, 10)}T00:00:00Z`);
  if (!(value instanceof Date) || value.getTime() % MS_PER_DAY === 0) return value;
  return new Date(Date.UTC(value.getFullYear(), value.getMonth(), value.getDate()));
}
