/**
 * The protocol between the controller and a rank: the methods of a rank's actor, its events, and the decisions that answer them.
 *
 * An event of a rank is answered by a decision; notices come in between, and nothing answers them.
 * Ranks in TypeScript (`rank-actor.ts`) and in Python (`python/shoal/train/_session.py`) share the protocol. All messages are plain data, because they cross languages.
 */
import type { PreemptionInfo } from "../../core/index.ts";
import type { JsonValue, Metrics } from "../../runs/metrics/metrics.ts";
import type { FailureCause } from "./rank-failure.ts";

/** A process of the group, as it describes itself. */
export interface RankFacts {
  readonly pid: number;
  readonly hostname: string;
  readonly nodeId: string;
  /** Address at which other processes reach this one. */
  readonly ip: string;
  readonly gpuIds: readonly (number | string)[];
  /** A port that the process keeps bound for the framework; 0 where the framework needs none. */
  readonly port: number;
}

/** Place of a rank in its group and run. */
export interface RankContext {
  readonly worldSize: number;
  readonly worldRank: number;
  readonly localRank: number;
  readonly localWorldSize: number;
  readonly nodeRank: number;
  readonly experimentName: string;
  readonly trialName: string | null;
  readonly trialId: string | null;
  readonly trialDir: string | null;
  readonly storagePath: string;
  readonly runPath: string;
  readonly attempt: number;
  /** When the group was made, in milliseconds since 1970: the same in all ranks. */
  readonly startedAtMs: number;
  /** Python only: whether `import ray` finds Shoal's modules; null: only where the real Ray is not installed. */
  readonly rayCompatibility: boolean | null;
  /** Marks the process's output. */
  readonly logSource: string;
}

type UploadMode = "sync" | "async" | "none";

/** A checkpoint where the rank has written it. */
interface ReportedCheckpoint {
  readonly path: string;
  readonly deleteAfterUpload: boolean;
  readonly directoryName: string | null;
  /** Set if a function of the loop uploads the checkpoint beside the loop: the number by which the controller starts the upload and asks for its outcome. */
  readonly upload?: number | null;
}

/** The place where a function of the loop's has put a checkpoint, or its exception in parts. */
export type UploadOutcome = { readonly path: string } | { readonly error: unknown };

export interface RankReport {
  readonly type: "report";
  readonly metrics: Metrics;
  readonly checkpoint: ReportedCheckpoint | null;
  readonly uploadMode: UploadMode;
}

/** A rank has come to a point where it waits for the others, or to the end of its loop. */
export type Arrival =
  | RankReport
  | {
      readonly type: "barrier";
      readonly name: "barrier" | "broadcast";
      readonly value: JsonValue | undefined;
      /** How long the rank waits for the others. */
      readonly timeoutMs?: number | undefined;
    }
  | FinishedLoop;

/** `operations`: how many operations on arrays of all ranks the loop had begun; those of TypeScript say so. */
interface FinishedLoop {
  readonly type: "finished";
  readonly value: unknown;
  readonly operations?: number | undefined;
}

export type RankEvent =
  | Arrival
  /** The loop ended because it was told to. */
  | { readonly type: "stopped"; readonly operations?: number | undefined }
  | { readonly type: "failed"; readonly error: Error; readonly cause: FailureCause };

/** Nodes with ranks of this run are to go away. */
export interface TrainPreemptionInfo extends PreemptionInfo {
  /** Time at which the first node leaves, in milliseconds since 1970, as `Date.now()`; undefined if all wait for running work. */
  readonly deadlineMs: number | undefined;
  /** The ranks of each of them, by the node's id. */
  readonly preemptedNodeToRanks: Readonly<Record<string, readonly number[]>>;
  /** The ranks of all of them, sorted. */
  readonly preemptedRanks: readonly number[];
}

/** A rank whose loop has ended, and how many operations on arrays of all ranks it had begun. */
export interface EndedRank {
  readonly rank: number;
  readonly operations: number;
}

/** News for a rank while its loop goes on. Comes before all decisions that are made later. */
export type RankNotice<C> =
  | ({ readonly type: "preemption" } & TrainPreemptionInfo)
  /** Another rank's loop has ended after this number of collective operations on arrays: it takes part in no further one. */
  | ({ readonly type: "ended" } & EndedRank)
  /** An asynchronous upload has ended. `metrics`: the rank's own of that report. */
  | { readonly type: "stored"; readonly checkpoint: C; readonly metrics: Metrics };

/** Reason for which the ranks end their loops at a report. */
export type StopReason = "preempted" | "resize" | "scheduler";

export type RankDecision<C> =
  | {
      readonly action: "continue";
      readonly checkpoint?: C | undefined;
      readonly value?: JsonValue | undefined;
      /** The checkpoint is still copied: a notice of `stored` follows. */
      readonly isUploading?: true;
    }
  | { readonly action: "stop"; readonly reason: StopReason; readonly checkpoint?: C | undefined }
  /** The time of a limited wait is over, and these ranks had not come. */
  | { readonly action: "late"; readonly timeoutMs: number; readonly missing: readonly number[] };
