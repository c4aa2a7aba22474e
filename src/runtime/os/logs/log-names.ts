/**
 * Names of log files: which a listing shows, whose output a file holds, and which a pattern means.
 *
 * A name from outside is only compared with the names of a listing. It never becomes a path by itself. The names of files carry the
 * process, so a file is found without any table, also after the process and its node have gone. Pure.
 */
import { INDEX_SUFFIX } from "./log-index.ts";
import { LOG_NAME_CHARACTERS_MAX } from "./limits.ts";

export type OutputStream = "out" | "err";

/** The process that a file belongs to. */
interface WorkerOfLog {
  readonly workerId: string;
  readonly pid: number;
  readonly stream: OutputStream;
}

export function outputName(workerId: string, pid: number, stream: OutputStream): string {
  return `worker-${workerId}-${pid}.${stream}`;
}

export function workerOfLog(name: string): WorkerOfLog | undefined {
  const { workerId, pid, stream } = /^worker-(?<workerId>\w+)-(?<pid>\d+)\.(?<stream>out|err)(\.\d+)?$/.exec(name)?.groups ?? {};
  if (workerId === undefined) return undefined;
  return { workerId, pid: Number(pid), stream: stream as OutputStream };
}

/** The log of a job's entry point. */
export function jobLogName(submissionId: string): string {
  return `job-driver-${submissionId}.log`;
}

/** The name of the file behind which older ones stand: `head.log` for `head.log.2`. */
export function withoutNumber(name: string): string {
  return name.replace(/\.\d+$/, "");
}

/** Whether a file of the folder is a log, and no index. */
export function isLogName(name: string): boolean {
  return !name.endsWith(INDEX_SUFFIX) && /^[\w][\w.-]*\.(log|out|err)(\.\d+)?$/.test(name);
}

/** The groups of Ray's listing. */
export function kindOfLog(name: string): string {
  const worker = workerOfLog(name);
  if (worker !== undefined) return `worker_${worker.stream}`;
  if (name.startsWith("job-driver-")) return "driver";
  const [, kind] = /^(head|node|dashboard|supervisor)\.log/.exec(name) ?? [];
  return { head: "gcs_server", node: "raylet", dashboard: "dashboard" }[kind as string] ?? "internal";
}

/**
 * Returns whether a name matches a pattern with `*` and `?`; `[` and other characters stand for themselves.
 *
 * Takes time in proportion to both lengths at most, so no pattern is slow.
 */
export function matchesGlob(name: string, pattern: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    if (pattern[next] === "*") {
      star = next;
      starAt = at;
      next += 1;
    } else if (pattern[next] === "?" || pattern[next] === name[at]) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      // The last star takes one more character.
      starAt += 1;
      at = starAt;
      next = star + 1;
    } else return false;
  }
  while (pattern[next] === "*") next += 1;
  return next === pattern.length;
}

/** @throws RangeError for a pattern that no file can have, with the rule */
export function checkGlob(pattern: string): void {
  if (pattern.length <= LOG_NAME_CHARACTERS_MAX && !/[/\\\p{Cc}]/u.test(pattern)) return;
  throw new RangeError(
    `Cannot list logs: a pattern has at most ${LOG_NAME_CHARACTERS_MAX} characters and no slash: received ${JSON.stringify(pattern.slice(0, 100))}`,
  );
}
