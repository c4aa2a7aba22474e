/**
 * The pages with lists: which columns of the state API each shows, and by which its rows are filtered.
 *
 * Names of columns are those of `/api/v0/*`, whose filters run at the source of the rows. How a cell looks is decided by its kind.
 */

type CellKind =
  | "text"
  | "id"
  | "shortId"
  | "number"
  | "state"
  | "alive"
  | "use"
  | "resources"
  | "labels"
  | "time"
  | "duration"
  | "lines"
  | "why"
  | "cause"
  | "bundles"
  | "log";

export interface Column {
  readonly title: string;
  readonly field: string;
  readonly kind: CellKind;
}

/** Kinds of cells whose columns have an order. */
const SORTED: ReadonlySet<CellKind> = new Set(["text", "id", "shortId", "number", "state", "alive", "time", "duration"]);

/** Nodes have their use from another route, which has no order. */
export function isSortable({ kind }: Column): boolean {
  return SORTED.has(kind);
}

export interface ListPage {
  /** The name in the address and in the route. */
  readonly name: string;
  readonly title: string;
  /** The noun for one row. */
  readonly single: string;
  readonly id: string;
  readonly stateField: string;
  /** Values of the state, with the name of each on the page. */
  readonly states: readonly (readonly [value: string, title: string])[];
  /** Columns that the text filter takes, the usual one first. */
  readonly filters: readonly (readonly [field: string, title: string])[];
  readonly columns: readonly Column[];
}

const column = (title: string, field: string, kind: CellKind = "text"): Column => ({ title, field, kind });
const named = (...states: string[]): [string, string][] => states.map((state) => [state, state]);

export const PAGES: readonly ListPage[] = [
  {
    name: "nodes",
    title: "Nodes",
    single: "Node",
    id: "node_id",
    stateField: "state",
    states: named("ALIVE", "DEAD"),
    filters: [
      ["node_name", "name"],
      ["node_id", "id"],
      ["labels", "labels"],
    ],
    columns: [
      column("State", "state", "state"),
      column("Name", "node_name"),
      column("In use", "use", "use"),
      column("Labels", "labels", "labels"),
      column("Message", "state_message"),
      column("Address", "node_ip"),
      column("Id", "node_id", "id"),
    ],
  },
  {
    name: "actors",
    title: "Actors",
    single: "Actor",
    id: "actor_id",
    stateField: "state",
    states: named("PENDING_CREATION", "ALIVE", "RESTARTING", "DEAD"),
    filters: [
      ["class_name", "class"],
      ["name", "name"],
      ["actor_id", "id"],
      ["node_id", "node"],
      ["job_id", "job"],
    ],
    columns: [
      column("State", "state", "state"),
      column("Class", "class_name"),
      column("Name", "name"),
      column("Started", "start_time_ms", "time"),
      column("Restarts", "num_restarts", "number"),
      column("Needs", "required_resources", "resources"),
      column("End", "death_cause", "cause"),
      column("Output", "actor_id", "log"),
      column("Process", "pid", "number"),
      column("Namespace", "ray_namespace"),
      column("Node", "node_id", "shortId"),
      column("Id", "actor_id", "id"),
    ],
  },
  {
    name: "tasks",
    title: "Tasks",
    single: "Task",
    id: "task_id",
    stateField: "state",
    states: named(
      "PENDING_ARGS_AVAIL",
      "PENDING_NODE_ASSIGNMENT",
      "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY",
      "SUBMITTED_TO_WORKER",
      "RUNNING",
      "FINISHED",
      "FAILED",
    ),
    filters: [
      ["name", "name"],
      ["error_type", "error"],
      ["task_id", "id"],
      ["actor_id", "actor"],
      ["node_id", "node"],
      ["parent_task_id", "parent"],
      ["job_id", "job"],
    ],
    columns: [
      column("State", "state", "state"),
      column("Name", "name"),
      column("Started", "start_time_ms", "time"),
      column("Took", "duration_ms", "duration"),
      column("Error or wait", "error_message", "why"),
      column("Output", "task_id", "log"),
      column("Process", "worker_pid", "number"),
      column("Node", "node_id", "shortId"),
      column("Id", "task_id", "id"),
    ],
  },
  {
    name: "workers",
    title: "Workers",
    single: "Worker",
    id: "worker_id",
    stateField: "is_alive",
    states: [
      ["true", "ALIVE"],
      ["false", "DEAD"],
    ],
    filters: [
      ["worker_type", "type"],
      ["exit_type", "end"],
      ["worker_id", "id"],
      ["node_id", "node"],
    ],
    columns: [
      column("State", "is_alive", "alive"),
      column("Type", "worker_type"),
      column("Process", "pid", "number"),
      column("Started", "start_time_ms", "time"),
      column("Ended", "end_time_ms", "time"),
      column("End", "exit_type"),
      column("Cause", "exit_detail", "lines"),
      column("Output", "worker_id", "log"),
      column("Address", "ip"),
      column("Node", "node_id", "shortId"),
      column("Id", "worker_id", "id"),
    ],
  },
  {
    name: "placement_groups",
    title: "Placement groups",
    single: "Placement group",
    id: "placement_group_id",
    stateField: "state",
    states: named("PENDING", "CREATED", "RESCHEDULING", "REMOVED"),
    filters: [
      ["name", "name"],
      ["placement_group_id", "id"],
    ],
    columns: [
      column("State", "state", "state"),
      column("Name", "name"),
      column("Strategy", "strategy"),
      column("Bundles", "bundles", "bundles"),
      column("Namespace", "ray_namespace"),
      column("Id", "placement_group_id", "id"),
    ],
  },
];

/** The pages on which the ids of columns lead to details, by column. */
export const PAGE_OF_ID: Readonly<Record<string, string>> = {
  node_id: "nodes",
  driver_node_id: "nodes",
  actor_id: "actors",
  task_id: "tasks",
  parent_task_id: "tasks",
  worker_id: "workers",
  placement_group_id: "placement_groups",
};

/** Columns whose logs can be read. */
export const WITH_LOG: ReadonlySet<string> = new Set(["actor_id", "task_id", "worker_id"]);

/** Lists that belong to a row, by its page: the title, the page, and the column that has the row's id. */
export const LISTS_OF_ROW: Readonly<Record<string, readonly (readonly [title: string, page: string, column: string])[]>> = {
  nodes: [
    ["Tasks on this node", "tasks", "node_id"],
    ["Actors on this node", "actors", "node_id"],
    ["Workers of this node", "workers", "node_id"],
  ],
  actors: [["Calls of this actor", "tasks", "actor_id"]],
  tasks: [["Calls that it made", "tasks", "parent_task_id"]],
};
