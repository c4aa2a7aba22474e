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
} from "./header-shape.ts";

/** When the row began, in milliseconds since 1970, and its id. Rows are listed newest first, in the order of their keys. */
const stateKey = tuple(number, text);
export type StateKey = readonly [timeMs: number, id: string];

const value = either(
  text,
  number,
  flag,
  leaf<null>("null", (given) => given === null),
);
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
    /** With all columns. */
    detail: flag,
  }),
);
/** See `stateQuery`. */
export interface StateQuery {
  readonly filters: readonly StatePredicate[];
  readonly limit: number;
  readonly before?: StateKey | undefined;
  readonly detail: boolean;
}

/** Rows that a daemon lists. */
const nodeResource = exactly("workers", "jobs", "tasks", "task_counts");
export type NodeResource = Of<typeof nodeResource>;

export const nodeStateAsked = fields({ node: text, resource: nodeResource, query: stateQuery });

export const nodeStateAnswer = fields({
  rows: list(record(unchecked<unknown>())),
  /** The keys of the rows. */
  keys: list(stateKey),
  /** Number of all rows, and of those that match. */
  total: count,
  numFiltered: count,
  /** Rows that are counted and were not kept. */
  numDropped: count,
  /** Time of the answer, in milliseconds since 1970. */
  asOfMs: number,
  warnings: list(text),
});

export const callFailed = fields({ caller: text, callId: count, type: text, message: text, stack: text });
