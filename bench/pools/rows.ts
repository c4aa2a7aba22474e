/** The rows of `npm run bench -- --against-pools`: names, units, and the calls that a row repeats. */
import type { Pool } from "./libraries.ts";

export interface Row {
  readonly name: string;
  readonly title: string;
  /** Operations that one step performs. 0: the row is the time from a program's start to its first result. */
  readonly operationsPerStep: number;
  step(pool: Pool): Promise<unknown>;
}

const IN_FLIGHT = 1000;
const SMALL_BYTES = 10_000;
const LARGE_BYTES = 1_000_000;
const argument = new Uint8Array(LARGE_BYTES).fill(7);

export const ROWS: readonly Row[] = [
  { name: "one-at-a-time", title: "calls, one at a time", operationsPerStep: 1, step: async (pool) => pool.one() },
  {
    name: "in-flight",
    title: "calls, 1,000 in flight",
    operationsPerStep: IN_FLIGHT,
    step: (pool) => Promise.all(Array.from({ length: IN_FLIGHT }, () => pool.one())),
  },
  { name: "result-10kb", title: "result of 10 kB", operationsPerStep: 1, step: async (pool) => pool.bytes(SMALL_BYTES) },
  { name: "argument-1mb", title: "argument of 1 MB", operationsPerStep: 1, step: async (pool) => pool.lengthOf(argument) },
  { name: "result-1mb", title: "result of 1 MB", operationsPerStep: 1, step: async (pool) => pool.bytes(LARGE_BYTES) },
  { name: "start", title: "program start to first result", operationsPerStep: 0, step: async (pool) => pool.one() },
];

export function isStart(row: Row): boolean {
  return row.operationsPerStep === 0;
}
