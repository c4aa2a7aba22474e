/**
 * Questions of the page to the server: lists of the state API, and a session for a code or a token.
 *
 * Answers that are errors are thrown with the server's own text. The session is a cookie that no script can read.
 */
import type { ListPage } from "./pages.ts";
import type { Place } from "./place.ts";

export type Row = Readonly<Record<string, unknown>>;

export interface List {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly matching: number;
  readonly nextPageToken: string;
  readonly warnings: readonly string[];
  /** When its oldest part was made, in milliseconds since 1970. */
  readonly asOfMs: number;
}

const ROWS_OF_A_PAGE = 100;
const ANSWER_WITHIN_MS = 35_000;
const ERROR_CHARACTERS_MAX = 2_000;

export class ServerError extends Error {
  /** 0 where the server did not answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  /** The session is missing or has expired. */
  get needsLogin(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

/** @throws ServerError */
export async function readList(page: ListPage, place: Place, signal: AbortSignal): Promise<List> {
  const [answer, used] = await Promise.all([
    ask<Envelope>(`/api/v0/${page.name}?${queryOf(page, place)}`, { signal }),
    page.name === "nodes" ? usedByNode(signal) : undefined,
  ]);
  const { result, total, num_filtered, num_dropped, next_page_token, partial_failure_warning, warnings, as_of_ms } = answer.data.result;
  const dropped = num_dropped > 0 ? `${num_dropped.toLocaleString("en")} rows are counted and were not kept.` : "";
  return {
    rows: used === undefined ? result : result.map((row) => ({ ...row, use: used.get(String(row["node_id"])) })),
    total,
    matching: num_filtered,
    nextPageToken: next_page_token ?? "",
    warnings: [partial_failure_warning, ...(warnings ?? []), dropped].filter((text) => text !== ""),
    asOfMs: as_of_ms,
  };
}

/** Reads one row with all columns; undefined where there is none. @throws ServerError */
export async function readRow(page: ListPage, id: string, signal: AbortSignal): Promise<{ row: Row | undefined; asOfMs: number }> {
  const query = new URLSearchParams({ detail: "1", limit: "1", filter_keys: page.id, filter_predicates: "=", filter_values: id });
  const { data } = await ask<Envelope>(`/api/v0/${page.name}?${query}`, { signal });
  return { row: data.result.result[0], asOfMs: data.result.as_of_ms };
}

export interface NodeOverview {
  readonly node_id: string;
  readonly node_name: string;
  readonly state: string;
  readonly resources: Readonly<Record<string, readonly [used: number, total: number]>>;
  readonly cpu_percent: number | null;
  readonly memory_used: number | null;
  readonly memory_total: number | null;
  readonly disk_used: number | null;
  readonly disk_free: number | null;
  readonly store_used: number | null;
  readonly store_total: number | null;
}

export interface Overview {
  readonly nodes: readonly NodeOverview[];
  readonly nodes_gone: number;
  readonly tasks: Readonly<Record<string, number>>;
  readonly actors: Readonly<Record<string, number>>;
  readonly waiting: readonly {
    readonly resources: Readonly<Record<string, number>>;
    readonly count: number;
    readonly isInfeasible: boolean;
  }[];
  readonly failures: readonly Row[];
  readonly longest: readonly Row[];
  readonly dead_actors: readonly Row[];
  readonly warnings: readonly string[];
  readonly as_of_ms: number;
}

/** @throws ServerError */
export async function readOverview(signal: AbortSignal): Promise<Overview> {
  return await ask<Overview>("/api/shoal/overview", { signal });
}

/** A submitted job, or a program that nobody submitted. */
export interface Job {
  readonly type: "SUBMISSION" | "DRIVER";
  readonly id: string;
  readonly status: string;
  readonly entrypoint: string;
  readonly message: string | null;
  readonly startMs: number | null;
  readonly endMs: number | null;
}

interface JobAnswer {
  readonly type: "SUBMISSION" | "DRIVER";
  readonly submission_id: string | null;
  readonly job_id: string | null;
  readonly status: string;
  readonly entrypoint: string;
  readonly message: string | null;
  readonly start_time: number | null;
  readonly end_time: number | null;
}

/** Submitted jobs, the newest first, then programs. @throws ServerError */
export async function readJobs(signal: AbortSignal): Promise<Job[]> {
  const rows = await ask<readonly JobAnswer[]>("/api/jobs/", { signal });
  return rows.map(({ type, submission_id, job_id, status, entrypoint, message, start_time, end_time }) => ({
    type,
    id: submission_id ?? job_id ?? "",
    status,
    entrypoint,
    message,
    startMs: start_time,
    endMs: end_time,
  }));
}

/** Stops a job, or forgets one that has ended. @throws ServerError */
export async function changeJob(id: string, action: "stop" | "delete"): Promise<void> {
  const path = `/api/jobs/${encodeURIComponent(id)}`;
  const init = { headers: { "content-type": "application/json" }, body: "{}" };
  await (action === "stop" ? ask(`${path}/stop`, { method: "POST", ...init }) : ask(path, { method: "DELETE", ...init }));
}

export interface LogFile {
  readonly nodeId: string;
  readonly name: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  readonly isLive: boolean;
}

export interface LogFiles {
  readonly files: readonly LogFile[];
  readonly warnings: readonly string[];
}

interface LogsAnswer {
  readonly data: {
    readonly files: readonly { node_id: string; filename: string; size_bytes: number; modified_ms: number; is_live: boolean }[];
    readonly warnings: readonly string[];
  };
}

/** @throws ServerError */
export async function readLogFiles(signal: AbortSignal): Promise<LogFiles> {
  const { data } = await ask<LogsAnswer>("/api/v0/logs", { signal });
  const files = data.files.map((file) => ({
    nodeId: file.node_id,
    name: file.filename,
    sizeBytes: file.size_bytes,
    modifiedMs: file.modified_ms,
    isLive: file.is_live,
  }));
  return { files, warnings: data.warnings };
}

export interface LogStep {
  readonly node_id: string;
  readonly filename: string;
  readonly text: string;
  readonly next: string;
  readonly is_end: boolean;
  readonly is_live: boolean;
}

/** Reads the next part of a log; without `from` its last lines. @throws ServerError 404 where there is none */
export async function readLogStep(place: Place, from: string | undefined, signal: AbortSignal): Promise<LogStep> {
  const query = logQueryOf(place);
  if (from !== undefined) query.set("from", from);
  return await ask<LogStep>(`/api/shoal/logs/step?${query}`, { signal });
}

/** The parameters of the log that a place shows, for all routes of logs. */
export function logQueryOf({ by, filter, node, state }: Place): URLSearchParams {
  const query = new URLSearchParams({ [by]: filter });
  if (node !== "") query.set("node_id", node);
  if (state !== "") query.set("suffix", state);
  return query;
}

export interface Series {
  /** Milliseconds since 1970. */
  readonly t: readonly number[];
  readonly series: readonly { readonly name: string; readonly v: readonly (number | null)[] }[];
  readonly warnings: readonly string[];
}

interface SeriesOf {
  readonly nodeId: string | undefined;
  readonly spanMs: number;
  readonly stepMs: number;
}

/** Reads the last `spanMs` of all series, of one node or of all together. @throws ServerError */
export async function readSeries({ nodeId, spanMs, stepMs }: SeriesOf, signal: AbortSignal): Promise<Series> {
  const query = new URLSearchParams({ since_ms: String(Date.now() - spanMs), step_ms: String(stepMs) });
  if (nodeId !== undefined) query.set("node_id", nodeId);
  return await ask<Series>(`/api/shoal/series?${query}`, { signal });
}

/** The process of a worker, an actor or a task. */
export interface ProcessOf {
  readonly name: "worker_id" | "actor_id" | "task_id";
  readonly id: string;
}

export interface Stack {
  /** Names of calls. */
  readonly running: readonly string[];
  readonly threads: readonly {
    readonly name: string;
    readonly frames: readonly { readonly function: string; readonly file: string; readonly line: number; readonly isInternal?: boolean }[];
  }[];
}

/** @throws ServerError 409 where the process cannot be looked into */
export async function readStack({ name, id }: ProcessOf): Promise<Stack> {
  const path = name === "task_id" ? "/task/traceback" : "/worker/traceback";
  return await ask<Stack>(`${path}?${new URLSearchParams({ [name]: id, format: "json" })}`);
}

/** The address of a file with a profile. */
export function profileAddress({ name, id }: ProcessOf, profile: "cpu" | "heap" | "snapshot"): string {
  const query = new URLSearchParams({ [name]: id });
  if (profile === "snapshot") query.set("snapshot", "1");
  return `${profile !== "cpu" ? "/memory_profile" : name === "task_id" ? "/task/cpu_profile" : "/worker/cpu_profile"}?${query}`;
}

/** @throws ServerError 403 for a code that was used or has expired */
export async function logInByCode(code: string): Promise<void> {
  await ask("/api/authenticate", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }) });
}

/** @throws ServerError for a wrong token */
export async function logInByToken(token: string): Promise<void> {
  const wrong = "This token is a wrong one, or has expired. `shoal get-auth-token` prints the cluster's.";
  if (!/^[\x21-\x7e]{1,1024}$/.test(token)) throw new ServerError(401, wrong);
  try {
    await ask("/api/authenticate", { method: "POST", headers: { authorization: `Bearer ${token}` } });
  } catch (error) {
    throw error instanceof ServerError && error.needsLogin ? new ServerError(error.status, wrong) : error;
  }
}

interface Envelope {
  readonly data: {
    readonly result: {
      readonly result: readonly Row[];
      readonly total: number;
      readonly num_filtered: number;
      readonly num_dropped: number;
      readonly next_page_token: string | null;
      readonly partial_failure_warning: string;
      readonly warnings: readonly string[] | null;
      readonly as_of_ms: number;
    };
  };
}

function queryOf({ filters, stateField }: ListPage, { by, filter, state, pageToken, sort }: Place): URLSearchParams {
  const query = new URLSearchParams({ detail: "1", limit: String(ROWS_OF_A_PAGE) });
  const add = (key: string, predicate: string, value: string): void => {
    query.append("filter_keys", key);
    query.append("filter_predicates", predicate);
    query.append("filter_values", value);
  };
  if (state !== "") add(stateField, "=", state);
  if (filter !== "") add(by === "" ? String(filters[0]?.[0]) : by, "contains", filter);
  if (pageToken !== "") query.set("page_token", pageToken);
  if (sort !== "") query.set("sort_by", sort.replace(/^-/, ""));
  if (sort.startsWith("-")) query.set("descending", "1");
  return query;
}

type Amounts = Readonly<Record<string, number>>;

interface NodeUse {
  readonly nodeId: string;
  readonly total: Amounts;
  readonly free: Amounts;
}

/** For each living node: of each resource, how much is used and how much there is. */
async function usedByNode(signal: AbortSignal): Promise<Map<string, Record<string, readonly [used: number, total: number]>>> {
  const answer = await ask<{ data: { clusterStatus: { nodes: readonly NodeUse[] } } }>("/api/cluster_status", { signal });
  return new Map(
    answer.data.clusterStatus.nodes.map(({ nodeId, total, free }) => [
      nodeId,
      Object.fromEntries(Object.entries(total).map(([name, amount]) => [name, [amount - (free[name] ?? 0), amount] as const])),
    ]),
  );
}

// oxlint-disable-next-line no-unnecessary-type-parameters -- callers name the type of the answer
async function ask<T>(path: string, { signal, ...init }: RequestInit = {}): Promise<T> {
  const withinTime = AbortSignal.timeout(ANSWER_WITHIN_MS);
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, { ...init, signal: signal ? AbortSignal.any([signal, withinTime]) : withinTime });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ServerError(0, "The server does not answer. It may be starting again; `shoal status` says whether the cluster runs.");
  }
  if (!response.ok) throw new ServerError(response.status, text.slice(0, ERROR_CHARACTERS_MAX));
  return JSON.parse(text) as T;
}
