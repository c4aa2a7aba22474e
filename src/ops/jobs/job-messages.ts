/**
 * The messages of the extension `jobs`: programs ask the head, the head tells a node, and the node tells the head.
 *
 * A start key names one attempt to run a job and is never used again, so a repeated message is recognized by it. `JobRecord` is the durable
 * row of a job.
 */
import type { ExtensionMessages } from "../../runtime/extension/extension.ts";
import {
  count,
  exactly,
  fields,
  flag,
  list,
  nodeId,
  nothing,
  number,
  type Of,
  optional,
  orUndefined,
  record,
  text,
} from "../../runtime/wire/header-shape.ts";

export const JOBS = "jobs";

const jobRequest = fields({
  /** A command of `/bin/sh`. */
  entrypoint: text,
  metadata: record(text),
  /** Variables of the entry point and all tasks. Their values are secrets. */
  envVars: record(text),
  /** Address of the cluster, for programs of the job. */
  address: text,
  /** Name of the package with the working directory, as its submitter gave it. */
  workingDirectory: optional(text),
  /** Folder with the package's content on the head's machine. */
  packageFolder: optional(text),
  /** Resources that are reserved for the entry point while it waits and runs. */
  reservation: optional(fields({ resources: record(number), labels: record(text) })),
});
export type JobRequest = Of<typeof jobRequest>;

const jobRecord = fields({
  id: text,
  key: text,
  /** Absent while the job waits for its resources. */
  node: optional(nodeId),
  request: jobRequest,
  /** `starting`: its node was told, or will be. */
  state: exactly("starting", "running", "succeeded", "failed", "stopped"),
  /** Whether somebody has stopped it. */
  isStopping: flag,
  submittedMs: number,
  startedMs: optional(number),
  endedMs: optional(number),
  exitCode: optional(number),
  message: optional(text),
  errorType: optional(text),
  /** The last program that has connected. */
  driver: optional(fields({ jobId: text, pid: number })),
});
export type JobRecord = Of<typeof jobRecord>;
export { jobRecord };

const jobReport = fields({
  id: text,
  key: text,
  state: exactly("running", "ended"),
  startedMs: optional(number),
  endedMs: optional(number),
  exitCode: optional(number),
  signal: optional(text),
  /** Why it did not run, or how it ended. */
  problem: optional(text),
  lastLines: optional(text),
  /** Whether it was stopped before it ended by itself. */
  wasStopped: optional(flag),
});
export type JobReport = Of<typeof jobReport>;

/** To the head. */
export const headMessages = {
  submit: { asks: fields({ id: text, key: text, node: nodeId, request: jobRequest }), answers: nothing },
  get: { asks: fields({ id: text }), answers: orUndefined(jobRecord) },
  /** Rows after the one with that id, the newest first. */
  list: { asks: fields({ after: optional(text) }), answers: fields({ rows: list(jobRecord), next: optional(text) }) },
  stop: { asks: fields({ id: text }), answers: fields({ stopped: flag }) },
  remove: { asks: fields({ id: text }), answers: nothing },
  report: { asks: jobReport, answers: nothing },
  driver: { asks: fields({ id: text, key: text, jobId: text, pid: count }), answers: nothing },
} satisfies ExtensionMessages;

/** To a node, of the head. */
export const nodeMessages = {
  start: { asks: fields({ id: text, key: text, request: jobRequest }), answers: nothing },
  stop: { asks: fields({ id: text, key: text }), answers: nothing },
  /** Removes the log of an ended job. */
  forget: { asks: fields({ id: text, key: text }), answers: nothing },
} satisfies ExtensionMessages;
