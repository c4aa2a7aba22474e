/**
 * The events that an experiment's machine takes, and the effects that it returns: the actions to be done.
 *
 * Events are plain JSON, as the run's log holds them: applied again in their order, they give the same state and the same effects. Everything decided outside of the machine
 * (configurations by the searcher, ends by stoppers, times by the clock) is therefore part of an event.
 */
import type { Config, Metrics, Trial, TrialPlace, TrialResources, TrialResult } from "../trials/trial.ts";

/** A complete checkpoint of a trial, and how far the trial was. */
export interface TrialCheckpoint {
  readonly path: string;
  readonly iteration: number;
  readonly timeTotalMs: number;
  /** The reported score by which checkpoints are kept, as `{ name: value }`; empty without a score. */
  readonly metrics: Metrics;
}

/** Why a trial failed, for messages and files. */
export interface TrialFailure {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  /** The remedy. */
  readonly hint?: string;
  /** Whether the message names the trial. */
  readonly namesTrial?: boolean;
}

export interface SessionLimits {
  /** Number of requested configurations; Infinity if the searcher decides when it is finished. */
  readonly samplesMax: number;
  readonly concurrentMax: number;
  /** -1: without end. */
  readonly maxFailures: number;
  readonly clusterResources: Readonly<Record<string, number>>;
  /** Number of trials that the searcher may be asked for ahead; logs of earlier versions lack it. Default: 1. */
  readonly aheadMax?: number;
  /** Only in logs of earlier versions, whose reports lack it. Without it all trials counted as saving on request. */
  readonly savesWhenAsked?: boolean;
}

export type TrialEvent =
  /** A session continues the run: nothing begins until it has reported the fate of the running trials. */
  | { readonly type: "opened" }
  /** The session is ready: trials may begin, within its limits. They are part of the log, as another session may have others. Logs of earlier versions lack the time. */
  | { readonly type: "begun"; readonly limits: SessionLimits; readonly atMs?: number }
  /** The searcher gave a configuration. */
  | {
      readonly type: "suggested";
      readonly trialId: string;
      readonly name: string;
      /** Name of the trial's folder inside the run's folder. */
      readonly dirname: string;
      readonly config: Config;
      readonly resources: TrialResources;
      /** Why the trial cannot run at all. */
      readonly failure?: TrialFailure;
    }
  /** The searcher has no configuration now. */
  | { readonly type: "searchDelayed" }
  /** The searcher has no more configurations. */
  | { readonly type: "searchEnded" }
  /** A running trial reported. `isStopped`: by a stopper. `isLast`: by returning, so the trial's process is free. */
  | {
      readonly type: "reported";
      readonly trialId: string;
      readonly metrics: Metrics;
      readonly elapsedMs: number;
      readonly timestampMs: number;
      readonly isStopped?: boolean;
      readonly isLast?: boolean;
      readonly checkpoint?: string;
      /** Where the trial runs: with the first report of an attempt. */
      readonly place?: TrialPlace;
      /** Whether the trial saves a checkpoint on request; others save with their reports alone. With the first report of an attempt. */
      readonly savesWhenAsked?: boolean;
    }
  /** A running trial saved a checkpoint on request. */
  | { readonly type: "saved"; readonly trialId: string; readonly checkpoint: string }
  /** A trial that was told to stop or to pause has left its process; with the checkpoint that it saved on its way. */
  | { readonly type: "released"; readonly trialId: string; readonly checkpoint?: string }
  /** A running trial has returned nothing, so its last result was its last. */
  | { readonly type: "ended"; readonly trialId: string }
  /** A running trial threw, or its process died. `isFinal`: another attempt would fail again. */
  | { readonly type: "failed"; readonly trialId: string; readonly failure: TrialFailure; readonly isFinal?: boolean }
  /** The driver has ended while a trial ran: the trial continues from its checkpoint, and this is no failure. */
  | { readonly type: "interrupted"; readonly trialId: string }
  /** A trial that failed in an earlier session is tried again. */
  | { readonly type: "revived"; readonly trialId: string; readonly fromCheckpoint: boolean }
  /** A trial that had not ended in an earlier session is given up. */
  | { readonly type: "givenUp"; readonly trialId: string }
  /** The whole experiment has to end. */
  | { readonly type: "stoppedAll" }
  /** The cluster is larger or smaller. */
  | { readonly type: "resized"; readonly clusterResources: Readonly<Record<string, number>> };

/** Answer to a trial's report. */
export interface Answer {
  readonly action: "continue" | "pause" | "stop";
  /** Whether a trial that stops has ended well. One that failed has not. */
  readonly hasEnded?: boolean;
  /** Whether it saves a checkpoint before it continues, if it can save on request. */
  readonly save?: boolean;
}

export type TrialEffect =
  | { readonly type: "ask"; readonly trialId: string }
  | { readonly type: "tellResult"; readonly trialId: string; readonly result: TrialResult }
  | { readonly type: "tellComplete"; readonly trialId: string; readonly result: TrialResult | undefined; readonly isError: boolean }
  | { readonly type: "start"; readonly trial: Trial; readonly checkpoint: TrialCheckpoint | undefined; readonly nextCheckpoint: number }
  | { readonly type: "answer"; readonly trialId: string; readonly answer: Answer }
  /** Ends a trial that does not report. */
  | { readonly type: "interrupt"; readonly trialId: string }
  | { readonly type: "removeCheckpoints"; readonly paths: readonly string[] }
  /**
   * A trial continues from a donor's checkpoint, of `donorIteration`, with `config` instead of the donor's own. For the files of policies.
   */
  | {
      readonly type: "exploited";
      readonly trialId: string;
      readonly donorId: string;
      readonly iteration: number;
      readonly donorIteration: number;
      readonly before: Config;
      readonly config: Config;
    }
  | {
      readonly type: "notify";
      readonly what: Notice;
      readonly trial: Trial;
      readonly result?: TrialResult;
      readonly failure?: TrialFailure;
      readonly checkpoint?: string;
    }
  | { readonly type: "finished" };

/**
 * Notices for callbacks and trackers. A trial is `complete` once its process is free. `lacksCheckpoint`: the scheduler has no checkpoint
 * from which the trial could continue.
 */
export type Notice = "added" | "start" | "result" | "checkpoint" | "complete" | "error" | "failure" | "paused" | "lacksCheckpoint";
