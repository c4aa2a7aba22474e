/**
 * The blocks of a history: records of calls as columns, and definitions of the numbers in them as JSON.
 *
 * A record has 16 words. A block has all first words, then all second words and so on, each as the difference to the word before. Most
 * differences are small, so a call takes some ten bytes when the block is compressed. Pure.
 */
import { CALL, CALL_LENGTH } from "./observation-layout.ts";

/** Kinds of blocks. */
export const HISTORY_BLOCK = { definitions: 1, calls: 2, failures: 3, rows: 4, lost: 5 } as const;

/** Place of the process number in a kept record. */
export const PROCESS_AT: number = 15 * 4;

/** Defines the numbers in records that the segment has not defined before. */
export interface HistoryProcessFacts {
  readonly number: number;
  readonly id: string;
  readonly pid: number;
  readonly jobId: string;
  readonly originMs: number;
  readonly cause?: string | undefined;
  /** Further functions and callers, which are numbered from 1 on. */
  readonly functions: readonly (readonly [name: string, actor: string | null])[];
  readonly callers: readonly string[];
}

/** Texts of errors, by the prefix of the call's id and its call id. */
export type HistoryFailures = readonly (readonly [caller: string, callId: number, text: string])[];

/** Rows of other resources; a later row replaces an earlier one with the same id. */
export type HistoryRows = readonly {
  readonly resource: string;
  readonly id: string;
  readonly timeMs: number;
  readonly row: Readonly<Record<string, unknown>>;
}[];

/** @param records - whole records, one behind the other */
export function callColumns(records: Buffer): Buffer {
  const rows = Math.floor(records.length / CALL_LENGTH);
  const columns = Buffer.alloc(rows * CALL_LENGTH);
  for (let word = 0; word < CALL.words; word += 1) {
    let before = 0;
    for (let row = 0; row < rows; row += 1) {
      const value = records.readUInt32LE(row * CALL_LENGTH + word * 4);
      columns.writeUInt32LE((value - before) >>> 0, (word * rows + row) * 4);
      before = value;
    }
  }
  return columns;
}

/** Returns the records of a block of calls; a rest that is no whole record is left out. */
export function callsOfColumns(columns: Uint8Array): Buffer {
  const bytes = Buffer.from(columns.buffer, columns.byteOffset, columns.byteLength);
  const rows = Math.floor(bytes.length / CALL_LENGTH);
  const records = Buffer.alloc(rows * CALL_LENGTH);
  for (let word = 0; word < CALL.words; word += 1) {
    let value = 0;
    for (let row = 0; row < rows; row += 1) {
      value = (value + bytes.readUInt32LE((word * rows + row) * 4)) >>> 0;
      records.writeUInt32LE(value, row * CALL_LENGTH + word * 4);
    }
  }
  return records;
}
