/**
 * How results are shown and kept: lines of a table, printed as they come, and the results file. A slower result is
 * shown as it is; a failed one with its reason. Pure but for the clock that the caller passes in.
 */
import type { Result } from "./compare.ts";
import type { Details, Figure } from "./figure.ts";
import { ratiosToModes } from "./ray-modes.ts";
import { barForJson, barForTable } from "./verdict.ts";

interface ResultEntry {
  readonly name: string;
  readonly unit: string;
  readonly shoal: number | null;
  readonly ray: number | null;
  readonly ratio: number | null;
  readonly goal: number | string | null;
  readonly floor: number | string | null;
  readonly title: string;
  readonly verdict: string;
  readonly shoalRounds: readonly number[];
  readonly rayRounds: readonly number[];
  readonly details: { readonly shoal: Details; readonly ray: Details };
  readonly failures: readonly string[];
  readonly note?: string;
}

const COLUMNS = [
  { heading: "figure", width: 19 },
  { heading: "what", width: 42 },
  { heading: "unit", width: 9 },
  { heading: "shoal", width: 10, right: true },
  { heading: "ray", width: 10, right: true },
  { heading: "ratio", width: 8, right: true },
  { heading: "goal", width: 13, right: true },
  { heading: "floor", width: 10, right: true },
  { heading: "", width: 6 },
] as const;

export function tableHeading(): string {
  const line = tableLine(COLUMNS.map((column) => column.heading));
  return `${line}\n${"-".repeat(line.length)}`;
}

export function resultLine(result: Result): string {
  const { figure } = result;
  return tableLine([
    figure.name,
    figure.title,
    figure.unit,
    formatValue(result.shoal),
    formatValue(result.ray),
    result.ratio === null ? "" : `${formatValue(result.ratio)}x`,
    barForTable(figure.goal, figure.unit),
    barForTable(figure.floor, figure.unit),
    result.verdict,
  ]);
}

/** Returns everything that does not fit a line: details of both sides, notes, and failures. */
export function afterTable(results: readonly Result[]): string {
  const lines: string[] = [];
  for (const { figure, shoal, shoalDetails, rayDetails } of results) {
    const sides = [formatDetails("shoal", shoalDetails), formatDetails("ray", rayDetails)].filter((text) => text !== "");
    if (sides.length > 0) lines.push(`${figure.name}: ${sides.join("; ")}`);
    const modes = ratiosToModes(figure, shoal, rayDetails);
    if (modes !== undefined)
      lines.push(`${figure.name}: ${formatValue(modes.byDefault)}x Ray's defaults, ${formatValue(modes.fast)}x its fast mode (HAProxy)`);
    if (figure.note !== undefined) lines.push(`${figure.name}: ${figure.note}`);
  }
  for (const failure of results.flatMap((result) => result.failures)) lines.push(`FAILED ${failure}`);
  return lines.join("\n");
}

export function figureLine(figure: Figure): string {
  const bars = `goal ${barForTable(figure.goal, figure.unit) || "-"}, floor ${barForTable(figure.floor, figure.unit) || "-"}`;
  return `${figure.name.padEnd(19)} ${figure.title} (${figure.unit}; ${bars})`;
}

export function resultEntry(result: Result): ResultEntry {
  const { figure } = result;
  return {
    name: figure.name,
    unit: figure.unit,
    shoal: result.shoal,
    ray: result.ray,
    ratio: result.ratio,
    goal: barForJson(figure.goal, figure.unit),
    floor: barForJson(figure.floor, figure.unit),
    title: figure.title,
    verdict: result.verdict,
    shoalRounds: result.shoalRounds,
    rayRounds: result.rayRounds,
    details: { shoal: result.shoalDetails, ray: result.rayDetails },
    failures: result.failures,
    ...(figure.note === undefined ? {} : { note: figure.note }),
  };
}

/** Three significant digits below 1,000, whole numbers with separators above: no more than a run can tell. */
export function formatValue(value: number | null): string {
  if (value === null) return "";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

function formatDetails(side: string, details: Details): string {
  const parts = Object.entries(details).map(([name, value]) => `${name} ${typeof value === "number" ? formatValue(value) : value}`);
  return parts.length === 0 ? "" : `${side} ${parts.join(", ")}`;
}

function tableLine(cells: readonly string[]): string {
  const padded = COLUMNS.map((column, index) => {
    const cell = cells[index] ?? "";
    return "right" in column ? cell.padStart(column.width) : cell.padEnd(column.width);
  });
  return padded.join(" ").trimEnd();
}
