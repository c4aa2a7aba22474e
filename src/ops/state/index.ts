/**
 * `shoal/state` lists and counts the parts of a cluster, as Ray's state API does.
 *
 * Each list has the newest rows first, with the number of all rows and of those that match. Filters run where the rows are, before the
 * limit. The functions ask the cluster of this program.
 */
import { askNode } from "../../core/internal.ts";
import { ShoalError } from "../../runtime/base/errors.ts";
import { logTexts } from "./log-lines.ts";
import { HistoryReader } from "./history-reader.ts";
import { type FoundProcess, Inspector, type ProcessSource, type Profile, type StackAnswer } from "./inspector.ts";
import { PROFILE_DEFAULT_MS, PROFILE_MAX_MS } from "./limits.ts";
import { LogReader, type LogSource } from "./log-reader.ts";
import { LiveReader } from "./live-reader.ts";
import {
  type ActorState,
  camelRow,
  type JobState,
  type NodeState,
  type PlacementGroupState,
  snakeColumn,
  snakeFilter,
  type TaskState,
  type WorkerState,
} from "./rows.ts";
import { timelineTexts } from "./timeline.ts";
import type { ListQuery, StateFilter, StateReader, StateResource, SummaryAnswer } from "./state-reader.ts";

export type { ActorState, DeathCause, JobState, NodeState, PlacementGroupState, TaskState, WorkerState } from "./rows.ts";
export type { ProcessSource, Profile, StackAnswer } from "./inspector.ts";
export type { StackFrame, ThreadStack } from "../../runtime/os/inspector/process-inspector.ts";
export type { LogSource } from "./log-reader.ts";
export type { StateFilter } from "./state-reader.ts";

/** Options of lists. */
export interface ListOptions extends ListQuery {
  /** Conditions that a row meets, all of them: `[["state", "=", "ALIVE"]]`. Operators: `=`, `!=`, `contains`, `<`, `>`. */
  readonly filters?: readonly StateFilter[] | undefined;
  /** A run's folder, or its folder `history`: rows are read from there, and no cluster is asked. */
  readonly history?: string | readonly string[] | undefined;
}

/** Options of `timeline`. */
export type TimelineOptions = Pick<ListOptions, "filters" | "timeoutMs" | "history">;

/** A page of rows. */
export interface Page<Row> {
  /** The newest first. */
  readonly rows: Row[];
  /** Number of all rows, filters and limit aside. */
  readonly total: number;
  /** Number of the rows that the filters accept. */
  readonly numFiltered: number;
  /** Rows that are counted and were not kept. */
  readonly numDropped: number;
  /** The `pageToken` of the next page; undefined on the last one. */
  readonly nextPageToken: string | undefined;
  /** Nodes that did not answer, and what else is missing. */
  readonly warnings: string[];
  /** When the answer was made, in milliseconds since 1970. */
  readonly asOfMs: number;
}

/** Counts of one name. */
export interface SummaryRow {
  readonly name: string;
  readonly type: string;
  readonly stateCounts: Readonly<Record<string, number>>;
}

/** Counts by name and state. */
export interface Summary {
  readonly total: number;
  readonly rows: SummaryRow[];
  readonly warnings: string[];
  readonly asOfMs: number;
}

/** Options of `getProfile`. One of `id`, `actorId`, `taskId`, `workerId` and `pid` is needed. */
export interface GetProfileOptions extends ProcessSource {
  /**
   * `cpu` (a `.cpuprofile`), `heap` (a `.heapprofile` of allocations) or `snapshot` (a `.heapsnapshot`; the process stands still meanwhile).
   * Default: `cpu`.
   */
  readonly profile?: Profile | undefined;
  /** Length of the profile, at most 600,000. Default: 5,000. */
  readonly durationMs?: number | undefined;
}

/** Options of `listLogs`. */
export interface ListLogsOptions {
  /** Default: all nodes. */
  readonly nodeId?: string | undefined;
  /** With `*` and `?`: `worker-*.err`. Default: all files. */
  readonly glob?: string | undefined;
  /** How long a node may take to answer. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** A log file of a node. */
export interface LogFileState {
  readonly nodeId: string;
  readonly filename: string;
  readonly sizeBytes: number;
  /** In milliseconds since 1970. */
  readonly modifiedMs: number;
  /** Whether more may be written to it. */
  readonly isLive: boolean;
}

/** The log files of a cluster. */
export interface LogFiles {
  /** The newest of each node first. */
  readonly rows: LogFileState[];
  /** Nodes that did not answer. */
  readonly warnings: string[];
}

/** Options of `getLog`. One of `actorId`, `taskId`, `workerId`, `pid` and `filename` is needed. */
export interface GetLogOptions extends LogSource {
  /** Lines from the end; -1: all. Default: 1,000. */
  readonly tail?: number | undefined;
  /** Go on as more is printed, until the process or the task ends. Default: false. */
  readonly follow?: boolean | undefined;
  /** With `follow`: time between two looks. Default: 250. */
  readonly intervalMs?: number | undefined;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
}

const reader = new LiveReader(async (type, header, options) => (await askNode(type, header, options)).header);
const inspector = new Inspector((type, header, options) => askNode(type, header, options), reader);
const logs = new LogReader((type, header, options) => askNode(type, header, options), reader);

/**
 * Lists actors, those that have ended among them.
 *
 * @throws RangeError for an unknown column or operator, a wrong limit, or a page token of another query
 * @example
 * const { rows } = await listActors({ filters: [["state", "=", "DEAD"]], detail: true });
 */
export const listActors = (options?: ListOptions): Promise<Page<ActorState>> => list("actors", options);
/** Lists the programs that are, or were, connected. See `listActors`. */
export const listJobs = (options?: ListOptions): Promise<Page<JobState>> => list("jobs", options);
/** Lists nodes, those that have gone among them. See `listActors`. */
export const listNodes = (options?: ListOptions): Promise<Page<NodeState>> => list("nodes", options);
/** Lists placement groups. See `listActors`. */
export const listPlacementGroups = (options?: ListOptions): Promise<Page<PlacementGroupState>> => list("placement_groups", options);
/**
 * Lists calls of tasks and of actors: those that wait, that run, and that have ended. `total` is exact; each node keeps the last 131,072 rows of
 * ended calls (`numDropped`).
 * See `listActors`.
 */
export const listTasks = (options?: ListOptions): Promise<Page<TaskState>> => list("tasks", options);
/** Lists the processes that run calls, and programs; each node knows its last 1,000 that ended. See `listActors`. */
export const listWorkers = (options?: ListOptions): Promise<Page<WorkerState>> => list("workers", options);

/** Lists all pages of `listActors`, one row at a time. `limit` is the size of a page. */
export const iterActors = (options?: ListOptions): AsyncGenerator<ActorState, void, undefined> => iterate("actors", options);
/** Lists all pages of `listJobs`. See `iterActors`. */
export const iterJobs = (options?: ListOptions): AsyncGenerator<JobState, void, undefined> => iterate("jobs", options);
/** Lists all pages of `listNodes`. See `iterActors`. */
export const iterNodes = (options?: ListOptions): AsyncGenerator<NodeState, void, undefined> => iterate("nodes", options);
/** Lists all pages of `listPlacementGroups`. See `iterActors`. */
export const iterPlacementGroups = (options?: ListOptions): AsyncGenerator<PlacementGroupState, void, undefined> =>
  iterate("placement_groups", options);
/** Lists all pages of `listTasks`. See `iterActors`. */
export const iterTasks = (options?: ListOptions): AsyncGenerator<TaskState, void, undefined> => iterate("tasks", options);
/** Lists all pages of `listWorkers`. See `iterActors`. */
export const iterWorkers = (options?: ListOptions): AsyncGenerator<WorkerState, void, undefined> => iterate("workers", options);

/** Returns one actor with all columns; undefined for an unknown id. */
export const getActor = (id: string): Promise<ActorState | undefined> => get("actors", id);
/** Returns one program. See `getActor`. */
export const getJob = (id: string): Promise<JobState | undefined> => get("jobs", id);
/** Returns one node. See `getActor`. */
export const getNode = (id: string): Promise<NodeState | undefined> => get("nodes", id);
/** Returns one placement group. See `getActor`. */
export const getPlacementGroup = (id: string): Promise<PlacementGroupState | undefined> => get("placement_groups", id);
/** Returns one call; undefined also where its row was not kept. See `getActor`. */
export const getTask = (id: string): Promise<TaskState | undefined> => get("tasks", id);
/** Returns one process. See `getActor`. */
export const getWorker = (id: string): Promise<WorkerState | undefined> => get("workers", id);

/** Lists the log files of all nodes, or of one: output of workers, dead ones too, and the logs of head, node and dashboard. */
export async function listLogs(options: ListLogsOptions = {}): Promise<LogFiles> {
  const { rows, warnings } = await logs.list(options);
  const files = rows.map(({ nodeId, name: filename, sizeBytes, modifiedMs, isLive }) => ({
    nodeId,
    filename,
    sizeBytes,
    modifiedMs,
    isLive,
  }));
  return { rows: files, warnings };
}

/**
 * Reads output of an actor, a task or a worker, or a log file, in pieces as it comes.
 *
 * @throws RangeError where not one thing is named, ShoalError where there is no such output
 * @example
 * for await (const text of getLog({ actorId, tail: 100, follow: true })) process.stdout.write(text);
 */
export async function* getLog({ tail, follow, intervalMs, signal, ...source }: GetLogOptions): AsyncGenerator<string, void, undefined> {
  if (tail !== undefined && !(Number.isSafeInteger(tail) && tail >= -1))
    throw new RangeError(`Cannot read a log: tail is a whole number from 0, or -1 for all lines: received ${tail}`);
  const found = await logs.find(source);
  if (found.kind === "none") {
    const { reason, hint } = found;
    throw new ShoalError(`Cannot read a log: ${reason}.`, { reason, hint });
  }
  yield* logTexts(logs.read(found, { tail, follow, intervalMs, signal, timeoutMs: source.timeoutMs }));
}

/**
 * Returns the stacks of a process: of a worker, a program, an actor or a running task. The process may compute without end. A thread
 * without frames waits for events.
 *
 * @throws RangeError where not one thing is named, ShoalError where there is no such process or it cannot be looked into
 * @example
 * const { threads } = await getStack({ actorId });
 * for (const { function: name, file, line } of threads[0]?.frames ?? []) console.log(name, file, line);
 */
export async function getStack(source: ProcessSource): Promise<StackAnswer> {
  return await inspector.stack(await processFor(source));
}

/**
 * Records where a process spends time or memory, as JSON in pieces, which Chrome and Visual Studio Code open.
 *
 * @throws RangeError where not one thing is named or for a wrong length, ShoalError where there is no such process
 * @example
 * await pipeline(getProfile({ actorId, durationMs: 10_000 }), createWriteStream("actor.cpuprofile"));
 */
export async function* getProfile(options: GetProfileOptions): AsyncGenerator<string, void, undefined> {
  const { profile = "cpu", durationMs = PROFILE_DEFAULT_MS, ...source } = options;
  if (!(Number.isSafeInteger(durationMs) && durationMs > 0 && durationMs <= PROFILE_MAX_MS))
    throw new RangeError(`Cannot make a profile: durationMs is a whole number from 1 to ${PROFILE_MAX_MS}: received ${String(durationMs)}`);
  yield* inspector.profile(await processFor(source), profile, durationMs);
}

async function processFor(source: ProcessSource): Promise<FoundProcess> {
  const found = await inspector.find(source);
  if (found.kind === "found") return found.process;
  const { reason, hint } = found;
  throw new ShoalError(`Cannot look into a process: ${reason}.`, { reason, hint });
}

/**
 * Writes all calls that have begun as a Chrome trace, in pieces of JSON, which Perfetto opens.
 *
 * @throws RangeError for an unknown column or operator
 * @example
 * import { createWriteStream } from "node:fs";
 * await pipeline(timeline({ filters: [["name", "contains", "resize"]] }), createWriteStream("trace.json"));
 */
export function timeline({ filters, timeoutMs, history }: TimelineOptions = {}): AsyncGenerator<string, void, undefined> {
  return timelineTexts(readerOf(history).spans({ filters: filters?.map(snakeFilter), timeoutMs }));
}

/** Counts actors by class and state. */
export const summarizeActors = async (): Promise<Summary> => summaryOf(await reader.summarize("actors"));
/** Counts calls by name and state, those too whose rows were not kept. */
export const summarizeTasks = async (): Promise<Summary> => summaryOf(await reader.summarize("tasks"));

function readerOf(history: ListOptions["history"]): StateReader {
  if (history === undefined) return reader;
  return typeof history === "string" ? new HistoryReader(history) : new HistoryReader(...history);
}

async function list<Row>(resource: StateResource, options: ListOptions = {}): Promise<Page<Row>> {
  const { filters, sortBy, history, ...query } = options;
  const sorted = typeof sortBy === "string" ? { sortBy: snakeColumn(sortBy) } : {};
  const answer = await readerOf(history).list(resource, { ...query, filters: filters?.map(snakeFilter), ...sorted });
  const { partial_failure_warning: failure, next_page_token: token } = answer;
  return {
    rows: answer.rows.map((row) => camelRow<Row>(row)),
    total: answer.total,
    numFiltered: answer.num_filtered,
    numDropped: answer.num_dropped,
    nextPageToken: token ?? undefined,
    warnings: failure === null ? answer.warnings : [failure, ...answer.warnings],
    asOfMs: answer.as_of_ms,
  };
}

async function* iterate<Row>(resource: StateResource, options: ListOptions = {}): AsyncGenerator<Row, void, undefined> {
  let { pageToken } = options;
  do {
    const page = await list<Row>(resource, { ...options, pageToken });
    yield* page.rows;
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
}

async function get<Row>(resource: StateResource, id: string): Promise<Row | undefined> {
  const row = await reader.get(resource, id);
  return row === undefined ? undefined : camelRow<Row>(row);
}

function summaryOf({ total, rows, warnings, as_of_ms: asOfMs }: SummaryAnswer): Summary {
  return { total, rows: rows.map(({ name, type, state_counts: stateCounts }) => ({ name, type, stateCounts })), warnings, asOfMs };
}
