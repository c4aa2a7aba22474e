/**
 * The texts of `shoal list`, `get`, `summary` and `logs`, from the answers of a reader. Pure.
 *
 * Cells come from user code: control characters are shown as escapes, and long texts are cut in tables, never in JSON or YAML. Names of
 * log files come from a daemon's listing, whose names have no such characters.
 */
import type { LogRow } from "../../state/log-reader.ts";
import type { ListAnswer, SummaryAnswer } from "../../state/state-reader.ts";

const CELL_WIDTH_MAX = 48;
const GAP = "  ";

export function listText(answer: ListAnswer, nowMs: number): string {
  const { rows, total, num_filtered: matching, next_page_token: token, num_dropped: dropped } = answer;
  const names = Array.from(new Set(rows.flatMap((row) => Object.keys(row))));
  const cells = rows.map((row) => names.map((name) => cellOf(row[name])));
  const counts = `${rows.length} of ${matching} that match, of ${total} in all, ${ageText(nowMs - answer.as_of_ms)} old`;
  const lines = rows.length === 0 ? [] : tableOf([names.map((name) => name.toUpperCase()), ...cells]);
  if (dropped > 0) lines.push(`${dropped} rows are counted and were not kept.`);
  lines.push(...answer.warnings, counts);
  if (token !== null) lines.push(`Next page: --page-token ${token}`);
  return lines.join("\n");
}

export function summaryText({ total, rows }: SummaryAnswer): string {
  const states = Array.from(new Set(rows.flatMap((row) => Object.keys(row.state_counts)))).sort();
  const cells = rows.map(({ name, type, state_counts: counts }) => [
    cellOf(name),
    type,
    ...states.map((state) => String(counts[state] ?? 0)),
  ]);
  const lines = rows.length === 0 ? [] : tableOf([["NAME", "TYPE", ...states], ...cells]);
  return [...lines, `${total} in all`].join("\n");
}

export function logListText(rows: readonly LogRow[]): string {
  const cells = rows.map(({ name, sizeBytes, modifiedMs, isLive, nodeId }) => [
    name,
    String(sizeBytes),
    new Date(modifiedMs).toISOString(),
    isLive ? "yes" : "no",
    nodeId,
  ]);
  const lines = rows.length === 0 ? [] : tableOf([["FILE", "BYTES", "CHANGED", "GROWS", "NODE_ID"], ...cells]);
  return [...lines, `${rows.length} in all`].join("\n");
}

export function writtenAs(format: "json" | "yaml", value: object): string {
  return format === "json" ? JSON.stringify(value) : yamlLines(value, "").join("\n");
}

/** Every scalar is written as JSON, which YAML contains. */
function yamlLines(value: object, indent: string): string[] {
  const entries = Array.isArray(value)
    ? value.map((item) => ["-", item] as const)
    : Object.entries(value).map(([k, v]) => [`${keyOf(k)}:`, v] as const);
  return entries.flatMap(([label, item]: readonly [string, unknown]) => {
    if (typeof item !== "object" || item === null || Object.keys(item).length === 0)
      return [`${indent}${label} ${JSON.stringify(item ?? null)}`];
    return [`${indent}${label}`, ...yamlLines(item, `${indent}  `)];
  });
}

function keyOf(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
}

function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return "-";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // A name may carry escapes that would move the cursor.
  const plain = text.slice(0, CELL_WIDTH_MAX + 1).replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, escaped);
  return plain.length > CELL_WIDTH_MAX ? `${plain.slice(0, CELL_WIDTH_MAX - 1)}…` : plain;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function ageText(ageMs: number): string {
  return ageMs < 1000 ? "less than 1 s" : `${Math.round(ageMs / 1000)} s`;
}
