/**
 * The life of submitted jobs: changes of their records, and messages to nodes.
 *
 * Pure. The head's shell (`head-jobs.ts`) keeps the records and sends the messages, after the records are kept. Invariants: a job begins at
 * most once, as its node and start key never change, and a node begins a key once. An ended job never changes. A job whose node has gone
 * has ended. A job with a reservation has no node before its resources have one, and gives them back at its end.
 */
import type { NodeId } from "../../runtime/base/ids.ts";
import type { JobRecord, JobReport, JobRequest } from "./job-messages.ts";
import { JOB_KEPT_MS, JOB_MESSAGE_MAX, JOB_NODE_MISSING_MS, JOBS_KEPT_MAX, JOBS_OPEN_MAX } from "./limits.ts";

export type JobEffect =
  | { readonly kind: "keep"; readonly record: JobRecord }
  | { readonly kind: "drop"; readonly id: string }
  | { readonly kind: "start"; readonly record: JobRecord }
  | { readonly kind: "stop" | "forget"; readonly record: JobRecord }
  /** The start key names the reservation. */
  | { readonly kind: "reserve" | "release"; readonly record: JobRecord };

/** A question that is refused. `name` tells programs why. */
export class JobRefusal extends Error {
  readonly details: { readonly name: string };

  constructor(name: "JobTaken" | "JobUnknown" | "JobNotEnded" | "TooManyJobs", message: string) {
    super(message);
    this.name = name;
    this.details = { name };
  }
}

interface Submission {
  readonly id: string;
  readonly key: string;
  readonly node: NodeId;
  readonly request: JobRequest;
  readonly nowMs: number;
}

export function hasEnded({ state }: JobRecord): boolean {
  return state === "succeeded" || state === "failed" || state === "stopped";
}

export class JobTable {
  readonly #jobs = new Map<string, JobRecord>();
  /** Nodes that have registered with this head. */
  readonly #nodes = new Set<NodeId>();
  readonly #beganMs: number;
  #open = 0;

  /** @param kept records of an earlier head */
  constructor(kept: Iterable<JobRecord>, beganMs: number) {
    this.#beganMs = beganMs;
    const records = Array.from(kept).sort((a, b) => a.submittedMs - b.submittedMs);
    for (const record of records) this.#put(record);
  }

  get(id: string): JobRecord | undefined {
    return this.#jobs.get(id);
  }

  /** Returns records, the newest first, that were submitted before the one with that id. */
  *before(id: string | undefined): Generator<JobRecord, void, undefined> {
    const all = Array.from(this.#jobs.values()).reverse();
    const from = id === undefined ? 0 : all.findIndex((record) => record.id === id) + 1;
    for (let at = from; at < all.length; at += 1) yield all[at] as JobRecord;
  }

  /** A submission that is repeated with its key changes nothing. @throws JobRefusal */
  submit({ id, key, node, request, nowMs }: Submission): JobEffect[] {
    const known = this.#jobs.get(id);
    if (known?.key === key) return [];
    if (known !== undefined) throw new JobRefusal("JobTaken", `a job with the submission id ${id} exists`);
    if (this.#open >= JOBS_OPEN_MAX) throw new JobRefusal("TooManyJobs", `${JOBS_OPEN_MAX} jobs wait or run already`);
    const waits = request.reservation !== undefined;
    const record: JobRecord = { id, key, request, state: "starting", isStopping: false, submittedMs: nowMs, ...(!waits && { node }) };
    this.#put(record);
    if (waits)
      return [
        { kind: "keep", record },
        { kind: "reserve", record },
      ];
    return [{ kind: "keep", record }, ...(this.#nodes.has(node) ? [{ kind: "start" as const, record }] : [])];
  }

  /** @returns no effect for a job that has ended. @throws JobRefusal */
  stop(id: string, nowMs: number): JobEffect[] {
    const record = this.#required(id);
    if (hasEnded(record)) return [];
    if (record.node === undefined) return this.#end(endedAs(record, { id, key: record.key, state: "ended", wasStopped: true }, nowMs));
    const changed = { ...record, isStopping: true };
    return [...this.#keep(changed), { kind: "stop", record: changed }];
  }

  /** @throws JobRefusal for a job that has not ended */
  remove(id: string): JobEffect[] {
    const record = this.#required(id);
    if (!hasEnded(record)) throw new JobRefusal("JobNotEnded", `the job ${id} has not ended; stop it first`);
    return this.#drop(record);
  }

  /** A node's report. Reports of another start, and those after the end, are dropped. */
  reported(report: JobReport, nowMs: number): JobEffect[] {
    const record = this.#jobs.get(report.id);
    if (record === undefined || record.key !== report.key || hasEnded(record)) return [];
    if (report.state === "running")
      return record.state === "running" ? [] : this.#keep({ ...record, state: "running", startedMs: report.startedMs ?? nowMs });
    return this.#end(endedAs(record, report, nowMs));
  }

  /** The resources of the job with that start key have their node. @returns no effect for a job that has its node, or has ended */
  reserved(key: string, node: NodeId): JobEffect[] {
    const [record] = this.#openOf((one) => one.key === key);
    if (record === undefined || record.node !== undefined) return [];
    const placed = { ...record, node };
    return [...this.#keep(placed), ...(this.#nodes.has(node) ? [{ kind: "start" as const, record: placed }] : [])];
  }

  /** Jobs that wait for their resources: a new head asks for these again. */
  waiting(): JobRecord[] {
    return this.#openOf(({ node }) => node === undefined);
  }

  /** A program of the job has connected. */
  driverJoined({ id, key, jobId, pid }: { id: string; key: string; jobId: string; pid: number }): JobEffect[] {
    const record = this.#jobs.get(id);
    if (record === undefined || record.key !== key || hasEnded(record)) return [];
    return this.#keep({ ...record, driver: { jobId, pid } });
  }

  /** A node that a new head meets is told all again: it may not have heard the last head. */
  nodeJoined(node: NodeId): JobEffect[] {
    this.#nodes.add(node);
    return this.#openOf((record) => record.node === node).flatMap((record) => [
      { kind: "start" as const, record },
      ...(record.isStopping ? [{ kind: "stop" as const, record }] : []),
    ]);
  }

  nodeGone(node: NodeId, reason: string, nowMs: number): JobEffect[] {
    this.#nodes.delete(node);
    return this.#openOf((record) => record.node === node).flatMap((record) => this.#lost(record, reason, nowMs));
  }

  /** Ends jobs of nodes that have not come back after this head began, and drops old records. */
  sweep(nowMs: number): JobEffect[] {
    const effects: JobEffect[] = [];
    if (nowMs - this.#beganMs > JOB_NODE_MISSING_MS)
      for (const record of this.#openOf(({ node }) => node !== undefined && !this.#nodes.has(node)))
        effects.push(...this.#lost(record, "it has not come back", nowMs));
    let ended = this.#jobs.size - this.#open;
    for (const record of this.#jobs.values()) {
      if (!hasEnded(record)) continue;
      if (ended <= JOBS_KEPT_MAX && nowMs - (record.endedMs ?? nowMs) <= JOB_KEPT_MS) continue;
      effects.push(...this.#drop(record));
      ended -= 1;
    }
    return effects;
  }

  #lost(record: JobRecord, reason: string, nowMs: number): JobEffect[] {
    const began = record.state === "running" ? "while the job ran" : "before the job was known to run";
    const message = `Its node ${record.node} was lost ${began}: ${reason}. The job does not run again.`;
    return this.#end({ ...record, state: "failed", endedMs: nowMs, message, errorType: "JOB_SUPERVISOR_ACTOR_DIED" });
  }

  #end(record: JobRecord): JobEffect[] {
    const isReserved = record.request.reservation !== undefined;
    return [...this.#keep(record), ...(isReserved ? [{ kind: "release" as const, record }] : [])];
  }

  #openOf(isWanted: (record: JobRecord) => boolean): JobRecord[] {
    if (this.#open === 0) return [];
    return Array.from(this.#jobs.values()).filter((record) => !hasEnded(record) && isWanted(record));
  }

  #required(id: string): JobRecord {
    const record = this.#jobs.get(id);
    if (record === undefined) throw new JobRefusal("JobUnknown", `there is no job ${id}`);
    return record;
  }

  #keep(record: JobRecord): JobEffect[] {
    this.#put(record);
    return [{ kind: "keep", record }];
  }

  #drop(record: JobRecord): JobEffect[] {
    this.#jobs.delete(record.id);
    return [
      { kind: "drop", id: record.id },
      { kind: "forget", record },
    ];
  }

  #put(record: JobRecord): void {
    const known = this.#jobs.get(record.id);
    this.#open += Number(!hasEnded(record)) - Number(known !== undefined && !hasEnded(known));
    this.#jobs.set(record.id, record);
  }
}

function endedAs(record: JobRecord, report: JobReport, nowMs: number): JobRecord {
  const { exitCode, signal, problem, lastLines = "", wasStopped = false } = report;
  const endedMs = report.endedMs ?? nowMs;
  const ended = { ...record, endedMs, ...(report.startedMs === undefined ? {} : { startedMs: report.startedMs }) };
  const code = exitCode ?? signalCode(signal);
  const withCode = code === undefined ? {} : { exitCode: code };
  if (wasStopped) return { ...ended, ...withCode, state: "stopped", message: "Job was intentionally stopped." };
  if (problem !== undefined)
    return { ...ended, ...withCode, state: "failed", message: bounded(problem), errorType: "JOB_ENTRYPOINT_COMMAND_START_ERROR" };
  if (code === 0) return { ...ended, ...withCode, state: "succeeded", message: "Job finished successfully." };
  const how = signal === undefined ? `with exit code ${code}` : `by the signal ${signal} (exit code ${code})`;
  const said = lastLines === "" ? "It printed nothing." : `Its last lines:\n${lastLines}`;
  return {
    ...ended,
    ...withCode,
    state: "failed",
    message: bounded(`Job entrypoint command failed ${how}. ${said}`),
    errorType: "JOB_ENTRYPOINT_COMMAND_ERROR",
  };
}

function bounded(text: string): string {
  return text.length <= JOB_MESSAGE_MAX ? text : `${text.slice(0, JOB_MESSAGE_MAX)}…`;
}

const SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
};

/** As a shell counts it. */
function signalCode(signal: string | undefined): number | undefined {
  if (signal === undefined) return undefined;
  return 128 + (SIGNALS[signal] ?? 0);
}
