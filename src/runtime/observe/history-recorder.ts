/**
 * Makes the blocks of a node's history: ended calls with definitions of the numbers in them, texts of failures, and rows.
 *
 * Gathers records until `flush`, which its owner calls twice a second. Each segment can be read alone. A new segment begins with the rows
 * of all living processes, and repeats definitions where a record needs them.
 */
import type { SegmentBlock } from "../os/history/segment-layout.ts";
import type { CallFailure } from "./call-recorder.ts";
import { failureText } from "./call-records.ts";
import {
  callColumns,
  HISTORY_BLOCK,
  type HistoryFailures,
  type HistoryProcessFacts,
  type HistoryRows,
  PROCESS_AT,
} from "./history-blocks.ts";
import { BLOCK_ROWS_MAX } from "./limits.ts";
import { CALL_LENGTH } from "./observation-layout.ts";
import type { ObservedProcess } from "./observed-process.ts";
import type { StateRow } from "./select-rows.ts";

/** Where blocks go. */
export interface HistorySink {
  /** Rows that were lost and of which no segment tells. */
  lostRows: number;
  readonly wantsSegment: boolean;
  beginSegment(): void;
  append(block: SegmentBlock, rowsIfLost: number): void;
  close(): Promise<void>;
}

interface Written {
  functions: number;
  callers: number;
  cause: string | undefined;
}

interface LiveRow {
  readonly timeMs: number;
  readonly make: () => StateRow;
}

export class HistoryRecorder {
  readonly #sink: HistorySink;
  readonly #nowMs: () => number;
  readonly #records: Buffer = Buffer.alloc(BLOCK_ROWS_MAX * CALL_LENGTH);
  #count = 0;
  readonly #processes = new Map<number, ObservedProcess>();
  /** By number of the process: the definitions that the present segment has. */
  readonly #written = new Map<number, Written>();
  #failures: HistoryFailures[number][] = [];
  #rows: HistoryRows[number][] = [];
  /** By resource and id: rows that a new segment begins with. */
  readonly #live = new Map<string, HistoryRows[number] & LiveRow>();
  #firstMs: number | undefined;

  constructor(sink: HistorySink, nowMs: () => number = () => Date.now()) {
    this.#sink = sink;
    this.#nowMs = nowMs;
  }

  /** Takes the record of an ended call. */
  call(number: number, process: ObservedProcess, record: Buffer): void {
    const at = this.#count * CALL_LENGTH;
    record.copy(this.#records, at);
    this.#records.writeUInt32LE(number, at + PROCESS_AT);
    this.#processes.set(number, process);
    this.#firstMs ??= this.#nowMs();
    this.#count += 1;
    if (this.#count === BLOCK_ROWS_MAX) this.flush();
  }

  failure(failure: CallFailure): void {
    this.#failures.push([failure.caller, failure.callId, failureText(failure)]);
  }

  /** Takes a row that may change. `isLive`: a new segment repeats it. */
  row(resource: string, id: string, { timeMs, isLive, make }: LiveRow & { isLive: boolean }): void {
    const row = { resource, id, timeMs, row: make() };
    this.#rows.push(row);
    if (isLive) this.#live.set(`${resource} ${id}`, { ...row, make });
    else this.#live.delete(`${resource} ${id}`);
  }

  /** Hands over all that has been gathered. */
  flush(): void {
    const nowMs = this.#nowMs();
    if (this.#count === 0 && this.#failures.length === 0 && this.#rows.length === 0) return;
    if (this.#sink.wantsSegment) this.#begin();
    const range = { firstMs: this.#firstMs ?? nowMs, lastMs: nowMs };
    this.#json(HISTORY_BLOCK.rows, this.#rows, range);
    const processes = Array.from(this.#processes, ([number, process]) => this.#definitionOf(number, process)).filter(
      (facts) => facts !== undefined,
    );
    this.#json(HISTORY_BLOCK.definitions, processes, range);
    if (this.#count > 0) {
      const body = callColumns(this.#records.subarray(0, this.#count * CALL_LENGTH));
      this.#sink.append({ kind: HISTORY_BLOCK.calls, rows: this.#count, ...range, body }, this.#count);
    }
    this.#json(HISTORY_BLOCK.failures, this.#failures, range);
    this.#count = 0;
    this.#processes.clear();
    this.#failures = [];
    this.#rows = [];
    this.#firstMs = undefined;
  }

  async close(): Promise<void> {
    this.flush();
    await this.#sink.close();
  }

  #begin(): void {
    this.#sink.beginSegment();
    this.#written.clear();
    const lost = this.#sink.lostRows;
    this.#sink.lostRows = 0;
    // Where this block is lost, too, its number counts again.
    if (lost > 0) this.#json(HISTORY_BLOCK.lost, [lost], { firstMs: this.#nowMs(), lastMs: this.#nowMs() }, lost);
    const changed = new Set(this.#rows.map(({ resource, id }) => `${resource} ${id}`));
    const unchanged = Array.from(this.#live).filter(([name]) => !changed.has(name));
    const live = unchanged.map(([, { resource, id, timeMs, make }]) => ({ resource, id, timeMs, row: make() }));
    // Rows that ended since come behind those that live.
    this.#rows = [...live, ...this.#rows];
  }

  /** Returns the definitions that the present segment lacks. */
  #definitionOf(number: number, process: ObservedProcess): HistoryProcessFacts | undefined {
    const written = this.#written.get(number);
    const { functions, callers } = process.definitionsSince(written?.functions ?? 0, written?.callers ?? 0);
    if (written !== undefined && functions.length === 0 && callers.length === 0 && written.cause === process.cause) return undefined;
    this.#written.set(number, {
      functions: (written?.functions ?? 0) + functions.length,
      callers: (written?.callers ?? 0) + callers.length,
      cause: process.cause,
    });
    const { id, pid, jobId } = process.facts;
    return { number, id, pid, jobId, originMs: process.originMs, cause: process.cause, functions, callers };
  }

  /** Appends a block; only lost calls are counted. */
  #json(kind: number, items: readonly unknown[], range: { firstMs: number; lastMs: number }, callsIfLost = 0): void {
    if (items.length === 0) return;
    this.#sink.append({ kind, rows: items.length, ...range, body: Buffer.from(JSON.stringify(items)) }, callsIfLost);
  }
}
