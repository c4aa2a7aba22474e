/**
 * The interface of trial schedulers. A scheduler decides after each result whether a trial continues, and which trial gets free resources.
 *
 * Schedulers are pure: their decisions depend on the calls and on their own seeded generator, without a clock and without I/O, and they return every action that they want.
 * The same events therefore give the same decisions. Restoring a run relies on this: it loads the last saved state and replays the logged events.
 * Schedulers get trials as read-only views that show the present state; to remember a trial, keep its id.
 */
import type { Config, Definition, JsonValue, Mode, Trial, TrialResources, TrialResult } from "./trials/trial.ts";

/** Verdict on the trial that has reported. A paused trial resumes from its checkpoint; without a checkpoint it begins anew. */
export type Verdict = "continue" | "pause" | "stop";

/** Something that a scheduler wants done with a trial, the one that has reported or another. */
export type SchedulerAction =
  /** Ends a trial that is pending, running or paused, as terminated. Of one that has ended already, nothing. */
  | { readonly type: "stop"; readonly trialId: string }
  /** Pauses a trial that is running, after its next checkpoint or result. Of any other, nothing. */
  | { readonly type: "pause"; readonly trialId: string }
  /**
   * Saves a checkpoint of a running trial that can save on request (class trainables). A function's newest reported checkpoint is its
   * checkpoint.
   */
  | { readonly type: "checkpoint"; readonly trialId: string }
  /**
   * Makes a trial go on from the newest checkpoint of another, with another configuration: a running trial is interrupted for it, a paused one stays paused
   * until it is chosen. A checkpoint of the donor that is being saved is waited for. `isLogged`: it becomes a line of the trial's `pbt_policy` file.
   */
  | { readonly type: "exploit"; readonly trialId: string; readonly donorId: string; readonly config: Config; readonly isLogged?: boolean }
  /** The trial has no checkpoint although the scheduler would have used one. Nothing is done, but the user is told once. */
  | { readonly type: "lacksCheckpoint"; readonly trialId: string }
  /** Gives a trial other resources: a running one continues with them from its newest checkpoint. */
  | { readonly type: "resources"; readonly trialId: string; readonly resources: TrialResources };

/** A verdict, with actions that are done before it, in their order. */
export type Decision = Verdict | { readonly verdict: Verdict; readonly actions: readonly SchedulerAction[] };

/** The view of the experiment that schedulers get. */
export interface SchedulerView {
  /** All trials that have not ended, by id, in the order in which they were added. */
  readonly liveTrials: ReadonlyMap<string, Trial>;
  /** Whether trials may be added yet: the searcher is not at its end. */
  readonly isSearching: boolean;
  /** Resources of the cluster by name. */
  readonly clusterResources: Readonly<Record<string, number>>;
  /** Whether a trial could begin now with the free resources, or with those of another trial that is paused meanwhile. */
  fits(trial: Trial): boolean;
}

export interface TrialScheduler {
  /** Type and options that make an equal scheduler, if all options are JSON. Without a definition, `Tuner.restore` needs the object. */
  readonly definition?: Definition | undefined;
  /**
   * Number of trials that are suggested before there is room for them: 1 (`true`) lets a scheduler with time slices see that one waits,
   * more let one form groups of trials. A searcher that learns never gets more than one request ahead. Default: 0 (`false`).
   */
  readonly asksAhead?: boolean | number | undefined;
  /**
   * Told once, before all else. A metric and a mode that the scheduler was constructed with win.
   *
   * @throws TypeError if it needs a metric and has none, naming `tuneConfig.metric`
   */
  setSearchProperties(metric: string | undefined, mode: Mode | undefined): void;
  /** A trial was added. A scheduler that fixes parts of `config` returns the new one. */
  onTrialAdd(trial: Trial, view: SchedulerView): void | Config;
  /**
   * A running trial reported a result, and no stopper ended it. @throws if the result lacks the metric that the scheduler uses, and names
   * it
   */
  onTrialResult(trial: Trial, result: TrialResult, view: SchedulerView): Decision;
  /** A trial has ended by itself or by a stopper. */
  onTrialComplete(trial: Trial, result: TrialResult | undefined, view: SchedulerView): readonly SchedulerAction[] | void;
  /** A trial has failed and is not tried again. */
  onTrialError(trial: Trial, view: SchedulerView): readonly SchedulerAction[] | void;
  /** A trial that was pending or paused was ended. */
  onTrialRemove(trial: Trial, view: SchedulerView): readonly SchedulerAction[] | void;
  /** The id of a pending or paused trial to run next that `fits`, or undefined for none now. */
  chooseTrialToRun(view: SchedulerView): string | undefined;
  /**
   * Called when nothing runs, nothing can be chosen and trials are paused: returns actions that restart the run, such as stopping the
   * losers. Without any, the run ends its paused trials.
   */
  onIdle?(view: SchedulerView): readonly SchedulerAction[] | void;
  save(): JsonValue;
  /** Called after `setSearchProperties`, on a scheduler that was constructed with the same options. */
  restore(state: JsonValue): void;
}
