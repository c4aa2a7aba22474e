/**
 * Filters rows of state and takes one page of them: those that match and that lie behind the last page, the newest first or by a column.
 *
 * Filters run over all rows before the limit, and the counts are of all rows, so a page never hides that more match. Used where the rows
 * are: in daemons, in the recorder, and in the reader for rows of the head. Pure.
 */
import type { StateKey, StateOrder, StatePredicate, StateQuery } from "../wire/observing/state-messages.ts";

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

/** Rows that are made only where a page shows them. */
export interface RowSource<T> {
  readonly items: Iterable<T>;
  /** Time of the item's beginning, by which the newest comes first. */
  timeMs(item: T): number;
  id(item: T): string;
  value(item: T, column: string): unknown;
  /** Copies an item of a page out of memory that is used again. */
  keep?(item: T): T;
}

/** An item with its place in a list. */
interface Placed<T> {
  readonly key: StateKey;
  readonly item: T;
}

export interface SelectedItems<T> {
  readonly page: readonly Placed<T>[];
  readonly total: number;
  readonly numFiltered: number;
}

/** Number of items beyond a page that are gathered before they are sorted. */
const GATHERED_MORE = 1024;

export function selectRows(all: Iterable<KeyedRow>, query: StateQuery): SelectedRows {
  const { page, ...counts } = selectItems<KeyedRow>(
    { items: all, timeMs: ({ key }) => Number(key[0]), id: ({ key }) => key[1], value: ({ row }, column) => row[column] },
    query,
  );
  return { rows: page.map(({ key, item }) => ({ key, row: item.row })), ...counts };
}

/** Looks at each item once, in memory for two pages. */
export function selectItems<T>(source: RowSource<T>, { filters, limit, before, order }: StateQuery): SelectedItems<T> {
  let gathered: Placed<T>[] = [];
  let total = 0;
  let numFiltered = 0;
  /** Items behind this place are on no page of this size. */
  let last: StateKey | undefined;
  const cut = (): void => {
    gathered = gathered.sort((a, b) => compareKeys(a.key, b.key, order)).slice(0, limit);
    if (gathered.length === limit) last = gathered.at(-1)?.key;
  };
  for (const item of source.items) {
    total += 1;
    if (!filters.every(([column, operator, wanted]) => matchesValue(source.value(item, column), operator, wanted))) continue;
    numFiltered += 1;
    const value = order === undefined ? source.timeMs(item) : sortable(source.value(item, order.column));
    // An id is made only where values leave the order open.
    if (last !== undefined && compareValues(value, last[0], order) > 0) continue;
    if (before !== undefined && compareValues(value, before[0], order) < 0) continue;
    const key: StateKey = [value, source.id(item)];
    if (before !== undefined && compareKeys(key, before, order) <= 0) continue;
    gathered.push({ key, item: source.keep?.(item) ?? item });
    if (gathered.length >= 2 * limit + GATHERED_MORE) cut();
  }
  cut();
  return { page: gathered, total, numFiltered };
}

/** Sorts rows of several sources and keeps at most `limit`. */
export function firstRows(rows: KeyedRow[], { limit, order }: Pick<StateQuery, "limit" | "order">): KeyedRow[] {
  return rows.sort((a, b) => compareKeys(a.key, b.key, order)).slice(0, limit);
}

/** Without an order the newer key comes first. */
function compareKeys([aValue, aId]: StateKey, [bValue, bId]: StateKey, order: StateOrder | undefined): number {
  const byValue = compareValues(aValue, bValue, order);
  if (byValue !== 0 || aId === bId) return byValue;
  return aId < bId ? 1 : -1;
}

/** Rows without a value come last in both directions. */
function compareValues(a: StateKey[0], b: StateKey[0], order: StateOrder | undefined): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  const isBefore = typeof a === typeof b ? a < b : typeof a < typeof b;
  return isBefore === (order === undefined || order.isDescending) ? 1 : -1;
}

function sortable(value: unknown): StateKey[0] {
  return typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && !Number.isNaN(value)) ? value : null;
}

export function matches(row: StateRow, [column, operator, wanted]: StatePredicate): boolean {
  return matchesValue(row[column], operator, wanted);
}

function matchesValue(value: unknown, operator: StatePredicate[1], wanted: StatePredicate[2]): boolean {
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
