/**
 * The headers of questions about the state of a cluster, and of their answers; the numbers are in `messages.ts`.
 *
 * A question names one node, whose daemon filters its rows and sends the newest that match. Rows are plain data with Ray's column names
 * (`ops/state/columns.ts`); each has a key, by which answers of several nodes are merged.
 */
import {
  count,
  either,
  exactly,
  fields,
  flag,
  leaf,
  list,
  named,
  number,
  type Of,
  optional,
  record,
  text,
  tuple,
  unchecked,
} from "../header-shape.ts";

const value = either(
  text,
  number,
  flag,
  leaf<null>("null", (given) => given === null),
);

/** The value of the sorted column, by default the time of the beginning in milliseconds since 1970, and the id of the row. */
const stateKey = tuple(value, text);
export type StateKey = readonly [value: string | number | boolean | null, id: string];

const stateOrder = fields({ column: text, isDescending: flag });
/** The column that rows are sorted by. */
export type StateOrder = Of<typeof stateOrder>;
/** A condition on a column. `contains`, `<` and `>` hold for no row without a value. */
const predicate = tuple(text, exactly("=", "!=", "contains", "<", ">"), value);
export type StatePredicate = readonly [
  column: string,
  operator: "=" | "!=" | "contains" | "<" | ">",
  value: string | number | boolean | null,
];

const stateQuery = named(
  "state query",
  fields({
    filters: list(predicate),
    limit: count,
    /** Only rows behind this key, for the pages after the first. */
    before: optional(stateKey),
    /** Absent: the newest first. */
    order: optional(stateOrder),
    /** With all columns. */
    detail: flag,
  }),
);
/** See `stateQuery`. */
export interface StateQuery {
  readonly filters: readonly StatePredicate[];
  readonly limit: number;
  readonly before?: StateKey | undefined;
  readonly order?: StateOrder | undefined;
  readonly detail: boolean;
}

/** Rows that a daemon lists. */
const nodeResource = exactly("workers", "jobs", "tasks", "task_counts", "task_spans", "pending_tasks", "pending_counts");
export type NodeResource = Of<typeof nodeResource>;

/** Ids of calls that have begun, as workers say. Their callers leave them out. */
const begun = list(text);

export const nodeStateAsked = fields({ node: text, resource: nodeResource, query: stateQuery, begun: optional(begun) });

export const openCallsAsked = fields({ resource: exactly("pending_tasks", "pending_counts"), query: stateQuery, begun });
export type OpenCallsAsked = Of<typeof openCallsAsked>;

const page = {
  rows: list(record(unchecked<unknown>())),
  /** The keys of the rows. */
  keys: list(stateKey),
  /** Number of all rows, and of those that match. */
  total: count,
  numFiltered: count,
};

export const openCallsAnswer = fields({ ...page, warnings: list(text) });

export const nodeStateAnswer = fields({
  ...page,
  /** Rows that are counted and were not kept. */
  numDropped: count,
  /** Time of the answer, in milliseconds since 1970. */
  asOfMs: number,
  warnings: list(text),
  /** Ids of the calls that run, in answers about tasks and their counts. */
  begun: optional(begun),
});

export const callFailed = fields({ caller: text, callId: count, type: text, message: text, stack: text });
