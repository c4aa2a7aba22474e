/** Rows of CSV as Python's `csv` module writes and reads them: commas, quotes where they are needed, lines that end with CR LF. */
import { type JsonValue, metricsText } from "../../metrics/metrics.ts";

/** Spells a value as Python does: `True`, `nan`, `inf`. A null or missing value is empty. */
export function csvCell(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "number") return metricsText(value);
  if (Number.isNaN(value)) return "nan";
  return Number.isFinite(value) ? String(value) : value > 0 ? "inf" : "-inf";
}

export function csvRow(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\r\n`;
}

/** `isTorn`: the text ends amid a row, which is left out. */
export function parseCsvRows(text: string): { rows: string[][]; isTorn: boolean } {
  const rows: string[][] = [];
  let row: string[] = [];
  let end = 0;
  // Matches a cell in quotes or without, and its separator.
  for (const { 0: whole, 1: quoted, 2: plain = "", 3: next } of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n)/gy)) {
    end += whole.length;
    row.push(quoted?.replaceAll('""', '"') ?? plain);
    if (next === ",") continue;
    rows.push(row);
    row = [];
  }
  return { rows, isTorn: row.length > 0 || end < text.length };
}
