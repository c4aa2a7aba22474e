/**
 * Operations of a scenario: the few of the programming model that Shoal and the real Ray both have.
 *
 * A scenario is written once against this interface and run on both sides; `shoal-system.ts` and `ray-system.ts` are the two. Functions and
 * classes are named, because they cannot be shipped from one language to the other: `library.ts` and `ray_twin.py` hold the same ones under
 * the same names. A failed operation gives an `Outcome` with the kind of the error in Shoal's terms, never an exception.
 */

import type { Step } from "./data-steps.ts";

/** A reference that the system keeps under a number. */
export class Ref {
  readonly ref: number;
  constructor(ref: number) {
    this.ref = ref;
  }
}

/** An actor, a stream or a placement group that the system keeps under a number. */
export class Handle {
  readonly handle: number;
  constructor(handle: number) {
    this.handle = handle;
  }
}

/** How something ended: with a value, or with an error of a kind, and what the user's code threw where that was the cause. */
export type Outcome =
  | { readonly value: unknown }
  | { readonly error: string; readonly cause?: string | undefined; readonly message?: string | undefined };

/** Options in Shoal's names; each side takes those that it knows and refuses others. */
export interface Settings {
  readonly numReturns?: number | "streaming";
  readonly numCpus?: number;
  readonly numGpus?: number;
  readonly resources?: Readonly<Record<string, number>>;
  readonly maxRetries?: number;
  readonly maxCalls?: number;
  readonly retryOn?: boolean | readonly string[];
  readonly name?: string;
  readonly namespace?: string;
  readonly getIfExists?: boolean;
  readonly maxRestarts?: number;
  readonly maxTaskRetries?: number;
  readonly maxConcurrency?: number;
  readonly concurrencyGroups?: Readonly<Record<string, number>>;
  readonly concurrencyGroup?: string;
  readonly maxPendingCalls?: number;
  readonly placementGroup?: Handle;
  readonly bundleIndex?: number;
  readonly labelSelector?: Readonly<Record<string, string>>;
  readonly fallbackStrategy?: readonly { readonly labelSelector: Readonly<Record<string, string>> }[];
  readonly envVars?: Readonly<Record<string, string>>;
  /** Ray's "spread", or a node's affinity: `node` is an index of `nodes()`, or -1 for one that does not exist. */
  readonly schedulingStrategy?: "spread" | { readonly node: number; readonly soft: boolean };
}

export type Strategy = "PACK" | "SPREAD" | "STRICT_PACK" | "STRICT_SPREAD";

export interface System {
  /** A folder that both the scenario and its tasks can use. */
  readonly folder: string;
  task(name: string, args?: readonly unknown[], settings?: Settings): Promise<Ref>;
  /** With `numReturns` above 1. */
  tasks(name: string, args: readonly unknown[], settings: Settings): Promise<Ref[]>;
  get(ref: Ref, options?: { timeoutMs?: number }): Promise<Outcome>;
  getAll(refs: readonly Ref[], options?: { timeoutMs?: number }): Promise<Outcome>;
  put(value: unknown): Promise<Ref>;
  /** Indices of the ready and of the pending refs. */
  wait(refs: readonly Ref[], options: { numReturns: number; timeoutMs?: number }): Promise<Outcome>;
  /** For each ref: how many nodes have it, whether it takes more than 100 KB, whether it was spilled. */
  locations(refs: readonly Ref[]): Promise<Outcome>;
  cancel(ref: Ref, options?: { force?: boolean; recursive?: boolean }): Promise<Outcome>;
  actor(name: string, args?: readonly unknown[], settings?: Settings): Promise<Handle>;
  call(actor: Handle, method: string, args?: readonly unknown[], settings?: Settings): Promise<Ref>;
  /** The same, where submitting it may be refused. */
  tryCall(actor: Handle, method: string, args?: readonly unknown[]): Promise<Outcome>;
  getActor(name: string, options?: { namespace?: string }): Promise<Outcome>;
  kill(actor: Handle, options?: { noRestart?: boolean }): Promise<void>;
  /** Starts a generator task, or a generator method of an actor. */
  stream(target: string | { actor: Handle; method: string }, args?: readonly unknown[]): Promise<Handle>;
  /** The outcome of the next item, or `{ error: "End" }`. */
  next(stream: Handle): Promise<Outcome>;
  placementGroup(bundles: readonly Record<string, number>[], strategy: Strategy): Promise<Handle>;
  groupReady(group: Handle, options: { timeoutMs: number }): Promise<Outcome>;
  removeGroup(group: Handle): Promise<void>;
  resources(which: "cluster" | "available"): Promise<Record<string, number>>;
  nodeCount(): Promise<number>;
  /** A piece of a driver, by name (`programs.ts`). */
  program(name: string): Promise<Outcome>;
  /** A pipeline of datasets, and what its last step gives (`data-steps.ts`). */
  dataset(steps: readonly Step[]): Promise<Outcome>;
  close(): Promise<void>;
}

/** A scenario: the claim, the row in the feature table, and the expected result of the comparison. */
export interface Scenario {
  readonly name: string;
  /** Section of the feature table. */
  readonly section: string;
  /** Present where we decided otherwise than Ray: the outcomes must then differ, or this text is out of date. */
  readonly differs?: string;
  /** Present where Ray itself breaks: why, and what is expected of Shoal instead of Ray's outcome. */
  readonly withoutRay?: { readonly why: string; readonly expected: unknown };
  run(system: System): Promise<unknown>;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Asks again until the answer is as wanted; the last answer either way. */
export async function eventually<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean, withinMs = 10_000): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer) || performance.now() > end) return answer;
    await sleep(50);
  }
}
