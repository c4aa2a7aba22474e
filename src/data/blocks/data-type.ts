/**
 * The types of columns: kinds of values and their layout in memory.
 *
 * These are Arrow's types under Arrow's names, one kind for each memory layout. A type is plain data, so it travels with its block. `schema()` shows its text
 * form, such as `list<int64>`, and the option `schema` takes it.
 */

/** Kinds without parameters whose values lie in one typed array each. */
const NUMBER_KINDS = ["int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float64"] as const;
const WIDE_KINDS = ["int64", "uint64"] as const;
const PLAIN_KINDS = ["null", "bool", "string", "binary", "date"] as const;
const UNITS = ["s", "ms", "us", "ns"] as const;

export type NumberKind = (typeof NUMBER_KINDS)[number];
type WideKind = (typeof WIDE_KINDS)[number];
export type TimeUnit = (typeof UNITS)[number];

/**
 * The type of a column.
 *
 * - `int64` and `uint64` are read as numbers unless `as` says `bigint`. A value beyond 2^53 of a column that is read as numbers is an error, never a rounded number.
 * - `date` is a day, a 32-bit count of days since 1970-01-01.
 * - `timestamp` is a 64-bit count of `unit` since 1970-01-01 UTC.
 * - `time32` and `time64` are times of day: counts of `unit` since midnight, of 32 bits for seconds and milliseconds, of 64 for finer ones.
 * - `duration` is a 64-bit count of `unit`.
 * - `decimal` is a whole number of 128 or 256 bits with `scale` digits behind the point. It is read as exact text unless `as` says `number`.
 * - `list` is read as an array, or as a typed array where it was made of typed arrays.
 * - `tensor` is an array of one shape in each row, row-major.
 * - `struct` as `tensor` is an array in each row whose shapes differ: its elements, as a list, and its shape.
 * - `dictionary` has each value once, and for each row the value's place. Only whole columns have it, never parts of lists and structs.
 */
export type DataType =
  | { readonly kind: NumberKind | (typeof PLAIN_KINDS)[number] }
  | { readonly kind: (typeof WIDE_KINDS)[number]; readonly as: "number" | "bigint" }
  | { readonly kind: "timestamp"; readonly unit: TimeUnit; readonly timeZone?: string }
  | { readonly kind: "time32" | "time64"; readonly unit: TimeUnit }
  | { readonly kind: "duration"; readonly unit: TimeUnit }
  | {
      readonly kind: "decimal";
      readonly precision: number;
      readonly scale: number;
      readonly bits: 128 | 256;
      readonly as: "text" | "number";
    }
  | { readonly kind: "list"; readonly of: DataType; readonly as: "array" | "typed array" }
  | { readonly kind: "struct"; readonly fields: readonly Field[]; readonly as?: "tensor" }
  | { readonly kind: "tensor"; readonly of: { readonly kind: NumberKind | WideKind }; readonly shape: readonly number[] }
  | { readonly kind: "dictionary"; readonly of: { readonly kind: "string" | "binary" } };

/** A named column of a schema, or a named part of a struct. */
export interface Field {
  readonly name: string;
  readonly type: DataType;
}

export const NULL: DataType = { kind: "null" };
export const BOOL: DataType = { kind: "bool" };
export const FLOAT64 = { kind: "float64" } as const;
export const INT64: DataType = { kind: "int64", as: "number" };
export const BIG_INT64: DataType = { kind: "int64", as: "bigint" };
export const STRING: DataType = { kind: "string" };
export const BINARY: DataType = { kind: "binary" };
export const DATE: DataType = { kind: "date" };
export const TIMESTAMP_MS: DataType = { kind: "timestamp", unit: "ms" };

/** The text form of a type, which is the same for equal types alone: `int64`, `timestamp[ms]`, `list<string>`, `struct<x: float64>`, `tensor<uint8, 28x28>`, `tensor<uint8, ?x?>`, `dictionary<string>`. */
export function typeName(type: DataType): string {
  switch (type.kind) {
    case "int64":
    case "uint64":
      return type.as === "bigint" ? `${type.kind} as bigint` : type.kind;
    case "timestamp":
      return type.timeZone === undefined ? `timestamp[${type.unit}]` : `timestamp[${type.unit}, ${type.timeZone}]`;
    case "time32":
    case "time64":
    case "duration":
      return `${type.kind}[${type.unit}]`;
    case "decimal":
      return `decimal<${type.precision}, ${type.scale}>${type.as === "number" ? " as number" : ""}`;
    case "list":
      return type.as === "typed array" ? `list<${typeName(type.of)}> as typed array` : `list<${typeName(type.of)}>`;
    case "struct":
      if (type.as === "tensor") return variableName(type);
      return `struct<${type.fields.map((field) => `${field.name}: ${typeName(field.type)}`).join(", ")}>`;
    case "tensor":
      return `tensor<${type.of.kind}, ${type.shape.join("x")}>`;
    case "dictionary":
      return `dictionary<${type.of.kind}>`;
    default:
      return type.kind;
  }
}

/** Types of one count a row in each of their units. */
const COUNTS_OF_UNITS: readonly DataType[] = [
  ...UNITS.map((unit) => ({ kind: "timestamp", unit }) as const),
  ...UNITS.map(timeType),
  ...UNITS.map((unit) => ({ kind: "duration", unit }) as const),
];

const DICTIONARIES: readonly DataType[] = (["string", "binary"] as const).map((kind) => ({ kind: "dictionary", of: { kind } }));

/** The type of times of day in a unit. */
export function timeType(unit: TimeUnit): DataType & { kind: "time32" | "time64" } {
  return { kind: unit === "s" || unit === "ms" ? "time32" : "time64", unit };
}

/**
 * The type that a text names: a kind without parts, one of time with its unit, a dictionary, or a decimal with its digits.
 *
 * @returns undefined for any other text
 */
export function parseType(text: string): DataType | undefined {
  for (const kind of [...NUMBER_KINDS, ...PLAIN_KINDS]) if (text === kind) return { kind };
  for (const kind of WIDE_KINDS) {
    if (text === kind) return { kind, as: "number" };
    if (text === `${kind} as bigint`) return { kind, as: "bigint" };
  }
  const known = [...COUNTS_OF_UNITS, ...DICTIONARIES].find((type) => text === typeName(type));
  if (known !== undefined) return known;
  const [, precision, scale] = /^decimal<([1-9]\d?), ?(\d\d?)>$/.exec(text) ?? [];
  return Number(scale) <= Number(precision) ? decimalType(Number(precision), Number(scale)) : undefined;
}

/** The texts that {@link parseType} takes, for messages. */
export const TYPE_NAMES: readonly string[] = [
  ...NUMBER_KINDS,
  ...WIDE_KINDS,
  ...PLAIN_KINDS,
  ...COUNTS_OF_UNITS.map(typeName),
  ...DICTIONARIES.map(typeName),
  "decimal<digits, digits behind the point>",
];

/** The type of numbers of a kind; whole ones of 64 bits are read as `bigint`. */
export function numberType(kind: NumberKind | WideKind): DataType {
  return kind === "int64" || kind === "uint64" ? { kind, as: "bigint" } : { kind };
}

/** The type of arrays of different shapes with so many dimensions each. */
export function variableTensorType(kind: NumberKind | WideKind, dimensions: number): DataType & { kind: "struct" } {
  return {
    kind: "struct",
    fields: [
      { name: "data", type: { kind: "list", of: numberType(kind), as: "typed array" } },
      { name: "shape", type: { kind: "tensor", of: { kind: "int32" }, shape: [dimensions] } },
    ],
    as: "tensor",
  };
}

/** The kind of the elements of arrays, and how many dimensions each has; undefined for other types. */
export function tensorParts(type: DataType): { kind: NumberKind | WideKind; dimensions: number } | undefined {
  if (type.kind === "tensor") return { kind: type.of.kind, dimensions: type.shape.length };
  if (type.kind !== "struct" || type.as !== "tensor") return undefined;
  const [data, shape] = type.fields.map((field) => field.type) as [DataType & { kind: "list" }, DataType & { kind: "tensor" }];
  return { kind: data.of.kind as NumberKind | WideKind, dimensions: shape.shape[0] as number };
}

function variableName(type: DataType): string {
  const { kind, dimensions } = tensorParts(type) as { kind: string; dimensions: number };
  return `tensor<${kind}, ${new Array(dimensions).fill("?").join("x")}>`;
}

/** Returns the type of a column's values: for a dictionary the type of its entries. */
export function valueType(type: DataType): DataType {
  return type.kind === "dictionary" ? type.of : type;
}

/** How many elements an array of this shape has. */
export function elementsOf(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

export function isNumberKind(kind: string): kind is NumberKind {
  return (NUMBER_KINDS as readonly string[]).includes(kind);
}

export function sameType(a: DataType, b: DataType): boolean {
  return a === b || typeName(a) === typeName(b);
}

/**
 * Returns the type that holds the values of both, for blocks of one dataset that were made apart.
 *
 * - Nulls fit everywhere. A dictionary beside plain values becomes plain.
 * - `number` reads widen to `bigint`. Whole numbers take the narrowest type that holds both; other numbers widen to float64 where that is exact.
 * - Times take the finer unit. Structs have the parts of both. Tensors of different shapes become tensors of any shape.
 *
 * @returns undefined where no type holds both
 */
export function unifyTypes(a: DataType, b: DataType): DataType | undefined {
  if (sameType(a, b)) return a;
  if (a.kind === "null") return b;
  if (b.kind === "null") return a;
  if (a.kind === "dictionary" || b.kind === "dictionary") return unifyTypes(valueType(a), valueType(b));
  if (a.kind === "decimal" && b.kind === "decimal") return unifyDecimals(a, b);
  if (a.kind === "list" && b.kind === "list") {
    const of = unifyTypes(a.of, b.of);
    return of === undefined ? undefined : { kind: "list", of, as: a.as === b.as && sameType(a.of, b.of) ? a.as : "array" };
  }
  const [one, other] = [tensorParts(a), tensorParts(b)];
  if (one !== undefined || other !== undefined)
    return one?.kind === other?.kind && one?.dimensions === other?.dimensions && one !== undefined
      ? variableTensorType(one.kind, one.dimensions)
      : undefined;
  if (a.kind === "struct" && b.kind === "struct") {
    const fields = unifyFields(a.fields, b.fields);
    return Array.isArray(fields) ? { kind: "struct", fields } : undefined;
  }
  const whole = unifyWhole(a, b);
  if (whole !== undefined) return whole;
  if ("unit" in a && "unit" in b) return unifyTimes(a, b);
  if (a.kind === "date" || b.kind === "date") return unifyDays(a, b);
  if (isExactInFloat64(a) && isExactInFloat64(b)) return FLOAT64;
  return undefined;
}

const SIGNED = ["int8", "int16", "int32", "int64"] as const;
const UNSIGNED = ["uint8", "uint16", "uint32", "uint64"] as const;

/** The narrowest whole numbers that hold those of both; undefined for other types, and for uint64 beside a signed type. */
function unifyWhole(a: DataType, b: DataType): DataType | undefined {
  const [signed, unsigned] = [SIGNED, UNSIGNED].map((kinds) => [a, b].map(({ kind }) => kinds.indexOf(kind as never))) as [
    number[],
    number[],
  ];
  if (signed.some((place, i) => place < 0 && (unsigned[i] as number) < 0)) return undefined;
  const isUnsigned = signed.every((place) => place < 0);
  // A signed type takes twice the bits to hold an unsigned one.
  const place = isUnsigned ? Math.max(...unsigned) : Math.max(...signed, ...unsigned.map((own) => (own < 0 ? own : own + 1)));
  const kind = (isUnsigned ? UNSIGNED : SIGNED)[place];
  if (kind !== "int64" && kind !== "uint64") return kind === undefined ? undefined : { kind };
  return { kind, as: [a, b].some((type) => "as" in type && type.as === "bigint") ? "bigint" : "number" };
}

type TimedType = DataType & { readonly unit: TimeUnit };

/** The finer unit of both. Moments of two zones are those of UTC; a moment with a zone and one without do not meet. */
function unifyTimes(a: TimedType, b: TimedType): DataType | undefined {
  const unit = UNITS[Math.max(UNITS.indexOf(a.unit), UNITS.indexOf(b.unit))] as TimeUnit;
  if (a.kind === "timestamp" && b.kind === "timestamp") {
    const [zone, other] = [a.timeZone, b.timeZone];
    if (zone === undefined || other === undefined) return zone === other ? { kind: "timestamp", unit } : undefined;
    return { kind: "timestamp", unit, timeZone: zone === other ? zone : "UTC" };
  }
  if (a.kind === "duration" && b.kind === "duration") return { kind: "duration", unit };
  return a.kind.startsWith("time") && b.kind.startsWith("time") && a.kind !== "timestamp" && b.kind !== "timestamp"
    ? timeType(unit)
    : undefined;
}

/** A day beside moments without a zone is its midnight. */
function unifyDays(a: DataType, b: DataType): DataType | undefined {
  const moment = a.kind === "date" ? b : a;
  return moment.kind === "timestamp" && moment.timeZone === undefined ? moment : undefined;
}

/** How many of the finer unit are one of the other. */
export function unitsIn(unit: TimeUnit, finer: TimeUnit): number {
  return 1000 ** (UNITS.indexOf(finer) - UNITS.indexOf(unit));
}

export type DecimalType = DataType & { readonly kind: "decimal" };

/** The type that holds all values of both; undefined where that takes more than 76 digits. */
function unifyDecimals(a: DecimalType, b: DecimalType): DecimalType | undefined {
  const scale = Math.max(a.scale, b.scale);
  const precision = scale + Math.max(a.precision - a.scale, b.precision - b.scale);
  return decimalType(precision, scale, a.as === b.as ? a.as : "text");
}

const DIGITS_OF_128_BITS = 38;
export const DIGITS_OF_256_BITS = 76;

/** Undefined for more digits than 256 bits hold. */
export function decimalType(precision: number, scale: number, as: DecimalType["as"] = "text"): DecimalType | undefined {
  if (precision > DIGITS_OF_256_BITS) return undefined;
  return { kind: "decimal", precision, scale, bits: precision > DIGITS_OF_128_BITS ? 256 : 128, as };
}

/** Values of such a type are whole or floating numbers that a float64 holds as they are; an int64 that is read as numbers is checked when it is. */
function isExactInFloat64(type: DataType): boolean {
  return isNumberKind(type.kind) || ((type.kind === "int64" || type.kind === "uint64") && type.as === "number");
}

/** Two types for one name that no type holds together. */
export class FieldConflict {
  readonly name: string;
  readonly types: readonly [DataType, DataType];

  constructor(name: string, types: readonly [DataType, DataType]) {
    this.name = name;
    this.types = types;
  }
}

/** The fields of both, in the order of the first and then of the second; those of one alone are null in the other's rows. */
export function unifyFields(a: readonly Field[], b: readonly Field[]): readonly Field[] | FieldConflict {
  const fields = new Map(a.map((field) => [field.name, field.type]));
  for (const { name, type } of b) {
    const known = fields.get(name);
    const unified = known === undefined ? type : unifyTypes(known, type);
    if (unified === undefined) return new FieldConflict(name, [known as DataType, type]);
    fields.set(name, unified);
  }
  return [...fields].map(([name, type]) => ({ name, type }));
}
