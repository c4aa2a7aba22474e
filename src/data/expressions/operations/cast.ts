/**
 * Casts: the same values as another type. A value that the other type does not hold exactly is an error that names it, or null on request. There are three
 * exceptions: float32 rounds, floating numbers become the nearest decimals, and coarser times are cut off downwards.
 *
 * Texts are parsed like fields of CSV files, and written as JavaScript writes numbers and ISO 8601 writes times.
 */
import { getBit } from "../../blocks/values/bitmap.ts";
import {
  BIG_INT64,
  BINARY,
  type DataType,
  isNumberKind,
  parseType,
  sameType,
  STRING,
  type TimeUnit,
  typeName,
} from "../../blocks/data-type.ts";
import { isNull, newValueArray, nullVector, packVector, type ValueArray, type Vector } from "../../blocks/vector.ts";
import { valueReader } from "../../blocks/value-reader.ts";
import { buildVector, encodeVector } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";
import { ByteSink } from "../../formats/byte-sink.ts";
import { PLAIN, QUOTE } from "../../formats/csv/csv-fields.ts";
import { FieldMisfit, textColumn } from "../../formats/texts/text-columns.ts";
import { plainWriter } from "../../formats/texts/value-text.ts";
import { decimalToNumber, toDecimal } from "../decimals/decimal-cast.ts";
import {
  countsOf,
  floatsOf,
  isNullOperand,
  isNumeric,
  isPresent,
  isWide,
  type Kernel,
  misfit,
  Misfits,
  type Operand,
  reject,
  RowProblem,
  type TimeType,
  TypeProblem,
} from "./operand.ts";

export const cast: Kernel = (inputs, length, args) => {
  const input = inputs[0] as Operand;
  const { vector } = input;
  const type = parseType(args[0] as string) as DataType;
  if (isNullOperand(input)) return nullVector(type, length);
  if (sameType(vector.type, type)) return vector;
  const target = type.kind === "dictionary" ? type.of : type;
  const misfits = args[1] === "null" ? new Misfits() : undefined;
  const values = sameType(vector.type, target) ? vector : castInto(input, target, misfits);
  if (values !== undefined) {
    const kept = misfits === undefined ? values : misfits.without(values);
    return type.kind === "dictionary" ? encodeVector(kept) : kept;
  }
  throw new TypeProblem(
    `makes no ${typeName(type)} of ${typeName(vector.type)}`,
    "a function of map or mapBatches can make any value of another",
  );
};

/** @param misfits - takes the rows whose values the type does not hold; without it they are errors */
function castInto(input: Operand, to: DataType, misfits: Misfits | undefined): Vector | undefined {
  const { vector } = input;
  const from = vector.type;
  if (to.kind === "string") return toText(vector, misfits);
  if (from.kind === "string") return to.kind === "binary" ? { ...vector, type: to } : fromText(input, to, misfits);
  if (to.kind === "decimal") return isNumeric(from) || from.kind === "decimal" ? toDecimal(input, to, misfits) : undefined;
  if (isNumeric(to)) {
    if (from.kind === "bool") return toNumber({ ...input, vector: bitsAsNumbers(vector) }, to, misfits);
    if (isNumeric(from)) return toNumber(input, to, misfits);
    if (from.kind === "decimal") return decimalToNumber(input, to, misfits);
    return timesOf(from) === undefined ? undefined : toNumber({ ...input, vector: countsOf(vector) }, to, misfits);
  }
  const times = timesOf(to);
  if (times === undefined) return undefined;
  if (isNumeric(from)) return countsAsTime(input, to as TimeType, misfits);
  return times === timesOf(from) ? toTime(input, to as TimeType, misfits) : undefined;
}

// ---------------------------------------------------------------------------------------------------------------------
// Numbers

function bitsAsNumbers({ values, bitOffset, length, ...rest }: Vector): Vector {
  const numbers = Uint8Array.from({ length }, (_, i) => (getBit(values as Uint8Array, bitOffset + i) ? 1 : 0));
  return { ...rest, bitOffset, length, type: { kind: "uint8" }, values: numbers };
}

function toNumber(input: Operand, to: DataType, misfits: Misfits | undefined): Vector {
  const { vector } = input;
  if (isWide(to)) return { ...vector, type: to, values: wideNumbers(input, to, misfits) };
  const source = misfits !== undefined && isWide(vector.type) ? safeFloats(vector, misfits) : floatsOf(input, [input], vector.length);
  if (to.kind === "float64") return { ...vector, type: to, values: source };
  const values = newValueArray(to.kind, vector.length) as Float64Array;
  for (let row = 0; row < values.length; row += 1) {
    values[row] = source[row] as number;
    if (to.kind !== "float32" && values[row] !== source[row] && isPresent([input], row)) misfit(misfits, row, source[row], to);
  }
  return { ...vector, type: to, values };
}

/** Numbers beyond 2^53 are among the misfits. */
function safeFloats({ values }: Vector, misfits: Misfits): Float64Array {
  const numbers = Float64Array.from(values as BigInt64Array, Number);
  for (let row = 0; row < numbers.length; row += 1) if (!Number.isSafeInteger(numbers[row])) misfits.add(row);
  return numbers;
}

function wideNumbers(input: Operand, to: DataType & { kind: "int64" | "uint64" }, misfits: Misfits | undefined): ValueArray {
  const { type, values, length } = input.vector;
  if (type.kind === to.kind) return values as ValueArray;
  const source = values as ArrayLike<number | bigint>;
  const wide = newValueArray(to.kind, length) as BigInt64Array;
  for (let row = 0; row < length; row += 1) {
    const value = source[row] as number | bigint;
    const isWhole = typeof value === "bigint" || Number.isInteger(value);
    if (isWhole) wide[row] = BigInt(value);
    if ((!isWhole || wide[row] !== BigInt(value)) && isPresent([input], row)) misfit(misfits, row, value, to);
  }
  return wide;
}

// ---------------------------------------------------------------------------------------------------------------------
// Times

const NS_PER_DAY = 86_400_000_000_000n;
const NS_PER_UNIT: Readonly<Record<TimeUnit, bigint>> = { s: 1_000_000_000n, ms: 1_000_000n, us: 1000n, ns: 1n };

/** The kind of time of a type: types of one kind can be cast to each other. Undefined for other types. */
function timesOf({ kind }: DataType): "moments" | "times of day" | "durations" | undefined {
  if (kind === "date" || kind === "timestamp") return "moments";
  if (kind === "time32" || kind === "time64") return "times of day";
  return kind === "duration" ? "durations" : undefined;
}

function unitNs(type: TimeType): bigint {
  return type.kind === "date" ? NS_PER_DAY : NS_PER_UNIT[type.unit];
}

function isNarrow({ kind }: TimeType): boolean {
  return kind === "date" || kind === "time32";
}

/** Numbers as counts of the type's unit. */
function countsAsTime(input: Operand, to: TimeType, misfits: Misfits | undefined): Vector {
  return { ...toNumber(input, isNarrow(to) ? { kind: "int32" } : BIG_INT64, misfits), type: to };
}

function toTime(input: Operand, to: TimeType, misfits: Misfits | undefined): Vector {
  const { vector } = input;
  const source = vector.values as ArrayLike<number | bigint>;
  const values = newValueArray(to.kind, vector.length) as ValueArray;
  const [fromNs, toNs] = [unitNs(vector.type as TimeType), unitNs(to)];
  for (let row = 0; row < values.length; row += 1) {
    const ns = BigInt(source[row] as number | bigint) * fromNs;
    const count = ns >= 0n || ns % toNs === 0n ? ns / toNs : ns / toNs - 1n;
    const isHeld = BigInt.asIntN(isNarrow(to) ? 32 : 64, count) === count;
    if (isHeld) values[row] = isNarrow(to) ? Number(count) : count;
    else if (isPresent([input], row)) misfit(misfits, row, source[row], to);
  }
  return { ...vector, type: to, values };
}

// ---------------------------------------------------------------------------------------------------------------------
// Texts

function toText(vector: Vector, misfits: Misfits | undefined): Vector | undefined {
  const { type, length } = vector;
  if (type.kind === "binary") return decoded(vector, misfits);
  if (isNumberKind(type.kind)) {
    const read = valueReader(vector);
    return buildVector(
      Array.from({ length }, (_, row) => {
        const value = read(row) as number | null;
        return value === null ? null : String(value);
      }),
      STRING,
    );
  }
  const sink = new ByteSink();
  const write = plainWriter(vector, sink, { nonFinite: String });
  if (write === undefined) return undefined;
  const offsets = new Int32Array(length + 1);
  for (let row = 0; row < length; row += 1) {
    if (isPresent([{ vector, isConstant: false }], row)) {
      try {
        write(row);
      } catch (error) {
        if (!(error instanceof DataError)) throw error;
        const value = (vector.values as ArrayLike<number | bigint>)[row];
        reject(misfits, row, `is ${value}, which string does not hold: ${error.message}`);
      }
    }
    offsets[row + 1] = sink.length;
  }
  const { validity, nullCount, bitOffset } = vector;
  return { type: STRING, length, nullCount, bitOffset, ...(validity === undefined ? {} : { validity }), offsets, values: sink.taken() };
}

/** Decodes bytes of UTF-8 as texts. Null rows get no bytes, because readers of all texts at once, such as Parquet's encoder, accept only valid ones. */
function decoded(vector: Vector, misfits: Misfits | undefined): Vector {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const read = valueReader(vector);
  const rows = Array.from({ length: vector.length }, (_, row) => read(row) as Uint8Array | null);
  for (const [row, bytes] of rows.entries()) {
    if (bytes === null) continue;
    try {
      decoder.decode(bytes);
    } catch {
      reject(misfits, row, "has bytes that are no UTF-8");
      rows[row] = null;
    }
  }
  return { ...(rows.includes(null) ? buildVector(rows, BINARY) : vector), type: STRING };
}

function fromText(input: Operand, to: DataType, misfits: Misfits | undefined): Vector | undefined {
  const column = textColumn(to, false);
  if (column === undefined) return undefined;
  column.misfitsAreNull = misfits !== undefined;
  const { values, offsets, length, nullCount } = packVector(input.vector) as Vector & {
    values: Uint8Array;
    offsets: Int32Array;
  };
  const read = valueReader(input.vector);
  const starts = offsets.slice(0, length);
  const ends = offsets.slice(1, length + 1);
  for (let row = 0; row < length; row += 1) {
    // An empty field is a null to the columns of CSV files, and so is here a null alone.
    if (!isPresent([input], row)) ends[row] = starts[row] as number;
    else if (starts[row] === ends[row]) misfit(misfits, row, '""', to);
  }
  try {
    column.append({ starts, ends, columns: 1, rows: length, kinds: new Uint8Array(length).fill(PLAIN), escape: QUOTE }, values, 0);
  } catch (error) {
    if (!(error instanceof FieldMisfit)) throw error;
    const text = JSON.stringify(read(error.field));
    throw new RowProblem(error.field, `is ${text}, which ${typeName(to)} does not hold and ${error.remedy} does`);
  }
  const taken = column.take();
  if (misfits !== undefined) return taken;
  // A text of spaces alone is null, as in a column of a file.
  const empty = taken.nullCount === nullCount ? -1 : starts.findIndex((_, row) => isNull(taken, row) && isPresent([input], row));
  if (empty >= 0) misfit(undefined, empty, JSON.stringify(read(empty)), to);
  return taken;
}
