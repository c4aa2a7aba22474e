/**
 * Shared by all readers of state: makes a question from the parameters of a list, and the answer with a page token.
 *
 * A question asks for one row more than the page shows, which tells whether there is a next page. Pure.
 */
import type { KeyedRow, StateRow } from "../../runtime/observe/select-rows.ts";
import type { StateQuery } from "../../runtime/wire/observing/state-messages.ts";
import { checkedFilters, checkedOrder, COLUMNS } from "./columns.ts";
import { LIMIT_MAX } from "./limits.ts";
import { keyOfPageToken, pageToken } from "./page-token.ts";
import { type ListAnswer, type ListQuery, requireResource, type StateResource } from "./state-reader.ts";

const LIMIT_DEFAULT = 100;

/** Rows of a question, with counts of all rows. */
export interface Gathered {
  readonly rows: readonly KeyedRow[];
  readonly total: number;
  readonly numFiltered: number;
  readonly asOfMs: number;
  readonly warnings: string[];
  readonly numDropped: number;
  /** Why nodes are missing. */
  readonly failures: string[];
}

/** @throws RangeError for an unknown resource, column or operator, a wrong limit, or a page token of another query */
export function stateQuery(resource: StateResource, query: ListQuery): StateQuery {
  const { limit = LIMIT_DEFAULT, detail = false } = query;
  requireResource(resource);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    throw new RangeError(`Cannot list ${resource}: the limit is a whole number from 1 to ${LIMIT_MAX}: received ${limit}`);
  const filters = checkedFilters(resource, query.filters ?? []);
  const order = checkedOrder(resource, query);
  const before = query.pageToken === undefined ? undefined : keyOfPageToken({ resource, filters, order }, query.pageToken);
  return { filters, limit: limit + 1, before, order, detail };
}

export function listAnswer(resource: StateResource, { filters, order, limit, detail }: StateQuery, found: Gathered): ListAnswer {
  const page = found.rows.slice(0, limit - 1);
  const last = page.at(-1);
  const hasMore = found.rows.length >= limit && last !== undefined;
  return {
    rows: page.map(({ row }) => (detail ? row : shown(resource, row))),
    total: found.total,
    num_filtered: found.numFiltered,
    num_dropped: found.numDropped,
    next_page_token: hasMore ? pageToken({ resource, filters, order }, last.key) : null,
    partial_failure_warning: found.failures.length === 0 ? null : found.failures.join(" "),
    warnings: found.warnings,
    as_of_ms: found.asOfMs,
  };
}

/** Drops the columns of details. */
function shown(resource: StateResource, row: StateRow): StateRow {
  const { columns } = COLUMNS[resource];
  return Object.fromEntries(Object.entries(row).filter(([name]) => columns[name]?.isDetail !== true));
}
