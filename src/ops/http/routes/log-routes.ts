/**
 * Routes of log files: the list and the text as Ray 2.60 answers them, and steps of JSON for the page.
 *
 * A file is sent as it is read, so its size does not matter. Texts are `text/plain` to be saved, never a page. A log that is not there is a
 * 404 with the reason.
 */
import { jobLogName, kindOfLog } from "../../../runtime/os/logs/log-names.ts";
import { isSubmissionId } from "../../jobs/job-request.ts";
import { GAP_TEXT, logTexts, withoutEscapes } from "../../state/log-lines.ts";
import { type FoundLog, type LogReader, type LogSource } from "../../state/log-reader.ts";
import { LOG_LINES_DEFAULT } from "../../state/limits.ts";
import { HttpError, type HttpAnswer, jsonAnswer, rayAnswer } from "../http-answers.ts";
import { CLUSTER_ANSWERS_WITHIN_MS, LOG_LOOK_EVERY_MS_MAX, LOG_LOOK_EVERY_MS_MIN, LOG_STEP_LINES_MAX } from "../limits.ts";
import type { Route, RouteRequest } from "../router.ts";

const OF_NODE = {
  node_id: "Only of this node.",
  node_ip: "Only of nodes with this address.",
  timeout: "Seconds in which nodes answer (default: 30).",
};
const OF_SOURCE = {
  filename: "A file of the list; or one of the following.",
  actor_id: "An actor, a dead one too: output of its last process.",
  task_id: "A task: what it printed.",
  worker_id: "A worker.",
  pid: "A worker, by its process.",
  submission_id: "A submitted job: output of its entry point.",
  ...OF_NODE,
  suffix: "`out` (default) or `err`, of a worker.",
  lines: "Lines from the end (default: 1000); -1 is all.",
};

export function logRoutes(logs: LogReader): Route[] {
  const textRoute = (media: "file" | "stream", summary: string, more: Readonly<Record<string, string>>): Route => ({
    method: "GET",
    path: `/api/v0/logs/${media}`,
    role: "view",
    summary,
    query: {
      ...OF_SOURCE,
      ...more,
      filter_ansi_code: "`true` leaves out colours.",
      download_filename: "The name under which a browser saves it.",
    },
    answers: "The text, as it was printed. A log that is not there is a 404.",
    handle: (request) => textAnswerOf(logs, request, media === "stream"),
  });
  return [
    {
      method: "GET",
      path: "/api/v0/logs",
      role: "view",
      summary: "Lists log files.",
      query: { ...OF_NODE, glob: "With `*` and `?`: `worker-*.err`." },
      answers:
        "Ray's envelope; `data.result` has the names by Ray's groups (`worker_out`, `worker_err`, `raylet`, …). `data.files` has more of each, newest first, and `data.warnings` names nodes without an answer.",
      isQuery: true,
      handle: ({ query }) => listAnswer(logs, query),
    },
    textRoute("file", "Sends a log.", {}),
    textRoute("stream", "Sends a log, and what is printed from then on, until the process or the task ends.", {
      interval: "Seconds between two looks (default: 0.5).",
    }),
    {
      method: "GET",
      path: "/api/shoal/logs/step",
      role: "view",
      summary: "Reads a log in steps, for pages.",
      query: { ...OF_SOURCE, from: "`next` of the step before." },
      answers:
        "`node_id`, `filename`, `text`, `next`, `is_end`, `is_gap` (older text was removed meanwhile) and `is_live` (more may come).",
      isQuery: true,
      handle: ({ query }) => stepAnswer(logs, query),
    },
  ];
}

async function listAnswer(logs: LogReader, query: URLSearchParams): Promise<HttpAnswer> {
  const asked = { nodeId: textOf(query, "node_id"), nodeIp: textOf(query, "node_ip"), glob: textOf(query, "glob") };
  const { rows, warnings } = await logs.list({ ...asked, timeoutMs: timeoutOf(query) });
  const result: Record<string, string[]> = {};
  for (const { name } of rows) (result[kindOfLog(name)] ??= []).push(name);
  const files = rows.map(({ nodeId, name, sizeBytes, modifiedMs, isLive }) => ({
    node_id: nodeId,
    filename: name,
    size_bytes: sizeBytes,
    modified_ms: modifiedMs,
    is_live: isLive,
  }));
  return rayAnswer({ result, files, warnings });
}

async function textAnswerOf(logs: LogReader, { query, signal }: RouteRequest, follow: boolean): Promise<HttpAnswer> {
  const found = await foundLog(logs, query);
  const chunks = logs.read(found, {
    tail: linesOf(query),
    follow,
    intervalMs: intervalOf(query),
    timeoutMs: timeoutOf(query),
    signal,
  });
  const texts = logTexts(chunks);
  const isPlain = (textOf(query, "filter_ansi_code") ?? "").toLowerCase() === "true";
  const name = (textOf(query, "download_filename") ?? found.name).replace(/[^\w.-]/g, "_").slice(0, 200);
  return {
    status: 200,
    body: isPlain ? withoutEscapes(texts) : texts,
    type: "text/plain; charset=utf-8",
    headers: { "content-disposition": `attachment; filename="${name}"` },
  };
}

async function stepAnswer(logs: LogReader, query: URLSearchParams): Promise<HttpAnswer> {
  const found = await foundLog(logs, query);
  const from = textOf(query, "from");
  if (from !== undefined && !/^[\w.]{1,64}:\d{1,16}$/.test(from))
    throw new HttpError(400, `Cannot read a log: from is \`next\` of the step before: received ${JSON.stringify(from.slice(0, 100))}`);
  const lines = linesOf(query);
  const tail = lines < 0 ? LOG_STEP_LINES_MAX : Math.min(lines, LOG_STEP_LINES_MAX);
  const step = await logs.step(found, { tail, from, timeoutMs: timeoutOf(query) });
  return jsonAnswer({
    node_id: found.nodeId,
    filename: found.name,
    text: (step.isGap ? GAP_TEXT : "") + Buffer.from(step.bytes).toString("utf8"),
    next: step.next,
    is_end: step.isEnd,
    is_gap: step.isGap,
    is_live: step.isLive,
  });
}

/** @throws HttpError 400 for a wrong question, 404 where there is no such log */
async function foundLog(logs: LogReader, query: URLSearchParams): Promise<Extract<FoundLog, { kind: "found" }>> {
  const found = await logs.find(sourceOf(query));
  if (found.kind === "none") throw new HttpError(404, `Cannot read a log: ${found.reason}. ${found.hint}`);
  return found;
}

function sourceOf(query: URLSearchParams): LogSource {
  const stream = textOf(query, "suffix") ?? "out";
  if (stream !== "out" && stream !== "err")
    throw new HttpError(400, `Cannot read a log: suffix is out or err: received ${JSON.stringify(stream.slice(0, 100))}`);
  const job = textOf(query, "submission_id");
  if (job !== undefined && !isSubmissionId(job))
    throw new HttpError(400, `Cannot read a log: submission_id is the id of a job: received ${JSON.stringify(job.slice(0, 100))}`);
  const pid = textOf(query, "pid");
  if (pid !== undefined && !/^[1-9]\d{0,9}$/.test(pid))
    throw new HttpError(400, `Cannot read a log: pid is the id of a process: received ${JSON.stringify(pid.slice(0, 100))}`);
  return {
    filename: job === undefined ? textOf(query, "filename") : jobLogName(job),
    actorId: textOf(query, "actor_id"),
    taskId: textOf(query, "task_id"),
    workerId: textOf(query, "worker_id"),
    pid: pid === undefined ? undefined : Number(pid),
    nodeId: textOf(query, "node_id"),
    nodeIp: textOf(query, "node_ip"),
    stream,
    timeoutMs: timeoutOf(query),
  };
}

/** Ray's client sends absent ones as empty or as `None`. */
function textOf(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name);
  return text === null || text === "" || text === "None" ? undefined : text;
}

function linesOf(query: URLSearchParams): number {
  const text = textOf(query, "lines");
  const lines = Number(text ?? LOG_LINES_DEFAULT);
  if (Number.isSafeInteger(lines) && lines >= -1) return lines;
  throw new HttpError(
    400,
    `Cannot read a log: lines is a whole number from 0, or -1 for all: received ${JSON.stringify(text?.slice(0, 100))}`,
  );
}

function secondsOf(query: URLSearchParams, name: string): number | undefined {
  const text = textOf(query, name);
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new HttpError(400, `Cannot read a log: ${name} takes seconds above 0: received ${JSON.stringify(text.slice(0, 100))}`);
}

function timeoutOf(query: URLSearchParams): number {
  return Math.min(CLUSTER_ANSWERS_WITHIN_MS, (secondsOf(query, "timeout") ?? Number.POSITIVE_INFINITY) * 1_000);
}

function intervalOf(query: URLSearchParams): number {
  const ms = (secondsOf(query, "interval") ?? 0.5) * 1_000;
  return Math.min(LOG_LOOK_EVERY_MS_MAX, Math.max(LOG_LOOK_EVERY_MS_MIN, ms));
}
