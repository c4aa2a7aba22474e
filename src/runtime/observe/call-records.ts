/**
 * Keeps the calls of one node: running ones, the last ended ones, and exact counts beyond the records that are kept.
 *
 * Owns the observed processes and a ring of kept records. `poll` takes ended calls; a question looks at all processes first, so it
 * sees calls of processes that compute. Calls in the slots of a dead process are recorded as failed, with the cause. Bounded in memory.
 */
import { type ProcessId, taskIdOf } from "../base/ids.ts";
import type { StateQuery } from "../wire/state-messages.ts";
import type { CallFailure } from "./call-recorder.ts";
import { NAME_CHARACTERS_MAX } from "./limits.ts";
import { CALL, CALL_LENGTH, CALL_STATE, CALL_TIMES } from "./observation-layout.ts";
import { bounded, type ObservationSource, ObservedProcess, type ProcessFacts } from "./observed-process.ts";
import { type Placed, type RowSource, selectItems, type SelectedRows, type StateRow } from "./select-rows.ts";

/** 64 bytes each: 8 MB. */
const KEPT_MAX = 131_072;
const KEPT_FIRST = 1024;
/** Texts of failures: up to 12 KB each. */
const FAILURES_MAX = 1000;
/** Names with counts; the rest is counted as `(other)`. */
const NAMES_MAX = 10_000;
const DURATION_MAX_MS = 1e14;

const STATES = ["NIL", "RUNNING", "FINISHED", "FAILED", "FAILED", "FAILED"] as const;
const ERROR_TYPES = [null, null, null, "TASK_EXECUTION_EXCEPTION", "TASK_CANCELLED", "WORKER_DIED"] as const;

/** Counts of a name. */
interface NamedCounts {
  readonly name: string;
  readonly type: string;
  readonly counts: Record<string, number>;
}

/** A record, wherever its bytes are. */
interface CallView {
  readonly process: ObservedProcess;
  readonly bytes: Buffer;
  readonly at: number;
}

export class CallRecords {
  readonly #nodeId: string;
  /** By the numbers that kept records have. */
  readonly #processes = new Map<number, { readonly process: ObservedProcess; kept: number; isGone: boolean }>();
  readonly #numbers = new Map<ProcessId, number>();
  #nextProcess = 1;
  #kept: Buffer = Buffer.alloc(KEPT_FIRST * CALL_LENGTH);
  #keptEver = 0;
  /** Counts of processes that have gone. */
  readonly #gone = new Map<string, NamedCounts>();
  readonly #failures = new Map<string, CallFailure>();

  constructor(nodeId: string) {
    this.#nodeId = nodeId;
  }

  joined(facts: ProcessFacts, source: ObservationSource): void {
    const number = this.#nextProcess;
    this.#nextProcess += 1;
    this.#processes.set(number, { process: new ObservedProcess(facts, source), kept: 0, isGone: false });
    this.#numbers.set(facts.id, number);
  }

  failed(failure: CallFailure): void {
    this.#failures.set(`${failure.caller}/${failure.callId}`, failure);
    for (const oldest of this.#failures.keys()) {
      if (this.#failures.size <= FAILURES_MAX) break;
      this.#failures.delete(oldest);
    }
  }

  /** Takes the calls that have ended since. @returns whether there were any */
  poll(): boolean {
    let hasAny = false;
    for (const number of this.#numbers.values()) if (this.#read(number)) hasAny = true;
    return hasAny;
  }

  /** Reads a process that has ended for the last time. Calls in its slots count as failed, unless it ended of itself. */
  ended(id: ProcessId, { cause, nowMs, isIntended }: { cause: string; nowMs: number; isIntended: boolean }): void {
    const number = this.#numbers.get(id);
    const entry = number === undefined ? undefined : this.#processes.get(number);
    if (number === undefined || entry === undefined) return;
    this.#read(number);
    const { process } = entry;
    process.cause = cause;
    for (const [{ name, actor }, state, count] of process.counts()) this.#count(name, actor, state, count);
    for (const record of process.running()) {
      const state = isIntended ? CALL_STATE.finished : CALL_STATE.died;
      record.writeUInt32LE(state, CALL.state * 4);
      record.writeDoubleLE(nowMs - process.originMs, CALL_TIMES.end * 8);
      const { name, actor } = process.functionOf(record.readUInt32LE(CALL.fn * 4));
      this.#count(name, actor, state, 1);
      this.#keep(number, record);
    }
    process.close();
    entry.isGone = true;
    this.#numbers.delete(id);
    if (entry.kept === 0) this.#processes.delete(number);
  }

  /** Returns a page of calls; `total` counts those too whose records were not kept. */
  select(query: StateQuery): SelectedRows {
    const { rows, ...counts } = this.#selected(query, timeOf);
    return { rows: rows.map(({ key, item }) => ({ key, row: this.#row(item, query.detail) })), ...counts };
  }

  /** Returns a page of calls that have begun, with times to the microsecond. */
  spans(query: StateQuery): SelectedRows {
    const { rows, ...counts } = this.#selected(query, exactTimeOf);
    const exact = rows.map(({ key, item }) => {
      const isRunning = item.bytes.readUInt32LE(item.at + CALL.state * 4) === CALL_STATE.running;
      const times = {
        start_time_ms: exactTimeOf(item, CALL_TIMES.start),
        end_time_ms: isRunning ? null : exactTimeOf(item, CALL_TIMES.end),
      };
      return { key, row: { ...this.#row(item, true), ...times } };
    });
    return { rows: exact, ...counts };
  }

  #selected(
    query: StateQuery,
    time: (view: CallView, place: number) => number,
  ): { rows: readonly Placed<CallView>[]; total: number; numFiltered: number } {
    this.poll();
    const running = Array.from(this.#running());
    const source: RowSource<CallView> = {
      items: this.#views(running),
      timeMs: (view) => time(view, CALL_TIMES.start),
      id: idOf,
      value: (view, column) => this.#value(view, column),
    };
    const { page, numFiltered } = selectItems(source, query);
    return { rows: page, total: this.#endedCount() + running.length, numFiltered };
  }

  /** Returns the ids of the calls that run, as of the last look. */
  runningIds(): string[] {
    return Array.from(this.#running(), idOf);
  }

  *#running(): Generator<CallView> {
    for (const { process, isGone } of this.#processes.values())
      if (!isGone) for (const bytes of process.running()) yield { process, bytes, at: 0 };
  }

  /** Lists running calls, then the kept ones, the latest first. */
  *#views(running: readonly CallView[]): Generator<CallView> {
    yield* running;
    for (let number = this.#keptEver - 1; number >= this.#keptEver - this.#keptCount; number -= 1) {
      const at = this.#placeOf(number);
      const process = this.#processes.get(this.#kept.readUInt32LE(at + PROCESS_AT))?.process;
      if (process !== undefined) yield { process, bytes: this.#kept, at };
    }
  }

  /** Records that are counted and not kept. */
  get dropped(): number {
    return Math.max(0, this.#endedCount() - this.#keptCount);
  }

  /** Returns counts by name and state. */
  summary(): NamedCounts[] {
    this.poll();
    const all = new Map(Array.from(this.#gone, ([key, { name, type, counts }]) => [key, { name, type, counts: { ...counts } }]));
    for (const { process, isGone } of this.#processes.values()) {
      if (isGone) continue;
      for (const [{ name, actor }, state, count] of process.counts()) add(all, { name, actor, state, count });
      for (const record of process.running()) {
        add(all, { ...process.functionOf(record.readUInt32LE(CALL.fn * 4)), state: CALL_STATE.running, count: 1 });
      }
    }
    return Array.from(all.values());
  }

  close(): void {
    for (const { process, isGone } of this.#processes.values()) if (!isGone) process.close();
  }

  #endedCount(): number {
    let sum = 0;
    for (const { counts } of this.#gone.values()) for (const count of Object.values(counts)) sum += count;
    for (const { process, isGone } of this.#processes.values()) if (!isGone) for (const [, , count] of process.counts()) sum += count;
    return sum;
  }

  #read(number: number): boolean {
    const process = this.#processes.get(number)?.process;
    if (process === undefined) return false;
    process.look();
    return process.readRing((record) => this.#keep(number, record));
  }

  #count(name: string, actor: string | undefined, state: number, count: number): void {
    add(this.#gone, { name, actor, state, count });
  }

  get #keptCount(): number {
    return Math.min(this.#keptEver, KEPT_MAX);
  }

  #placeOf(number: number): number {
    return (number % KEPT_MAX) * CALL_LENGTH;
  }

  #keep(number: number, record: Buffer): void {
    const at = this.#placeOf(this.#keptEver);
    if (at >= this.#kept.length) {
      const larger = Buffer.alloc(Math.min(KEPT_MAX * CALL_LENGTH, this.#kept.length * 2));
      this.#kept.copy(larger);
      this.#kept = larger;
    }
    if (this.#keptEver >= KEPT_MAX) this.#drop(this.#kept.readUInt32LE(at + PROCESS_AT));
    record.copy(this.#kept, at);
    this.#kept.writeUInt32LE(number, at + PROCESS_AT);
    this.#keptEver += 1;
    const entry = this.#processes.get(number);
    if (entry !== undefined) entry.kept += 1;
  }

  #drop(number: number): void {
    const entry = this.#processes.get(number);
    if (entry === undefined) return;
    entry.kept -= 1;
    if (entry.isGone && entry.kept === 0) this.#processes.delete(number);
  }

  #value(view: CallView, column: string): unknown {
    const { process, bytes, at } = view;
    const state = bytes.readUInt32LE(at + CALL.state * 4);
    const fn = process.functionOf(bytes.readUInt32LE(at + CALL.fn * 4));
    switch (column) {
      case "task_id":
        return idOf(view);
      case "attempt_number":
        return bytes.readUInt32LE(at + CALL.attempt * 4);
      case "name":
      case "func_or_class_name":
        return fn.name;
      case "state":
        return STATES[state] ?? "NIL";
      case "job_id":
        return process.facts.jobId;
      case "actor_id":
        return fn.actor ?? null;
      case "type":
        return fn.actor === undefined ? "NORMAL_TASK" : "ACTOR_TASK";
      case "node_id":
        return this.#nodeId;
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
        return this.#errorMessage(view, state);
      default:
        return null;
    }
  }

  #errorMessage(view: CallView, state: number): string | null {
    if (state === CALL_STATE.died) return view.process.cause ?? null;
    if (state !== CALL_STATE.failed) return null;
    const failure = this.#failures.get(
      `${view.process.taskIdPrefix(view.bytes.readUInt32LE(view.at + CALL.caller * 4))}/${callIdOf(view)}`,
    );
    return failure === undefined ? null : failure.stack || `${failure.type}: ${failure.message}`;
  }

  #row(view: CallView, detail: boolean): StateRow {
    const columns = detail ? [...COLUMNS, ...DETAIL_COLUMNS] : COLUMNS;
    return Object.fromEntries(columns.map((column) => [column, this.#value(view, column)]));
  }
}

const COLUMNS = [
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
const DETAIL_COLUMNS = ["start_time_ms", "end_time_ms", "duration_ms", "error_message", "parent_task_id", "pending_reason"] as const;

/** Place of the process number in a kept record. */
const PROCESS_AT = 15 * 4;

function add(
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

function callIdOf({ bytes, at }: CallView): number {
  return bytes.readUInt32LE(at + CALL.callId * 4);
}

function idOf(view: CallView): string {
  const { process, bytes, at } = view;
  return taskIdOf(process.taskIdPrefix(bytes.readUInt32LE(at + CALL.caller * 4)), callIdOf(view), process.facts.jobId);
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
