/**
 * Backends connect a framework to the ranks: a `Backend` sets their environment, runs the rendezvous, and shuts the framework down.
 *
 * The trainers of this library are each a loop with a backend (`framework-backends.ts`); `DataParallelTrainer` takes a custom backend. Backends run in the program that
 * called `fit`, once for each attempt.
 */
import type { AnyFunction, RemoteFunction } from "../../core/index.ts";
import type { RankFacts } from "../ranks/rank-protocol.ts";

/** The view of a rank that backends get. */
export interface BackendRank extends RankFacts {
  readonly rank: number;
  readonly localRank: number;
  readonly localWorldSize: number;
  readonly nodeRank: number;
}

/** The ranks of an attempt, in their order. */
export interface BackendGroup {
  readonly ranks: readonly BackendRank[];
  /** Variables of one rank, or of all. Frameworks read them when they are imported, so they are set in `onStart`. */
  setEnvironment(env: Readonly<Record<string, string>>, rank?: number): void;
  /** Calls a function in each rank, or in one: of TypeScript where the loop is, else `python.task(...)`. From `onTrainingStart` on. */
  // oxlint-disable-next-line no-explicit-any -- what a Python function takes is the user's to say
  execute(fn: AnyFunction | RemoteFunction<any[], any>, args?: readonly unknown[], rank?: number): Promise<unknown[]>;
  /** The rendezvous of a framework that Shoal knows, in each rank of Python, or in one. */
  setUp(framework: string, options: Readonly<Record<string, unknown>>, rank?: number): Promise<unknown[]>;
}

export interface Backend {
  /** The ranks are there, in their order; nothing of the loop is loaded. */
  onStart?(group: BackendGroup): void | Promise<void>;
  /** The loops are loaded and about to begin. */
  onTrainingStart?(group: BackendGroup): void | Promise<void>;
  /** All loops have ended well, and the processes are about to end. */
  onShutdown?(group: BackendGroup): void | Promise<void>;
}
