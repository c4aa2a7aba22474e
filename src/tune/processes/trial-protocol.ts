/**
 * The protocol between a trial's process and the driver: the driver begins a trial, then pulls one event after the other and answers each report.
 *
 * The driver sees one report at a time. A function that awaits `report` computes nothing before the decision about its result. One that
 * does not await continues; its further reports wait in its process for their turn, or are dropped when the trial is stopped. The Python
 * side (`python/shoal/tune`) has the same events.
 */
import type { CheckpointPart } from "../../runs/checkpoints/stored-checkpoints.ts";
import type { Config, Metrics, TrialResources } from "../trials/trial.ts";
import type { Answer } from "../experiment/trial-events.ts";

/** A trial to run, for its process. */
export interface TrialSpec {
  readonly trialId: string;
  readonly trialName: string;
  /** The trial's folder in the run's storage. */
  readonly trialDir: string;
  readonly experimentName: string;
  readonly config: Config;
  readonly resources: TrialResources;
  /** Path of the checkpoint to continue from. */
  readonly checkpoint: string | undefined;
  /** Iterations, and milliseconds of running, up to the checkpoint. */
  readonly iteration: number;
  readonly timeTotalMs: number;
  readonly nextCheckpoint: number;
  /** For classes: iterations from one checkpoint to the next; 0 for none. */
  readonly checkpointFrequency: number;
  readonly checkpointAtEnd: boolean;
}

/** A checkpoint in its staging place, to be completed by the driver under this path. */
export interface StagedCheckpoint {
  readonly to: string;
  readonly part: CheckpointPart;
}

export type ProcessEvent =
  | {
      readonly type: "report";
      readonly metrics: Metrics;
      readonly elapsedMs: number;
      readonly timestampMs: number;
      readonly checkpoint?: StagedCheckpoint;
      /** The path of a checkpoint that a trainer has stored itself. */
      readonly stored?: string;
      /** The trial has returned: no answer is needed. */
      readonly isLast?: boolean;
    }
  /** A checkpoint apart from the reports: one that was due, or the last of a trial, with its export. */
  | { readonly type: "saved"; readonly checkpoint: StagedCheckpoint }
  | { readonly type: "ended" }
  /** `exportFailure`: why the class's `exportModel` has left nothing. */
  | { readonly type: "released"; readonly checkpoint?: StagedCheckpoint; readonly exportFailure?: string };

/** The process of a trial. The driver knows the names and addresses of nodes. */
export interface ProcessId {
  readonly pid: number;
  readonly nodeId: string;
}

/** First event of an attempt, with its process, and facts about the trainable that only the process knows. */
export type FirstEvent = ProcessEvent & {
  readonly process: ProcessId;
  /** Whether it saves a checkpoint when an answer asks it to: an instance with `saveCheckpoint` does. Functions and trainers save with their reports. */
  readonly savesWhenAsked: boolean;
};

/** Comes instead of the first event where the instance of an earlier trial made room, and its `cleanup` threw. The attempt has not begun: `begin` is called again. */
export interface CleanupFailed {
  readonly cleanupFailure: string;
}

/** Answer to an event; undefined where the event needs no answer. */
export type ProcessAnswer = Answer | undefined;
