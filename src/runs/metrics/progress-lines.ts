/**
 * Formats the progress of runs as lines for the board (`progress/progress-board.ts`): metrics in a few words, and rows as a table.
 *
 * Pure. The board cuts lines to the terminal's width, so the important values come first.
 */
import type { JsonValue, Metrics } from "./metrics.ts";
import { flatMetrics } from "./metrics.ts";

/** Shown in another part of a line, or useless while work continues. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "trainingIteration",
  "timeTotalMs",
  "timeThisIterMs",
  "timestampMs",
  "trialId",
  "done",
  "pid",
  "hostname",
  "nodeIp",
  "config",
]);

/** Metrics in one line: `loss 0.1235, eval/acc 0.9`. Named ones come first, the others after them up to `max` in all. */
export function metricsLine(
  metrics: Metrics,
  { first = [], max = 6 }: { readonly first?: readonly string[]; readonly max?: number } = {},
): string {
  const flat = flatMetrics(Object.fromEntries(Object.entries(metrics).filter(([name]) => !LEFT_OUT.has(name))));
  const names = [...first.filter((name) => flat.has(name)), ...[...flat.keys()].filter((name) => !first.includes(name))];
  return names
    .slice(0, max)
    .map((name) => `${name} ${valueText(flat.get(name))}`)
    .join(", ");
}

/** A value in few characters: numbers with four digits that count. */
export function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "number") return oneLine(typeof value === "string" ? value : JSON.stringify(value));
  if (!Number.isFinite(value) || Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(3) : String(Number(value.toPrecision(4)));
}

/** Rows below each other in columns, numbers to the right. The first row is the header. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const width = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: width }, (_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const isRight = widths.map(
    (_, i) => rows.length > 1 && rows.slice(1).every((row) => /^[-+]?[\d.]*(?:e[-+]?\d+)?$|^NaN$|^-?Infinity$/.test(row[i] ?? "")),
  );
  return rows.map((row) =>
    widths
      .map((columns, i) => (isRight[i] === true ? (row[i] ?? "").padStart(columns) : (row[i] ?? "").padEnd(columns)))
      .join("  ")
      .trimEnd(),
  );
}

/** A time for people: `8.2 s`, `3 min 20 s`, `2 h 5 min`. */
export function durationText(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Control characters of metrics and names must not move a terminal's cursor. */
function oneLine(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, " ");
  return line.length > 40 ? `${line.slice(0, 39)}…` : line;
}
