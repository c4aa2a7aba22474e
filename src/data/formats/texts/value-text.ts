/**
 * Writes values of vectors as text, straight into bytes, for CSV and JSON alike.
 *
 * Numbers have the shortest text that reads back as the same number. int64 and decimals have all their digits. Days, moments in UTC and times of day are ISO
 * 8601 with the full precision of their column. Durations are counts.
 */
import { type DataType, type TimeUnit, typeName } from "../../blocks/data-type.ts";
import { getBit } from "../../blocks/values/bitmap.ts";
import { decimalText, unscaledReader } from "../../blocks/values/decimals.ts";
import { timestampToMs } from "../../blocks/value-reader.ts";
import type { Vector } from "../../blocks/vector.ts";
import { DataError } from "../../errors.ts";
import type { ByteSink } from "../byte-sink.ts";
import { DIGITS_OF_UNIT } from "./time-text.ts";

/** Writes the value of a row that is no null. */
export type ValueWriter = (row: number) => void;

interface TextOptions {
  /** The column, for errors. Default: they name none. */
  readonly column?: string;
  /** The texts by which the format writes numbers that JSON does not have. */
  readonly nonFinite: (value: number) => string;
}

const MS_PER_DAY = 86_400_000;
/** From here on JavaScript writes numbers with an exponent. */
const EXPONENT_FROM = 1e21;

/** The writer of a column of numbers, booleans, days or moments; undefined for other types. */
export function plainWriter(vector: Vector, sink: ByteSink, { column, nonFinite }: TextOptions): ValueWriter | undefined {
  const { type, values, bitOffset } = vector;
  switch (type.kind) {
    case "null":
    case "string":
    case "binary":
    case "list":
    case "struct":
    case "tensor":
    case "dictionary":
      return undefined;
    case "bool":
      return (row) => {
        sink.ascii(getBit(values as Uint8Array, bitOffset + row) ? "true" : "false");
      };
    case "decimal": {
      const read = unscaledReader(values as BigUint64Array, type);
      return (row) => {
        sink.ascii(decimalText(read(row), type.scale));
      };
    }
    case "date":
      return (row) => {
        const date = new Date(((values as Int32Array)[row] as number) * MS_PER_DAY);
        sink.ascii(isoText(date, column, type).slice(0, -"T00:00:00.000Z".length));
      };
    case "timestamp":
      return (row) => {
        sink.ascii(momentText((values as BigInt64Array)[row] as bigint, column, type));
      };
    case "time32":
    case "time64":
      return (row) => {
        sink.ascii(timeOfDayText(Number((values as Int32Array | BigInt64Array)[row]), column, type));
      };
    case "int64":
    case "uint64":
    case "duration":
      return wideWriter(values as BigInt64Array, type.kind !== "uint64", sink);
    default:
      return (row) => {
        writeNumber(sink, (values as Float64Array)[row] as number, nonFinite);
      };
  }
}

/** Numbers below 2^53 without a bigint for each. */
function wideWriter(values: BigInt64Array, isSigned: boolean, sink: ByteSink): ValueWriter {
  const halves = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  return (row) => {
    const high = halves[2 * row + 1] as number;
    const value = (isSigned ? high : high >>> 0) * 4_294_967_296 + ((halves[2 * row] as number) >>> 0);
    if (Number.isSafeInteger(value)) writeInteger(sink, value);
    else sink.ascii(String(values[row]));
  };
}

function writeNumber(sink: ByteSink, value: number, nonFinite: TextOptions["nonFinite"]): void {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) writeInteger(sink, value);
  else if (Object.is(value, -0)) sink.ascii("-0.0");
  else if (!Number.isFinite(value)) sink.ascii(nonFinite(value));
  else {
    sink.ascii(String(value));
    // Without a point a reader would take it for an exact whole number beyond 2^53.
    if (Number.isInteger(value) && Math.abs(value) < EXPONENT_FROM) sink.ascii(".0");
  }
}

function writeInteger(sink: ByteSink, value: number): void {
  if (value > 0x7fffffff || value < -0x7fffffff) {
    sink.ascii(String(value));
    return;
  }
  let rest = value;
  if (rest < 0) {
    sink.byte(45);
    rest = -rest;
  }
  let digits = 1;
  for (let power = 10; power <= rest; power *= 10) digits += 1;
  sink.reserve(digits);
  const { bytes, length } = sink;
  for (let at = length + digits - 1; at >= length; at -= 1) {
    const tenth = (rest / 10) | 0;
    bytes[at] = 48 + rest - tenth * 10;
    rest = tenth;
  }
  sink.length = length + digits;
}

const PER_MS: Readonly<Record<TimeUnit, bigint>> = { s: 1n, ms: 1n, us: 1000n, ns: 1_000_000n };

function momentText(value: bigint, column: string | undefined, type: DataType & { kind: "timestamp" }): string {
  const text = isoText(new Date(timestampToMs(value, type.unit)), column, type);
  if (type.unit === "s") return `${text.slice(0, -".000Z".length)}Z`;
  if (type.unit === "ms") return text;
  const perMs = PER_MS[type.unit];
  const rest = ((value % perMs) + perMs) % perMs;
  return `${text.slice(0, -1)}${String(rest).padStart(type.unit === "us" ? 3 : 6, "0")}Z`;
}

const SECONDS_PER_DAY = 86_400;

function timeOfDayText(count: number, column: string | undefined, type: DataType & { kind: "time32" | "time64" }): string {
  const digits = DIGITS_OF_UNIT[type.unit];
  const perSecond = 10 ** digits;
  const seconds = Math.floor(count / perSecond);
  if (seconds < 0 || seconds >= SECONDS_PER_DAY)
    throw new DataError(`A ${typeName(type)} of ${count}${placeOf(column)} is no time of a day and cannot be written as text`);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0"));
  return parts.join(":") + (digits === 0 ? "" : `.${String(count % perSecond).padStart(digits, "0")}`);
}

function isoText(date: Date, column: string | undefined, type: DataType): string {
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw new DataError(`A ${typeName(type)}${placeOf(column)} is beyond the year 275,760 and cannot be written as text`);
}

function placeOf(column: string | undefined): string {
  return column === undefined ? "" : ` in column ${JSON.stringify(column)}`;
}
