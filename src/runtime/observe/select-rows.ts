/**
 * Filters rows of state and takes one page of them: the newest that match and that lie behind the last page.
 *
 * Filters run over all rows before the limit, and the counts are of all rows, so a page never hides that more match. Used where the rows
 * are: in daemons, in the recorder, and in the reader for rows of the head. Pure.
 */
import type { StateKey, StatePredicate, StateQuery } from "../wire/state-messages.ts";

export type StateRow = Readonly<Record<string, unknown>>;

/** A row with its place in lists. */
export interface KeyedRow {
  readonly key: StateKey;
  readonly row: StateRow;
}

export interface SelectedRows {
  readonly rows: KeyedRow[];
  readonly total: number;
  readonly numFiltered: number;
}

export function selectRows(all: Iterable<KeyedRow>, { filters, limit, before }: StateQuery): SelectedRows {
  const found: KeyedRow[] = [];
  let total = 0;
  let numFiltered = 0;
  for (const keyed of all) {
    total += 1;
    if (!filters.every((filter) => matches(keyed.row, filter))) continue;
    numFiltered += 1;
    if (before === undefined || compareKeys(keyed.key, before) > 0) found.push(keyed);
  }
  return { rows: newest(found, limit), total, numFiltered };
}

/** Sorts rows newest first and keeps at most `limit`. */
export function newest(rows: KeyedRow[], limit: number): KeyedRow[] {
  return rows.sort((a, b) => compareKeys(a.key, b.key)).slice(0, limit);
}

/** Orders the newer key first. */
export function compareKeys([aMs, aId]: StateKey, [bMs, bId]: StateKey): number {
  if (aMs !== bMs) return bMs - aMs;
  if (aId === bId) return 0;
  return aId < bId ? 1 : -1;
}

export function matches(row: StateRow, [column, operator, wanted]: StatePredicate): boolean {
  return matchesValue(row[column], operator, wanted);
}

export function matchesValue(value: unknown, operator: StatePredicate[1], wanted: StatePredicate[2]): boolean {
  switch (operator) {
    case "=":
      return isSame(value, wanted);
    case "!=":
      return !isSame(value, wanted);
    case "contains":
      return value !== undefined && value !== null && textOf(value).includes(String(wanted));
    case "<":
      return typeof value === "number" && typeof wanted === "number" && value < wanted;
    case ">":
      return typeof value === "number" && typeof wanted === "number" && value > wanted;
  }
}

/** Texts of a command line are compared with numbers and booleans by how these are written. */
function isSame(value: unknown, wanted: StatePredicate[2]): boolean {
  if (value === undefined || value === null) return wanted === null || wanted === "null";
  return value === wanted || (typeof value !== "object" && textOf(value) === String(wanted));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
