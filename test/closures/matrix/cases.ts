/**
 * The table of the matrix: the program's code, and the value that must come back from the worker.
 *
 * Owns the list that the theme files fill when they are loaded; a main file runs it and prints one JSON line for each case.
 */
import { inspect, isDeepStrictEqual } from "node:util";
import { run as runRemotely, stop } from "./run.ts";

interface Case {
  readonly name: string;
  readonly run: () => unknown;
  readonly expected: unknown;
}

export interface Outcome {
  readonly name: string;
  readonly isRight: boolean;
  /** The text that came instead. */
  readonly received?: string;
}

const cases: Case[] = [];

/** `run` must give this value. */
export function works(name: string, run: () => unknown, expected: unknown): void {
  cases.push({ name, run, expected });
}

/** A function must return the same value on a worker as here. */
export function alike(name: string, target: () => unknown): void {
  cases.push({ name, run: () => runRemotely(target), expected: target() });
}

/** `run` must fail with a message that matches. */
export function refuses(name: string, run: () => unknown, message: RegExp): void {
  cases.push({ name: `refused: ${name}`, run, expected: message });
}

export async function outcomes(): Promise<Outcome[]> {
  const list: Outcome[] = [];
  for (const { name, run, expected } of cases) {
    let received: unknown;
    try {
      received = await run();
    } catch (error) {
      received = error;
    }
    const isRight =
      expected instanceof RegExp
        ? received instanceof Error && expected.test(received.message)
        : !(received instanceof Error) && (isDeepStrictEqual(received, expected) || inspect(received) === inspect(expected));
    list.push(isRight ? { name, isRight } : { name, isRight, received: describe(received) });
  }
  await stop();
  return list;
}

function describe(value: unknown): string {
  if (value instanceof Error) return String(value.stack ?? value.message).slice(0, 1500);
  return inspect(value, { depth: 5, breakLength: 160 }).slice(0, 1500);
}

/** For main files: runs everything and prints it. */
export async function report(): Promise<void> {
  for (const outcome of await outcomes()) console.log(`@case ${JSON.stringify(outcome)}`);
}
