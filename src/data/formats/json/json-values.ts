/**
 * Builds vectors from JSON values that need conversion: texts of times, and numbers of another type.
 *
 * A column of strings takes every value as its JSON. Days and times come from texts of ISO 8601; days and moments also from milliseconds (or seconds) since 1970.
 * If the options declare a column as floats, a whole number beyond 2^53 becomes the nearest float.
 */
import { type DataType, typeName, valueType } from "../../blocks/data-type.ts";
import { buildVector, MisfitError } from "../../blocks/vector-builder.ts";
import type { Vector } from "../../blocks/vector.ts";
import { FieldTable, PLAIN } from "../csv/csv-fields.ts";
import { numberWord } from "../texts/number-text.ts";
import { FieldMisfit, textColumn, type TextColumn } from "../texts/text-columns.ts";

/** @throws MisfitError */
export function conform(values: readonly unknown[], type: DataType): Vector {
  if (type.kind === "date" || type.kind === "timestamp" || isTimeOfDay(type)) return timeVector(values, type);
  if (type.kind === "decimal") checkDigits(values);
  return buildVector(
    values.map((value) => conformValue(value, type)),
    type,
  );
}

function isTimeOfDay({ kind }: DataType): boolean {
  return kind === "time32" || kind === "time64";
}

/** The digits of which a float64 holds any number. */
const EXACT_DIGITS = 15;

/** A number with a point has been a float64 by now. */
function checkDigits(values: readonly unknown[]): void {
  for (const [row, value] of values.entries()) {
    if (typeof value !== "number" || Number.isInteger(value)) continue;
    const [digits = ""] = value.toExponential().replace(/[-.]/g, "").split("e");
    if (digits.length > EXACT_DIGITS)
      throw new MisfitError(row, `is ${value}, and of numbers of more than ${EXACT_DIGITS} digits decimals are made of texts alone`);
  }
}

function conformValue(value: unknown, type: DataType): unknown {
  if (value === null || value === undefined) return null;
  if (valueType(type).kind === "string") return typeof value === "string" ? value : jsonOf(value);
  if (type.kind === "float64" || type.kind === "float32") {
    if (typeof value === "bigint") return Number(value);
    // Spark writes a text where JSON has no number: "NaN", "Infinity".
    return typeof value === "string" ? (numberWord(value) ?? value) : value;
  }
  if (type.kind === "list") return (value as readonly unknown[]).map((element) => conformValue(element, type.of));
  if (type.kind !== "struct") return value;
  const parts = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(type.fields.map((field) => [field.name, conformValue(parts[field.name], field.type)]));
}

/** The JSON of a parsed value, with the digits of bigints. */
function jsonOf(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, part]) => `${JSON.stringify(name)}:${jsonOf(part)}`)
    .join(",")}}`;
}

/** Days or times, by the column that reads them in CSV: with their full precision. */
function timeVector(values: readonly unknown[], type: DataType): Vector {
  const texts = values.map((value, row) => (value === null || value === undefined ? "" : timeText(value, row, type)));
  const bytes = Buffer.from(texts.join(""));
  const table = new FieldTable(1, { delimiter: 0 }, texts.length);
  let at = 0;
  for (const [row, text] of texts.entries()) {
    table.starts[row] = at;
    at += Buffer.byteLength(text);
    table.ends[row] = at;
    table.kinds[row] = PLAIN;
  }
  table.rows = texts.length;
  const column = textColumn(type, false) as TextColumn;
  try {
    column.append(table, bytes, 0);
  } catch (error) {
    if (error instanceof FieldMisfit) throw notOfType(error.field, texts[error.field], type);
    throw error;
  }
  return column.take();
}

function timeText(value: unknown, row: number, type: DataType): string {
  // An empty text stands for null in CSV, and for nothing here.
  if (typeof value === "string" && value !== "") return value;
  const date = new Date(
    typeof value === "number" && !isTimeOfDay(type) ? value * (type.kind === "timestamp" && type.unit === "s" ? 1000 : 1) : Number.NaN,
  );
  if (Number.isNaN(date.getTime())) throw notOfType(row, value, type);
  return date.toISOString().slice(0, type.kind === "date" ? 10 : undefined);
}

function notOfType(row: number, value: unknown, type: DataType): MisfitError {
  return new MisfitError(row, `is ${jsonOf(value)}, and the column has the type ${typeName(type)}`);
}
