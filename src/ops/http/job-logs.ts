/**
 * The log of a job, as far as it is written, and as it grows until the job has ended.
 *
 * The job's state is asked before its log is read, so a job that has ended has written all. A job that has printed nothing has no file. A head or a node that is away for a moment delays the rest
 * of a log and does not end it.
 */
import { jobLogName } from "../../runtime/os/logs/log-names.ts";
import { hasEnded } from "../jobs/job-table.ts";
import type { JobRecord } from "../jobs/job-messages.ts";
import { logTexts } from "../state/log-lines.ts";
import type { LogChunk, LogReader } from "../state/log-reader.ts";
import type { JobService } from "./job-service.ts";
import { CLUSTER_ANSWERS_WITHIN_MS, JOB_AWAY_MS_MAX, JOB_LOG_BYTES_MAX, JOB_LOOK_EVERY_MS_MAX, JOB_LOOK_EVERY_MS_MIN } from "./limits.ts";

type FoundLog = Parameters<LogReader["step"]>[0];
type Reading = Pick<LogReader, "find" | "read" | "step">;

/** Returns the end of a log. */
export async function logOf(logs: Reading, record: JobRecord): Promise<string> {
  const found = await foundLog(logs, record);
  if (found === undefined) return "";
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const { bytes } of logs.read(found, { tail: -1, timeoutMs: CLUSTER_ANSWERS_WITHIN_MS })) {
    pieces.push(bytes);
    size += bytes.byteLength;
    while (size - (pieces[0]?.byteLength ?? 0) >= JOB_LOG_BYTES_MAX) size -= pieces.shift()?.byteLength ?? 0;
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** Yields a log from its beginning, and ends with the job, or when the reader has gone. */
export function followedLog(
  { jobs, logs }: { jobs: Pick<JobService, "get">; logs: Reading },
  job: JobRecord,
  signal: AbortSignal,
): AsyncIterable<string> {
  return logTexts(chunksOf({ jobs, logs }, job, signal));
}

async function* chunksOf(
  { jobs, logs }: { jobs: Pick<JobService, "get">; logs: Reading },
  { id, key }: JobRecord,
  signal: AbortSignal,
): AsyncGenerator<LogChunk, void, undefined> {
  let found: FoundLog | undefined;
  let from: string | undefined;
  let pauseMs = JOB_LOOK_EVERY_MS_MIN;
  let heardMs = performance.now();
  while (!signal.aborted) {
    let isLast = false;
    try {
      const record = await jobs.get(id);
      // Deleted, and maybe submitted anew.
      if (record?.key !== key) return;
      isLast = hasEnded(record);
      found ??= await foundLog(logs, record);
      let isEnd = found === undefined;
      while (!isEnd && !signal.aborted) {
        const step = await logs.step(found as FoundLog, { tail: -1, from, timeoutMs: CLUSTER_ANSWERS_WITHIN_MS });
        if (step.bytes.length > 0 || step.isGap) {
          yield step;
          pauseMs = JOB_LOOK_EVERY_MS_MIN;
        }
        from = step.next;
        isEnd = step.isEnd;
      }
      heardMs = performance.now();
    } catch (error) {
      found = undefined;
      // The head or the node is away. A job whose node is lost ends soon.
      if (performance.now() - heardMs > JOB_AWAY_MS_MAX) throw error;
      if (isLast) return;
    }
    if (isLast) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(pauseMs * 1.3, JOB_LOOK_EVERY_MS_MAX);
  }
}

async function foundLog(logs: Reading, { id, node }: JobRecord): Promise<FoundLog | undefined> {
  if (node === undefined) return undefined;
  const found = await logs.find({ filename: jobLogName(id), nodeId: node, timeoutMs: CLUSTER_ANSWERS_WITHIN_MS });
  return found.kind === "found" ? found : undefined;
}
