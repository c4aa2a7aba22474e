/** Prints the figures of a scale run: a table for people while it runs, and everything as JSON for programs that compare. */
import { writeFileSync } from "node:fs";

export type Row = Readonly<Record<string, string | number>>;

export class Report {
  readonly parts: { title: string; rows: Row[] }[] = [];
  readonly #write: (text: string) => void;

  constructor(write: (text: string) => void = (text) => void process.stdout.write(text)) {
    this.#write = write;
  }

  /** Prints a table: the rows' keys are its columns. */
  add(title: string, rows: readonly Row[]): void {
    this.parts.push({ title, rows: [...rows] });
    this.#write(`\n${title}\n${tableOf(rows)}`);
  }

  save(file: string): void {
    writeFileSync(file, `${JSON.stringify(this.parts, undefined, 2)}\n`);
  }
}

/** Turns an object of figures into one row for each. */
export function facts(figures: Row): Row[] {
  return Object.entries(figures).map(([figure, value]) => ({ figure, value }));
}

/** The middle, and what one in a hundred exceeds. */
export function spread(values: readonly number[]): { p50: number; p99: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

function tableOf(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const lines = [columns, ...rows.map((row) => columns.map((column) => shown(row[column])))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => (line[index] ?? "").length)));
  const first = typeof rows[0]?.[columns[0] ?? ""] === "string";
  return lines
    .map(
      (line) =>
        `  ${line.map((cell, index) => (first && index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0))).join("  ")}\n`,
    )
    .join("");
}

/** Three digits are as many as two runs agree on. */
function shown(value: string | number | undefined): string {
  if (typeof value !== "number") return value ?? "";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}
