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
  | "cause"
  | "bundles"
  | "log";

export interface Column {
  readonly title: string;
  readonly field: string;
  readonly kind: CellKind;
}

export interface ListPage {
  /** In the address, and of the route. */
  readonly name: string;
  readonly title: string;
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
    id: "task_id",
    stateField: "state",
    states: named("RUNNING", "FINISHED", "FAILED"),
    filters: [
      ["name", "name"],
      ["error_type", "error"],
      ["task_id", "id"],
      ["actor_id", "actor"],
      ["node_id", "node"],
      ["job_id", "job"],
    ],
    columns: [
      column("State", "state", "state"),
      column("Name", "name"),
      column("Started", "start_time_ms", "time"),
      column("Took", "end_time_ms", "duration"),
      column("Error", "error_message", "lines"),
      column("Output", "task_id", "log"),
      column("Process", "worker_pid", "number"),
      column("Node", "node_id", "shortId"),
      column("Id", "task_id", "id"),
    ],
  },
  {
    name: "workers",
    title: "Workers",
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
