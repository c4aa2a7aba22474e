/**
 * The layout of a process's observation file: a header, slots of running calls, counters, definitions, and a ring of ended calls.
 *
 * The process writes through a map; its daemon reads with `pread` and trusts nothing in the file. All numbers are in the byte order of the
 * machine, which both sides share. Places are counted in words of four bytes, times in places of eight.
 */
import { DEFINITIONS_BYTES_MAX, FUNCTIONS_MAX, RING_SIZE_MAX, SLOTS_MAX } from "./limits.ts";

const WORD = 4;
export const MAGIC = 0x5348_4f42;
export const VERSION = 2;

/** Words of the header. */
export const HEADER = {
  magic: 0,
  version: 1,
  /** Bytes of the definitions that are written. */
  definitionBytes: 2,
  /** Records in the ring; grows while the daemon does not keep up. */
  ringSize: 3,
  /** Calls that run beyond the slots. */
  overflow: 4,
} as const;
/** Places of the header with eight bytes. */
export const HEADER_TIMES = {
  /** Wall-clock time of the process's clock 0. */
  origin: 4,
  /** Records that were ever written. */
  written: 5,
  /** Records that the daemon has read. */
  read: 6,
} as const;
const HEADER_BYTES = 256;

/** Words of a call, in a slot and in the ring. */
export const CALL = {
  state: 0,
  fn: 1,
  callId: 2,
  caller: 3,
  /** The low half of the record's number, which tells a torn or overwritten one. */
  sequence: 8,
  /** The call that made it: number of that call's caller, 0 for none, and its call id. */
  parentCaller: 9,
  parentId: 10,
  /** How often the call was tried before. */
  attempt: 11,
  words: 16,
} as const;
export const CALL_LENGTH = 64;
/** Places of eight bytes in a call: times on the clock of the process. */
export const CALL_TIMES = { start: 2, end: 3, times: 8 } as const;

/** States of a call, running or ended. */
export const CALL_STATE = { none: 0, running: 1, finished: 2, failed: 3, cancelled: 4, died: 5 } as const;
export const OUTCOMES = 6;

export const SLOTS_AT: number = HEADER_BYTES;
export const COUNTERS_AT: number = SLOTS_AT + SLOTS_MAX * CALL_LENGTH;
/** Number of calls by function and outcome. */
const COUNTERS_BYTES = FUNCTIONS_MAX * OUTCOMES * WORD;
export const DEFINITIONS_AT: number = COUNTERS_AT + COUNTERS_BYTES;
export const RING_AT: number = DEFINITIONS_AT + DEFINITIONS_BYTES_MAX;
export const OBSERVATION_LENGTH: number = RING_AT + RING_SIZE_MAX * CALL_LENGTH;
