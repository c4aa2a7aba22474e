/**
 * Avro's schemas as columns: for each type how its values are read, and which type a column of them has.
 *
 * Values are read as `stored`, the type of the same layout in memory: a day is an int32, a moment an int64. The column then has the type
 * `type` over the same memory. A union of null and a type is that type. Any other union is a struct with a field for each branch, as in
 * Spark, unless one type holds all branches.
 */
import {
  BINARY,
  BOOL,
  DATE,
  type DataType,
  type DecimalType,
  decimalType,
  type Field,
  FLOAT64,
  INT64,
  NULL,
  STRING,
  type TimeUnit,
  timeType,
  unifyTypes,
} from "../../blocks/data-type.ts";
import { decimalText } from "../../blocks/values/decimals.ts";
import { DataError } from "../../errors.ts";
import type { AvroCursor } from "./avro-cursor.ts";

export interface AvroType {
  readonly type: DataType;
  readonly stored: DataType;
  read(cursor: AvroCursor): unknown;
}

interface NamedSchema {
  readonly type?: unknown;
  readonly name?: unknown;
  readonly namespace?: unknown;
  readonly fields?: unknown;
  readonly symbols?: unknown;
  readonly items?: unknown;
  readonly values?: unknown;
  readonly size?: unknown;
  readonly logicalType?: unknown;
  readonly precision?: unknown;
  readonly scale?: unknown;
}

const INT32: DataType = { kind: "int32" };
const FLOAT32: DataType = { kind: "float32" };

function plain(type: DataType, read: AvroType["read"]): AvroType {
  return { type, stored: type, read };
}

const PRIMITIVES: Readonly<Record<string, AvroType>> = {
  null: plain(NULL, () => null),
  boolean: plain(BOOL, (cursor) => cursor.boolean()),
  int: plain(INT32, (cursor) => cursor.long()),
  long: plain(INT64, (cursor) => cursor.long()),
  float: plain(FLOAT32, (cursor) => cursor.float()),
  double: plain(FLOAT64, (cursor) => cursor.double()),
  bytes: plain(BINARY, (cursor) => cursor.take(cursor.count())),
  string: plain(STRING, (cursor) => cursor.text()),
};

/** Logical types by their name and the type below them. */
const LOGICAL: Readonly<Record<string, DataType>> = {
  "date int": DATE,
  "time-millis int": timeType("ms"),
  "time-micros long": timeType("us"),
  ...Object.fromEntries(
    (
      [
        ["millis", "ms"],
        ["micros", "us"],
        ["nanos", "ns"],
      ] as const satisfies readonly (readonly [string, TimeUnit])[]
    ).flatMap(([name, unit]) => [
      [`timestamp-${name} long`, { kind: "timestamp", unit, timeZone: "UTC" }],
      [`local-timestamp-${name} long`, { kind: "timestamp", unit }],
    ]),
  ),
};

/** The type of a schema in JSON. @throws DataError for a schema that the specification does not know */
export function avroType(schema: unknown): AvroType {
  return new SchemaReader().read(schema, "");
}

/** Reads schemas, and knows the named types of those before. */
class SchemaReader {
  readonly #named = new Map<string, AvroType | "open">();

  read(schema: unknown, namespace: string): AvroType {
    if (typeof schema === "string")
      return Object.hasOwn(PRIMITIVES, schema) ? (PRIMITIVES[schema] as AvroType) : this.#known(schema, namespace);
    if (Array.isArray(schema)) return unionType(schema.map((branch) => this.read(branch, namespace)));
    if (typeof schema !== "object" || schema === null) throw new DataError(`its schema has ${JSON.stringify(schema)} in place of a type`);
    const own = schema as NamedSchema;
    switch (own.type) {
      case "record":
      case "error":
      case "enum":
      case "fixed":
        return this.#namedType(own, namespace);
      case "array":
        return listType(this.read(own.items, namespace));
      case "map":
        return mapType(this.read(own.values, namespace));
      default:
        return withMeaning(this.read(own.type, namespace), own, String(own.type));
    }
  }

  #known(name: string, namespace: string): AvroType {
    const found = this.#named.get(name.includes(".") || namespace === "" ? name : `${namespace}.${name}`) ?? this.#named.get(name);
    if (found === "open")
      throw new DataError(`its schema has the type ${JSON.stringify(name)} within itself, and a column has no such type`);
    if (found === undefined) throw new DataError(`its schema has the unknown type ${JSON.stringify(name)}`);
    return found;
  }

  #namedType(schema: NamedSchema, outer: string): AvroType {
    const given = String(schema.name);
    const namespace = given.includes(".")
      ? given.slice(0, given.lastIndexOf("."))
      : typeof schema.namespace === "string"
        ? schema.namespace
        : outer;
    const name = given.includes(".") || namespace === "" ? given : `${namespace}.${given}`;
    this.#named.set(name, "open");
    const type = this.#bodyOf(schema, namespace);
    this.#named.set(name, type);
    return type;
  }

  #bodyOf(schema: NamedSchema, namespace: string): AvroType {
    if (schema.type === "enum") return enumType(schema.symbols);
    if (schema.type === "fixed") return withMeaning(fixedType(schema.size), schema, "fixed");
    if (!Array.isArray(schema.fields)) throw new DataError("its schema has a record without fields");
    return structType(schema.fields.map((field: NamedSchema) => [String(field.name), this.read(field.type, namespace)] as const));
  }
}

function structType(fields: readonly (readonly [name: string, type: AvroType])[]): AvroType {
  const typesBy = (of: "type" | "stored"): readonly Field[] => fields.map(([name, own]) => ({ name, type: own[of] }));
  return {
    type: { kind: "struct", fields: typesBy("type") },
    stored: { kind: "struct", fields: typesBy("stored") },
    read: (cursor) => {
      const row: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
      for (const [name, own] of fields) row[name] = own.read(cursor);
      return row;
    },
  };
}

function listType(of: AvroType): AvroType {
  return {
    type: { kind: "list", of: of.type, as: "array" },
    stored: { kind: "list", of: of.stored, as: "array" },
    read: (cursor) => {
      const values: unknown[] = [];
      cursor.elements(() => values.push(of.read(cursor)));
      return values;
    },
  };
}

/** A map is a list of entries, as in files of Parquet. */
function mapType(values: AvroType): AvroType {
  const entry = structType([
    ["key", PRIMITIVES.string as AvroType],
    ["value", values],
  ]);
  return listType(entry);
}

function enumType(symbols: unknown): AvroType {
  if (!Array.isArray(symbols)) throw new DataError("its schema has an enum without symbols");
  return plain(STRING, (cursor) => {
    const index = cursor.count();
    const symbol: unknown = symbols[index];
    if (typeof symbol !== "string") throw new DataError(`an enum of ${symbols.length} symbols has the index ${index}`);
    return symbol;
  });
}

function fixedType(size: unknown): AvroType {
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0)
    throw new DataError("its schema has a fixed type without a size");
  return plain(BINARY, (cursor) => cursor.take(size));
}

/** The type with the logical type that the schema names. The specification wants unknown ones to be ignored. */
function withMeaning(below: AvroType, { logicalType, precision, scale = 0 }: NamedSchema, base: string): AvroType {
  const known = LOGICAL[`${String(logicalType)} ${base}`];
  if (known !== undefined) return { ...below, type: known };
  if (logicalType !== "decimal" || (base !== "bytes" && base !== "fixed")) return below;
  const isDecimal =
    Number.isSafeInteger(precision) &&
    Number.isSafeInteger(scale) &&
    (precision as number) > 0 &&
    (scale as number) <= (precision as number);
  const type = isDecimal ? decimalType(precision as number, scale as number) : undefined;
  return type === undefined ? below : decimal(below, type);
}

function decimal(below: AvroType, type: DecimalType): AvroType {
  return plain(type, (cursor) => {
    const bytes = below.read(cursor) as Uint8Array;
    const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
    const unscaled = hex === "" ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${hex}`));
    return decimalText(unscaled, type.scale);
  });
}

function unionType(branches: readonly AvroType[]): AvroType {
  const others = branches.filter(({ type }) => type.kind !== "null");
  const pick = (cursor: AvroCursor): AvroType => {
    const index = cursor.count();
    const branch = branches[index];
    if (branch === undefined) throw new DataError(`a union of ${branches.length} types has the index ${index}`);
    return branch;
  };
  const [first, ...more] = others;
  if (first === undefined) return plain(NULL, (cursor) => pick(cursor).read(cursor));
  const isMeant = others.some(({ type, stored }) => type !== stored);
  const one =
    more.length === 0
      ? first.stored
      : isMeant
        ? undefined
        : more.reduce<DataType | undefined>((type, own) => type && unifyTypes(type, own.stored), first.stored);
  if (one !== undefined) return { type: more.length === 0 ? first.type : one, stored: one, read: (cursor) => pick(cursor).read(cursor) };
  const names = others.map((_, i) => `member${i}`);
  const typesBy = (of: "type" | "stored"): readonly Field[] => others.map((own, i) => ({ name: names[i] as string, type: own[of] }));
  return {
    type: { kind: "struct", fields: typesBy("type") },
    stored: { kind: "struct", fields: typesBy("stored") },
    read: (cursor) => {
      const branch = pick(cursor);
      const place = others.indexOf(branch);
      const value = branch.read(cursor);
      return place < 0 ? null : Object.fromEntries(names.map((name, i) => [name, i === place ? value : null]));
    },
  };
}
