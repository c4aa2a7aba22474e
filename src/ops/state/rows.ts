/**
 * The rows of `shoal/state` as TypeScript has them: the columns of `columns.ts` in camel case.
 *
 * A column is null where its value is not known, and absent where the list was asked without `detail`.
 * Filters may name columns in either spelling.
 */
import type { StateRow } from "../../runtime/observe/select-rows.ts";
import type { StateFilter } from "./state-reader.ts";

/** Why a process ended. */
export interface DeathCause {
  readonly reason: string | null;
  readonly signal: string | null;
  readonly exitCode: number | null;
  /** The end of the output. */
  readonly lastLines: readonly string[];
}

export interface ActorState {
  readonly actorId: string;
  readonly className: string;
  readonly state: "PENDING_CREATION" | "ALIVE" | "RESTARTING" | "DEAD";
  readonly jobId: string;
  /** Empty for actors without a name. */
  readonly name: string;
  readonly nodeId: string | null;
  readonly pid: number | null;
  readonly rayNamespace: string;
  readonly workerId?: string | null;
  readonly requiredResources?: Readonly<Record<string, number>>;
  /** How its last process ended. */
  readonly deathCause?: DeathCause | null;
  readonly isDetached?: boolean;
  readonly placementGroupId?: string | null;
  readonly numRestarts?: number;
  /** -1: without a limit. */
  readonly maxRestarts?: number;
  /** In milliseconds since 1970; 0 where it is not known. */
  readonly startTimeMs?: number;
}

export interface JobState {
  readonly jobId: string;
  readonly submissionId: string | null;
  readonly entrypoint: string | null;
  readonly type: string;
  readonly status: string;
  readonly message: string | null;
  readonly errorType: string | null;
  readonly driverInfo: { readonly id: string; readonly nodeIpAddress: string; readonly pid: string };
  readonly startTime?: number;
  readonly endTime?: number | null;
  readonly driverNodeId?: string;
}

export interface NodeState {
  readonly nodeId: string;
  readonly nodeIp: string;
  readonly state: "ALIVE" | "DEAD";
  /** Why it is dead, or that it is being drained. */
  readonly stateMessage: string | null;
  readonly nodeName: string;
  readonly resourcesTotal: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly endTimeMs?: number | null;
}

export interface PlacementGroupState {
  readonly placementGroupId: string;
  readonly name: string;
  readonly state: "PENDING" | "CREATED" | "RESCHEDULING" | "REMOVED";
  readonly rayNamespace: string;
  readonly strategy?: string;
  readonly bundles?: readonly {
    readonly bundleIndex: number;
    readonly resources: Readonly<Record<string, number>>;
    readonly nodeId: string | null;
  }[];
  readonly isDetached?: boolean;
}

/** A call of a function or of an actor's method. */
export interface TaskState {
  readonly taskId: string;
  /** How often it was tried before. */
  readonly attemptNumber: number;
  /** Name of the function, or `Class.method`. */
  readonly name: string;
  /** The first four: it has not begun. */
  readonly state:
    | "PENDING_ARGS_AVAIL"
    | "PENDING_NODE_ASSIGNMENT"
    | "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY"
    | "SUBMITTED_TO_WORKER"
    | "RUNNING"
    | "FINISHED"
    | "FAILED";
  readonly jobId: string;
  readonly actorId: string | null;
  readonly type: "NORMAL_TASK" | "ACTOR_TASK";
  readonly funcOrClassName: string;
  /** Null until it has begun. */
  readonly nodeId: string | null;
  /** Null until it was sent to a worker. */
  readonly workerId: string | null;
  readonly workerPid: number | null;
  /** Ray's words: `TASK_EXECUTION_EXCEPTION`, `TASK_CANCELLED` or `WORKER_DIED`. */
  readonly errorType: string | null;
  /** Null until it has begun. */
  readonly startTimeMs?: number | null;
  readonly endTimeMs?: number | null;
  /** From its start to its end, or until now. */
  readonly durationMs?: number | null;
  /** The call that made it; null where it was made by a program. */
  readonly parentTaskId?: string | null;
  /** Why it has not begun, in one line. */
  readonly pendingReason?: string | null;
  /** The error's stack, or how the worker ended. */
  readonly errorMessage?: string | null;
}

export interface WorkerState {
  readonly workerId: string;
  readonly isAlive: boolean;
  readonly workerType: "DRIVER" | "WORKER";
  /** Ray's words, such as `SYSTEM_ERROR` and `NODE_OUT_OF_MEMORY`. */
  readonly exitType: string | null;
  readonly nodeId: string;
  readonly ip: string;
  readonly pid: number;
  readonly exitDetail?: string | null;
  readonly deathCause?: DeathCause | null;
  readonly startTimeMs?: number;
  readonly endTimeMs?: number | null;
}

/** Columns whose values have fields with fixed names; the keys of the others are the user's. */
const WITH_FIELDS: ReadonlySet<string> = new Set(["bundles", "death_cause", "driver_info"]);

// oxlint-disable-next-line no-unnecessary-type-parameters -- callers name the type of the row
export function camelRow<T>(row: StateRow): T {
  const entries = Object.entries(row).map(([name, value]) => [camel(name), WITH_FIELDS.has(name) ? camelFields(value) : value]);
  // The source gives each column the type that the table of columns names.
  return Object.fromEntries(entries) as T;
}

/** Takes columns in camel case, too. */
export function snakeFilter(filter: StateFilter): StateFilter {
  if (!Array.isArray(filter) || typeof filter[0] !== "string") return filter;
  const [name, ...rest] = filter as StateFilter;
  return [snakeColumn(name), ...rest];
}

export function snakeColumn(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camelFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelFields);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [camel(name), name === "resources" ? field : camelFields(field)]));
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
