/**
 * Keeps the calls of one node: running ones, the last ended ones, and exact counts beyond the records that are kept.
 *
 * Owns the observed processes and a ring of kept records. `poll` takes ended calls; a question looks at all processes first, so it
 * sees calls of processes that compute. Calls in the slots of a dead process are recorded as failed, with the cause. Bounded in memory.
 */
import type { ProcessId } from "../base/ids.ts";
import type { StateQuery } from "../wire/observing/state-messages.ts";
import type { CallFailure } from "./call-recorder.ts";
import { addCounts, callRow, callSource, callSpan, callTaskId, type CallView, type FailureText, type NamedCounts } from "./call-view.ts";
import { PROCESS_AT } from "./history-blocks.ts";
import { CALL, CALL_LENGTH, CALL_STATE, CALL_TIMES } from "./observation-layout.ts";
import { type ObservationSource, ObservedProcess, type ProcessFacts } from "./observed-process.ts";
import { selectItems, type SelectedItems, type SelectedRows } from "./select-rows.ts";

/** Takes each record that is kept. */
type KeptRecord = (number: number, process: ObservedProcess, record: Buffer) => void;

/** 64 bytes each: 8 MB. */
const KEPT_MAX = 131_072;
const KEPT_FIRST = 1024;
/** Texts of failures: up to 12 KB each. */
const FAILURES_MAX = 1000;

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
  readonly #onKept: KeptRecord | undefined;

  constructor(nodeId: string, onKept?: KeptRecord) {
    this.#nodeId = nodeId;
    this.#onKept = onKept;
  }

  joined(facts: ProcessFacts, source: ObservationSource): void {
    const number = this.#nextProcess;
    this.#nextProcess += 1;
    this.#processes.set(number, { process: new ObservedProcess(facts, source, this.#nodeId), kept: 0, isGone: false });
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
    const { page, ...counts } = this.#selected(query, false);
    return { rows: page.map(({ key, item }) => ({ key, row: callRow(item, query.detail, this.#failureOf) })), ...counts };
  }

  /** Returns a page of calls that have begun, with times to the microsecond. */
  spans(query: StateQuery): SelectedRows {
    const { page, ...counts } = this.#selected(query, true);
    return { rows: page.map(({ key, item }) => ({ key, row: callSpan(item, this.#failureOf) })), ...counts };
  }

  #selected(query: StateQuery, isExact: boolean): SelectedItems<CallView> {
    this.poll();
    const running = Array.from(this.#running());
    const selected = selectItems(callSource(this.#views(running), { failureOf: this.#failureOf, isExact }), query);
    return { ...selected, total: this.#endedCount() + running.length };
  }

  /** Returns the ids of the calls that run, as of the last look. */
  runningIds(): string[] {
    return Array.from(this.#running(), callTaskId);
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
      for (const [{ name, actor }, state, count] of process.counts()) addCounts(all, { name, actor, state, count });
      for (const record of process.running()) {
        addCounts(all, { ...process.functionOf(record.readUInt32LE(CALL.fn * 4)), state: CALL_STATE.running, count: 1 });
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
    addCounts(this.#gone, { name, actor, state, count });
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
    if (entry === undefined) return;
    entry.kept += 1;
    this.#onKept?.(number, entry.process, record);
  }

  #drop(number: number): void {
    const entry = this.#processes.get(number);
    if (entry === undefined) return;
    entry.kept -= 1;
    if (entry.isGone && entry.kept === 0) this.#processes.delete(number);
  }

  readonly #failureOf: FailureText = (caller, callId) => {
    const failure = this.#failures.get(`${caller}/${callId}`);
    return failure === undefined ? undefined : failureText(failure);
  };
}

export function failureText({ type, message, stack }: CallFailure): string {
  return stack || `${type}: ${message}`;
}
