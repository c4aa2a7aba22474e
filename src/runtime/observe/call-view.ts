/**
 * Makes rows of state from records of calls: of living processes, of those that are kept in memory, and of a history.
 *
 * Values are made one by one, so that a filter over many records makes no rows.
 * The table of columns in `ops/state` has the same names. Pure.
 */
import { taskIdOf } from "../base/ids.ts";
import { NAME_CHARACTERS_MAX } from "./limits.ts";
import { CALL, CALL_STATE, CALL_TIMES } from "./observation-layout.ts";
import { bounded, type CallProcess } from "./observed-process.ts";
import type { RowSource, StateRow } from "./select-rows.ts";

/** A record, wherever its bytes are. */
export interface CallView {
  readonly process: CallProcess;
  readonly bytes: Buffer;
  readonly at: number;
}

/** Returns the text of the error with which a call failed, by the prefix of the task id and the call id. */
export type FailureText = (caller: string, callId: number) => string | undefined;

const DURATION_MAX_MS = 1e14;
/** Names with counts; the rest is counted as `(other)`. */
const NAMES_MAX = 10_000;

const STATES = ["NIL", "RUNNING", "FINISHED", "FAILED", "FAILED", "FAILED"] as const;
const ERROR_TYPES = [null, null, null, "TASK_EXECUTION_EXCEPTION", "TASK_CANCELLED", "WORKER_DIED"] as const;

/** Counts of a name. */
export interface NamedCounts {
  readonly name: string;
  readonly type: string;
  readonly counts: Record<string, number>;
}

/** The columns of calls, in their order. */
export const CALL_COLUMNS = [
  "task_id",
  "attempt_number",
  "name",
  "state",
  "job_id",
  "actor_id",
  "type",
  "func_or_class_name",
  "node_id",
  "worker_id",
  "worker_pid",
  "error_type",
] as const;
export const CALL_DETAIL_COLUMNS = [
  "start_time_ms",
  "end_time_ms",
  "duration_ms",
  "error_message",
  "parent_task_id",
  "pending_reason",
] as const;

/** @param isExact - with times to the microsecond instead of whole milliseconds */
export function callSource(
  items: Iterable<CallView>,
  { failureOf, isExact = false }: { failureOf: FailureText; isExact?: boolean | undefined },
): RowSource<CallView> {
  return {
    items,
    timeMs: (view) => (isExact ? exactTimeOf(view, CALL_TIMES.start) : timeOf(view, CALL_TIMES.start)),
    id: callTaskId,
    value: (view, column) => callValue(view, column, failureOf),
    // The bytes of the others may be let go.
    keep: ({ process, bytes, at }) => ({ process, bytes: Buffer.from(bytes.subarray(at, at + CALL.words * 4)), at: 0 }),
  };
}

export function callRow(view: CallView, detail: boolean, failureOf: FailureText): StateRow {
  const columns = detail ? [...CALL_COLUMNS, ...CALL_DETAIL_COLUMNS] : CALL_COLUMNS;
  return Object.fromEntries(columns.map((column) => [column, callValue(view, column, failureOf)]));
}

/** Returns a row with times to the microsecond. */
export function callSpan(view: CallView, failureOf: FailureText): StateRow {
  const end = stateOf(view) === CALL_STATE.running ? null : exactTimeOf(view, CALL_TIMES.end);
  return { ...callRow(view, true, failureOf), start_time_ms: exactTimeOf(view, CALL_TIMES.start), end_time_ms: end };
}

function callValue(view: CallView, column: string, failureOf: FailureText): unknown {
  const { process, bytes, at } = view;
  const state = stateOf(view);
  switch (column) {
    case "task_id":
      return callTaskId(view);
    case "attempt_number":
      return bytes.readUInt32LE(at + CALL.attempt * 4);
    case "name":
    case "func_or_class_name":
      return functionOf(view).name;
    case "state":
      return STATES[state] ?? "NIL";
    case "job_id":
      return process.facts.jobId;
    case "actor_id":
      return functionOf(view).actor ?? null;
    case "type":
      return functionOf(view).actor === undefined ? "NORMAL_TASK" : "ACTOR_TASK";
    case "node_id":
      return process.nodeId;
    case "worker_id":
      return process.facts.id;
    case "worker_pid":
      return process.facts.pid;
    case "error_type":
      return ERROR_TYPES[state] ?? null;
    case "start_time_ms":
      return timeOf(view, CALL_TIMES.start);
    case "end_time_ms":
      return state === CALL_STATE.running ? null : timeOf(view, CALL_TIMES.end);
    case "duration_ms":
      return durationOf(view, state);
    case "parent_task_id":
      return parentOf(view);
    case "error_message":
      return errorMessage(view, state, failureOf);
    default:
      return null;
  }
}

function errorMessage(view: CallView, state: number, failureOf: FailureText): string | null {
  if (state === CALL_STATE.died) return view.process.cause ?? null;
  if (state !== CALL_STATE.failed) return null;
  return failureOf(view.process.taskIdPrefix(view.bytes.readUInt32LE(view.at + CALL.caller * 4)), callIdOf(view)) ?? null;
}

/** Adds calls of one function that are in one state. */
export function addCounts(
  all: Map<string, NamedCounts>,
  { name, actor, state, count }: { name: string; actor: string | undefined; state: number; count: number },
): void {
  const type = actor === undefined ? "NORMAL_TASK" : "ACTOR_TASK";
  const shown = name.slice(0, NAME_CHARACTERS_MAX);
  const known = all.get(`${type} ${shown}`);
  const key = known !== undefined || all.size < NAMES_MAX ? `${type} ${shown}` : `${type} (other)`;
  const counts = (known ?? all.get(key))?.counts ?? {};
  const stateName = STATES[state] ?? "NIL";
  counts[stateName] = (counts[stateName] ?? 0) + count;
  all.set(key, { name: key.slice(type.length + 1), type, counts });
}

export function functionOf({ process, bytes, at }: CallView): ReturnType<CallProcess["functionOf"]> {
  return process.functionOf(bytes.readUInt32LE(at + CALL.fn * 4));
}

export function stateOf({ bytes, at }: CallView): number {
  return bytes.readUInt32LE(at + CALL.state * 4);
}

export function callTaskId(view: CallView): string {
  const { process, bytes, at } = view;
  return taskIdOf(process.taskIdPrefix(bytes.readUInt32LE(at + CALL.caller * 4)), callIdOf(view), process.facts.jobId);
}

function callIdOf({ bytes, at }: CallView): number {
  return bytes.readUInt32LE(at + CALL.callId * 4);
}

/** A call that runs has lasted until now. */
function durationOf(view: CallView, state: number): number {
  const endMs = state === CALL_STATE.running ? Date.now() : timeOf(view, CALL_TIMES.end);
  return Math.max(0, endMs - timeOf(view, CALL_TIMES.start));
}

function parentOf({ process, bytes, at }: CallView): string | null {
  const caller = bytes.readUInt32LE(at + CALL.parentCaller * 4);
  if (caller === 0) return null;
  return taskIdOf(process.taskIdPrefix(caller), bytes.readUInt32LE(at + CALL.parentId * 4), process.facts.jobId);
}

function timeOf(view: CallView, place: number): number {
  return Math.round(exactTimeOf(view, place));
}

function exactTimeOf({ process, bytes, at }: CallView, place: number): number {
  return process.originMs + bounded(bytes.readDoubleLE(at + place * 8), DURATION_MAX_MS);
}
