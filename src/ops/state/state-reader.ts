/**
 * `StateReader`: the one way in which commands, pages and programs read the state of a cluster.
 *
 * A reader lists rows with Ray's column names, filters them where they are, and pages through them newest first. The live reader
 * (`live-reader.ts`) asks the head and the daemons. Callers see no difference between sources.
 */
import type { StateRow } from "../../runtime/observe/select-rows.ts";
import type { StatePredicate } from "../../runtime/wire/observing/state-messages.ts";

export const RESOURCES = ["actors", "jobs", "nodes", "placement_groups", "tasks", "workers"] as const;
export type StateResource = (typeof RESOURCES)[number];

/** @throws RangeError for a name that is no resource */
export function requireResource(resource: string): void {
  if (RESOURCES.some((known) => known === resource)) return;
  throw new RangeError(`Cannot list ${resource}: the resources are ${RESOURCES.join(", ")}`);
}

/** A condition on a column: `["state", "=", "ALIVE"]`. Texts are compared with numbers by how those are written. */
export type StateFilter = StatePredicate;

export interface ListQuery {
  readonly filters?: readonly StateFilter[] | undefined;
  /** Rows of a page. Default: 100; at most 10,000. */
  readonly limit?: number | undefined;
  /** The `next_page_token` of the page before, of the same query. */
  readonly pageToken?: string | undefined;
  /** The column to sort by. Rows without a value come last. Default: the newest row first. */
  readonly sortBy?: string | undefined;
  /** Largest values first. Default: false. */
  readonly isDescending?: boolean | undefined;
  /** Show all columns. Default: false. */
  readonly detail?: boolean | undefined;
  /** How long a node may take to answer. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** A page of rows. */
export interface ListAnswer {
  /** The newest first. */
  readonly rows: StateRow[];
  /** Number of all rows of the resource, filters and limit aside. */
  readonly total: number;
  /** Number of the rows that the filters accept. */
  readonly num_filtered: number;
  /** Rows that retention or overruns took. They are counted in `total`. */
  readonly num_dropped: number;
  readonly next_page_token: string | null;
  /** Sources that did not answer, in words. */
  readonly partial_failure_warning: string | null;
  readonly warnings: string[];
  /** When the oldest part of the answer was made, in milliseconds since 1970. */
  readonly as_of_ms: number;
}

/** Rows with the same name, with how many are in each state. */
export interface SummaryRow {
  readonly name: string;
  readonly type: string;
  readonly state_counts: Readonly<Record<string, number>>;
}

export interface SummaryAnswer {
  readonly total: number;
  readonly rows: SummaryRow[];
  readonly warnings: string[];
  readonly as_of_ms: number;
}

/** Calls that have begun, with times to the microsecond. */
export interface SpanBatch {
  /** The newest first, over all batches. */
  readonly rows: readonly StateRow[];
  /** Nodes that did not answer, and calls that are not kept. */
  readonly warnings: readonly string[];
  readonly asOfMs: number;
}

export interface SpanQuery {
  readonly filters?: readonly StateFilter[] | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface StateReader {
  /** @throws RangeError for an unknown resource, column, operator, limit or page token */
  list(resource: StateResource, query?: ListQuery): Promise<ListAnswer>;
  /** Returns the row with all columns, or undefined. */
  get(resource: StateResource, id: string): Promise<StateRow | undefined>;
  /** Lists all calls that have begun, for a timeline. @throws RangeError for an unknown column or operator */
  spans(query?: SpanQuery): AsyncGenerator<SpanBatch, void, undefined>;
  /** Counts rows by name and state. @throws RangeError for a resource without a summary */
  summarize(resource: StateResource): Promise<SummaryAnswer>;
}
