/**
 * The columns of each resource: Ray's names, types and order. Queries are checked by this table before they are sent.
 *
 * Columns of `detail` are shown only when asked for, but a filter may name each column.
 * Values of filters get the type of their column here: texts of a command line become numbers.
 */
import { nearNames } from "../../runtime/base/texts/near-names.ts";
import type { StateOrder } from "../../runtime/wire/observing/state-messages.ts";
import type { ListQuery, StateFilter, StateResource } from "./state-reader.ts";

type ColumnKind = "text" | "number" | "boolean" | "object";

interface Column {
  readonly kind: ColumnKind;
  readonly isDetail?: true;
}

interface ResourceColumns {
  /** The column by which `get` finds a row. */
  readonly id: string;
  readonly columns: Readonly<Record<string, Column>>;
}

const TEXT: Column = { kind: "text" };
const NUMBER: Column = { kind: "number" };
const BOOLEAN: Column = { kind: "boolean" };
const OBJECT: Column = { kind: "object" };
const detail = (column: Column): Column => ({ ...column, isDetail: true });

export const COLUMNS: Readonly<Record<StateResource, ResourceColumns>> = {
  actors: {
    id: "actor_id",
    columns: {
      actor_id: TEXT,
      class_name: TEXT,
      state: TEXT,
      job_id: TEXT,
      name: TEXT,
      node_id: TEXT,
      pid: NUMBER,
      ray_namespace: TEXT,
      worker_id: detail(TEXT),
      required_resources: detail(OBJECT),
      death_cause: detail(OBJECT),
      is_detached: detail(BOOLEAN),
      placement_group_id: detail(TEXT),
      num_restarts: detail(NUMBER),
      max_restarts: detail(NUMBER),
      start_time_ms: detail(NUMBER),
    },
  },
  jobs: {
    id: "job_id",
    columns: {
      job_id: TEXT,
      submission_id: TEXT,
      entrypoint: TEXT,
      type: TEXT,
      status: TEXT,
      message: TEXT,
      error_type: TEXT,
      driver_info: OBJECT,
      start_time: detail(NUMBER),
      end_time: detail(NUMBER),
      driver_node_id: detail(TEXT),
    },
  },
  nodes: {
    id: "node_id",
    columns: {
      node_id: TEXT,
      node_ip: TEXT,
      state: TEXT,
      state_message: TEXT,
      node_name: TEXT,
      resources_total: OBJECT,
      labels: OBJECT,
      end_time_ms: detail(NUMBER),
    },
  },
  placement_groups: {
    id: "placement_group_id",
    columns: {
      placement_group_id: TEXT,
      name: TEXT,
      state: TEXT,
      ray_namespace: TEXT,
      strategy: detail(TEXT),
      bundles: detail(OBJECT),
      is_detached: detail(BOOLEAN),
    },
  },
  tasks: {
    id: "task_id",
    columns: {
      task_id: TEXT,
      attempt_number: NUMBER,
      name: TEXT,
      state: TEXT,
      job_id: TEXT,
      actor_id: TEXT,
      type: TEXT,
      func_or_class_name: TEXT,
      node_id: TEXT,
      worker_id: TEXT,
      worker_pid: NUMBER,
      error_type: TEXT,
      start_time_ms: detail(NUMBER),
      end_time_ms: detail(NUMBER),
      duration_ms: detail(NUMBER),
      error_message: detail(TEXT),
      parent_task_id: detail(TEXT),
      pending_reason: detail(TEXT),
    },
  },
  workers: {
    id: "worker_id",
    columns: {
      worker_id: TEXT,
      is_alive: BOOLEAN,
      worker_type: TEXT,
      exit_type: TEXT,
      node_id: TEXT,
      ip: TEXT,
      pid: NUMBER,
      exit_detail: detail(TEXT),
      death_cause: detail(OBJECT),
      start_time_ms: detail(NUMBER),
      end_time_ms: detail(NUMBER),
    },
  },
};

const OPERATORS = ["=", "!=", "contains", "<", ">"];

/**
 * Returns filters whose values have the types of their columns.
 *
 * @throws RangeError for an unknown column or operator, or a value that the column cannot have
 */
export function checkedFilters(resource: StateResource, filters: readonly StateFilter[]): StateFilter[] {
  return filters.map((filter) => {
    if (!Array.isArray(filter) || filter.length !== 3)
      throw new RangeError(`Cannot list ${resource}: a filter is [column, operator, value]: received ${JSON.stringify(filter)}`);
    const [name, operator, value] = filter as StateFilter;
    const column = columnOf(resource, name);
    if (!OPERATORS.includes(operator))
      throw new RangeError(`Cannot list ${resource}: a filter's operator is one of ${OPERATORS.join(", ")}: received ${operator}`);
    return [name, operator, operator === "contains" ? String(value) : typedValue({ resource, name, column, operator }, value)];
  });
}

/** @throws RangeError for an unknown column, or one whose values have no order */
export function checkedOrder(
  resource: StateResource,
  { sortBy, isDescending = false }: Pick<ListQuery, "sortBy" | "isDescending">,
): StateOrder | undefined {
  if (sortBy === undefined) {
    if (!isDescending) return undefined;
    throw new RangeError(`Cannot list ${resource}: a descending order needs a column to sort by`);
  }
  if (columnOf(resource, sortBy).kind === "object")
    throw new RangeError(`Cannot list ${resource}: rows are not sorted by ${sortBy}, which has parts. Sort by a text or a number.`);
  return { column: sortBy, isDescending };
}

/** @throws RangeError for a column that the resource has not */
function columnOf(resource: StateResource, name: unknown): Column {
  const { columns } = COLUMNS[resource];
  const column = typeof name === "string" && Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (column !== undefined) return column;
  const near = nearNames(String(name), Object.keys(columns));
  const hint = near.length === 0 ? `It has ${Object.keys(columns).join(", ")}.` : `Did you mean ${near.join(" or ")}?`;
  throw new RangeError(`Cannot list ${resource}: there is no column ${String(name)}. ${hint}`);
}

interface Place {
  readonly resource: StateResource;
  readonly name: string;
  readonly column: Column;
  readonly operator: string;
}

function typedValue({ resource, name, column, operator }: Place, value: unknown): StateFilter[2] {
  const isOrder = operator === "<" || operator === ">";
  if (column.kind === "number" || isOrder) {
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number === "number" && Number.isFinite(number)) return number;
    if (!isOrder && (value === null || value === "null")) return null;
    throw new RangeError(`Cannot list ${resource}: ${name} ${operator} takes a number: received ${JSON.stringify(value)}`);
  }
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  throw new RangeError(`Cannot list ${resource}: ${name} ${operator} takes a text, number or boolean: received ${JSON.stringify(value)}`);
}
