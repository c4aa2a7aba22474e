/**
 * The interface of search algorithms. A searcher suggests configurations and is told the results of their trials.
 *
 * The loop calls one method of a searcher at a time, awaits it, and keeps the order of the calls in the run's log. After a crash the loop
 * restores the last saved state and repeats the logged calls since then. A searcher that decides by its calls and a seeded generator alone
 * (`Random`) then continues the same sequence. A searcher has no clock and does no I/O, unless it is an adapter of another library.
 */
import type { SearchSpace } from "./spaces/space.ts";
import type { Config, Definition, JsonValue, Mode, TrialResult } from "./trials/trial.ts";

/** A configuration; "later": ask again once a trial has reported or ended; "finished": there are no more. */
export type Suggestion = Config | "later" | "finished";

export interface Searcher {
  /** Type and options that make an equal searcher, if all options are JSON. Without a definition, `Tuner.restore` needs the object. */
  readonly definition?: Definition | undefined;
  /**
   * Told once, before all else: the metrics with the direction of each (one, unless the search has several objectives), and the space.
   * A metric and a mode that the searcher was constructed with win.
   *
   * @throws TypeError or RangeError for a space that it cannot search, such as one with a `gridSearch`, naming the place in the space
   */
  setSearchProperties(metric: string | readonly string[], mode: Mode | readonly Mode[], space: SearchSpace): void | Promise<void>;
  /** A configuration for a new trial, complete: `sampleFrom` is resolved in it. */
  suggest(trialId: string): Suggestion | Promise<Suggestion>;
  /** An intermediate result of a trial. */
  onTrialResult?(trialId: string, result: TrialResult): void | Promise<void>;
  /** The end of a trial: with its last result, which a trial that never reported has not; or with `error: true` where the trial failed. */
  onTrialComplete(trialId: string, result?: TrialResult, error?: boolean): void | Promise<void>;
  /** State that `restore` needs to continue. */
  save(): JsonValue | Promise<JsonValue>;
  /** Called after `setSearchProperties`, on a searcher that was constructed with the same options. */
  restore(state: JsonValue): void | Promise<void>;
  /**
   * Called at the end of each run, however it ends: frees resources outside the searcher, such as a process. Another question may follow,
   * in another run.
   */
  close?(): void | Promise<void>;
}
