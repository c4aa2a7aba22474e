/**
 * Lists the calls of this process that have not begun: those that wait for arguments, for a worker, for their actor, or at a worker.
 *
 * Only the process that made a call knows why it waits. The daemon asks each process (OPEN_CALLS) and names the calls that have
 * begun, so that no call is listed twice. Filters are applied here; only the rows of a page are made and sent.
 */
import type { ActorId, IdSource, JobId } from "../../runtime/base/ids.ts";
import { CALL_COLUMNS, CALL_DETAIL_COLUMNS } from "../../runtime/observe/call-view.ts";
import { type RowSource, selectItems, type StateRow } from "../../runtime/observe/select-rows.ts";
import { specResources } from "../../runtime/scheduling/lease-spec.ts";
import type { Of } from "../../runtime/wire/header-shape.ts";
import type { OpenCallsAsked, openCallsAnswer } from "../../runtime/wire/observing/state-messages.ts";
import { isReservedMethod } from "../../runtime/worker/actors/reserved-methods.ts";
import type { ActorClient } from "../actors/actor-client.ts";
import { callName, type CallRecord } from "./call-record.ts";
import type { TaskSubmitter } from "./submission/task-submitter.ts";

interface PendingParts {
  readonly ids: IdSource;
  readonly jobId: JobId;
  readonly calls: {
    openCalls(): Iterable<CallRecord>;
    readonly submitter: Pick<TaskSubmitter, "whereIs" | "isTravelling">;
    readonly actors: ReadonlyMap<ActorId, ActorClient>;
  };
}

type PendingState = "PENDING_ARGS_AVAIL" | "PENDING_NODE_ASSIGNMENT" | "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY" | "SUBMITTED_TO_WORKER";

/** The worker that a call was sent to. */
interface Sent {
  readonly link: { readonly processId: string };
  readonly pid: number | undefined;
}

/** A call without a beginning is newer than all that have begun. */
const NOT_BEGUN_MS: number = Number.MAX_SAFE_INTEGER;

export function selectPending(parts: PendingParts, { resource, query, begun }: OpenCallsAsked): Of<typeof openCallsAnswer> {
  const source: RowSource<CallRecord> = {
    items: pendingCalls(parts, new Set(begun)),
    timeMs: () => NOT_BEGUN_MS,
    id: ({ sequence }) => parts.ids.taskId(sequence),
    value: (record, column) => valueOf(parts, record, column),
  };
  if (resource === "pending_counts") return countsOf(parts, source.items);
  const { page, total, numFiltered } = selectItems(source, query);
  const columns = query.detail ? [...CALL_COLUMNS, ...CALL_DETAIL_COLUMNS] : CALL_COLUMNS;
  const rows = page.map(({ item }) => Object.fromEntries(columns.map((column) => [column, valueOf(parts, item, column)])));
  return { rows, keys: page.map(({ key }) => [...key] as [(typeof key)[0], string]), total, numFiltered, warnings: [] };
}

function* pendingCalls({ calls, ids }: PendingParts, begun: ReadonlySet<string>): Generator<CallRecord> {
  for (const record of calls.openCalls()) {
    if (record.isEnded || isReservedMethod(record.target.id)) continue;
    if (begun.size > 0 && begun.has(ids.taskId(record.sequence))) continue;
    yield record;
  }
}

function countsOf(parts: PendingParts, records: Iterable<CallRecord>): Of<typeof openCallsAnswer> {
  const sums = new Map<string, StateRow & { readonly state_counts: Record<string, number> }>();
  let total = 0;
  for (const record of records) {
    const [name, type, state] = [callName(record), typeOf(record), stateOf(parts, record)];
    const sum = sums.get(`${type} ${name}`) ?? { name, type, state_counts: {} };
    sums.set(`${type} ${name}`, sum);
    sum.state_counts[state] = (sum.state_counts[state] ?? 0) + 1;
    total += 1;
  }
  const keys = Array.from(sums.keys(), (key): [number, string] => [0, key]);
  return { rows: Array.from(sums.values()), keys, total, numFiltered: total, warnings: [] };
}

function valueOf(parts: PendingParts, record: CallRecord, column: string): unknown {
  switch (column) {
    case "task_id":
      return parts.ids.taskId(record.sequence);
    case "attempt_number":
      return record.attempt;
    case "name":
      return callName(record);
    case "state":
      return stateOf(parts, record);
    case "job_id":
      return parts.jobId;
    case "actor_id":
      return record.actor ?? null;
    case "type":
      return typeOf(record);
    case "func_or_class_name":
      return record.target.name;
    case "worker_id":
      return sentTo(parts, record)?.link.processId ?? null;
    case "worker_pid":
      return sentTo(parts, record)?.pid ?? null;
    case "parent_task_id":
      return record.parent === undefined || record.parent.callId === 0 ? null : record.parent.taskId(parts.jobId);
    case "pending_reason":
      return reasonOf(parts, record);
    default:
      return null;
  }
}

function typeOf({ actor }: CallRecord): "NORMAL_TASK" | "ACTOR_TASK" {
  return actor === undefined ? "NORMAL_TASK" : "ACTOR_TASK";
}

function clientOf({ calls }: PendingParts, actor: ActorId): ActorClient | undefined {
  return calls.actors.get(actor)?.resolved;
}

function sentTo(parts: PendingParts, record: CallRecord): Sent | undefined {
  if (record.actor === undefined) return parts.calls.submitter.whereIs(record);
  const client = clientOf(parts, record.actor);
  const link = client?.linkOf(record);
  return link === undefined ? undefined : { link, pid: client?.state?.pid };
}

function lackingArguments({ dependencies, isQueued, actor }: CallRecord): number {
  // A task in a queue has had its arguments: one that is missing now is made again.
  if (isQueued && actor === undefined) return 0;
  return dependencies.reduce((count, entry) => count + (entry.isSettled ? 0 : 1), 0);
}

function stateOf(parts: PendingParts, record: CallRecord): PendingState {
  if (sentTo(parts, record) !== undefined) return "SUBMITTED_TO_WORKER";
  if (lackingArguments(record) > 0) return "PENDING_ARGS_AVAIL";
  return record.actor === undefined ? "PENDING_NODE_ASSIGNMENT" : "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY";
}

/** Returns one line; `why(ref)` follows the cause further. */
function reasonOf(parts: PendingParts, record: CallRecord): string {
  const sent = sentTo(parts, record);
  if (sent !== undefined) return `It was sent to process ${sent.pid ?? "of another node"} and waits for its turn there.`;
  const lacking = lackingArguments(record);
  if (lacking > 0) return `It waits for ${lacking} of ${record.dependencies.length} arguments that are refs.`;
  if (record.actor !== undefined) return actorReason(clientOf(parts, record.actor)?.state?.phase);
  if (!record.isQueued && !parts.calls.submitter.isTravelling(record)) return "It failed and waits for its next attempt.";
  const resources = Object.entries(specResources(record.shape)).map(([name, amount]) => `${amount} ${name}`);
  return `It waits for a worker${resources.length === 0 ? "" : ` with ${resources.join(", ")}`}.`;
}

function actorReason(phase: string | undefined): string {
  if (phase === "restarting") return "Its actor restarts.";
  return phase === "alive" ? "It waits behind other calls of its actor." : "Its actor has not started yet.";
}
