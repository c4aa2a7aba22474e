/**
 * Functions for training loops in TypeScript: `report`, `getContext`, `getCheckpoint`, `getAllReportedCheckpoints`, `getDatasetShard`, `allReduce`, `collective`.
 *
 * Each finds the session of the rank that it runs in. Arguments are checked here, before the other ranks hear of them.
 * Python has the same in `python/shoal/train/__init__.py`.
 */
import { describeValue, flag, oneOf, readOptions, text, timeLimit } from "../core/internal.ts";
import type { AnyRow, DataIterator } from "../data/index.ts";
import { type Checkpoint, CHECKPOINT_OPTION } from "../runs/checkpoints/checkpoint.ts";
import { checkMetrics, type JsonValue, type Metrics } from "../runs/metrics/metrics.ts";
import type { BestCheckpoint } from "../runs/result.ts";
import { checkName } from "../runs/folder/run-names.ts";
import type { NumericArray, ReduceOperation } from "../util/index.ts";
import { TrainError } from "./errors.ts";
import type { TrainPreemptionInfo } from "./ranks/rank-protocol.ts";
import { currentSession } from "./ranks/rank-session.ts";

/** The options of `report`. */
export interface ReportOptions {
  /** A folder that this rank has written. Those of all ranks become one checkpoint. Default: none. */
  checkpoint?: Checkpoint | undefined;
  /** The name of the checkpoint's folder in the run. Default: `checkpoint_000000` and on. */
  checkpointDirName?: string | undefined;
  /**
   * `"sync"`: `report` resolves once the checkpoint is stored. `"async"`: `report` resolves once the earlier report is stored; leave the folder unchanged until the
   * next report has resolved. `"none"`: you have stored the checkpoint yourself, and it stays there. Directly in the run's folder it belongs to the run; from
   * elsewhere no later `fit` continues. Default: `"sync"`.
   */
  checkpointUploadMode?: "sync" | "async" | "none" | undefined;
  /** Remove the folder once it is stored. Default: false. */
  deleteLocalCheckpointAfterUpload?: boolean | undefined;
}

const REPORT = {
  of: "report",
  otherNames: { checkpoint_dir_name: "it is checkpointDirName" },
  options: {
    checkpoint: CHECKPOINT_OPTION,
    checkpointDirName: text<string | undefined>(undefined),
    checkpointUploadMode: oneOf(["sync", "async", "none"], "sync"),
    deleteLocalCheckpointAfterUpload: flag(false),
  },
};

/**
 * Reports how far the loop is, and hands over a checkpoint. All ranks report equally often: each call resolves when all have come to it and, with the upload mode `"sync"`, the checkpoint is stored.
 *
 * @throws TypeError for metrics that JSON cannot hold, with the path of the value
 * @example
 * await report({ loss }, { checkpoint: Checkpoint.fromDirectory(folder) });
 */
export async function report(metrics: Metrics, options?: ReportOptions): Promise<void> {
  const session = currentSession("report");
  const checked = checkMetrics(metrics, "Cannot report");
  const { checkpoint, checkpointDirName, checkpointUploadMode, deleteLocalCheckpointAfterUpload } = readOptions(options, REPORT);
  if (checkpointDirName !== undefined) checkName(checkpointDirName, "Cannot report: checkpointDirName");
  await session.arrive(
    {
      type: "report",
      metrics: checked,
      checkpoint:
        checkpoint === undefined
          ? null
          : { path: checkpoint.path, deleteAfterUpload: deleteLocalCheckpointAfterUpload, directoryName: checkpointDirName ?? null },
      uploadMode: checkpointUploadMode,
    },
    "report",
  );
}

/** Where this rank stands in its run. */
export interface TrainContext {
  /** Ranks of the group. */
  readonly worldSize: number;
  /** Number of this rank among all ranks, from 0. */
  readonly worldRank: number;
  /** Number of this rank among the ranks on the same node, from 0. */
  readonly localRank: number;
  /** Ranks on the same node. */
  readonly localWorldSize: number;
  /** Number of this rank's node among the nodes that have ranks, from 0. */
  readonly nodeRank: number;
  /** The name of the run. */
  readonly experimentName: string;
  /** The folder of all runs. */
  readonly storagePath: string;
  /** Inside of Tune: the trial's name. */
  readonly trialName: string | undefined;
  /** Number of the run's current attempt, from 1. */
  readonly attempt: number;
  /** Set when nodes with ranks of this run are about to leave: the nodes and the deadline. Report a checkpoint soon. Ranks may see it at different steps. */
  readonly preemption: TrainPreemptionInfo | undefined;
}

export function getContext(): TrainContext {
  const { context, preemption } = currentSession("get the context");
  const { worldSize, worldRank, localRank, localWorldSize, nodeRank, experimentName, storagePath, trialName, attempt } = context;
  return {
    worldSize,
    worldRank,
    localRank,
    localWorldSize,
    nodeRank,
    experimentName,
    storagePath,
    trialName: trialName ?? undefined,
    attempt,
    preemption,
  };
}

/** The checkpoint to go on from: the last that was reported and is stored, of this attempt or an earlier one; undefined at a first start. */
export function getCheckpoint(): Checkpoint | undefined {
  return currentSession("get the checkpoint").checkpoint;
}

/** The checkpoints of this run that are known here and their metrics, in the order in which they were reported: those that were kept of earlier attempts, and all of this one that are stored. */
export function getAllReportedCheckpoints<M extends object = Metrics>(): readonly BestCheckpoint<M>[] {
  return [...currentSession("get the checkpoints").reported] as readonly BestCheckpoint<object>[] as readonly BestCheckpoint<M>[];
}

/**
 * This rank's part of a dataset that the trainer was given. Each iteration is an epoch; all ranks iterate equally often.
 *
 * @throws TrainError if the trainer has no dataset of that name
 */
export function getDatasetShard<R extends AnyRow = AnyRow>(name = "train"): DataIterator<R> {
  const { datasets } = currentSession("get a dataset");
  const found = Object.hasOwn(datasets, name) ? datasets[name] : undefined;
  if (found !== undefined) return found as DataIterator<R>;
  const names = Object.keys(datasets);
  throw new TrainError(
    `Cannot get the dataset ${JSON.stringify(name)}: the trainer was given ${names.length === 0 ? "none" : names.map((each) => JSON.stringify(each)).join(", ")}`,
    { hint: "Pass datasets: { name: dataset } to the trainer." },
  );
}

/** The options of `allReduce`. */
export interface AllReduceOptions {
  /** How elements are combined. Default: `"sum"`. */
  op?: ReduceOperation | undefined;
  /** Time in milliseconds within which all ranks must have come. Default: no limit of this call. */
  timeoutMs?: number | undefined;
}

/**
 * Combines arrays of all ranks, element by element, in place, so that all ranks have the same. Several arrays go as one flat buffer.
 *
 * @example
 * await allReduce([weights.gradient, bias.gradient], { op: "average" });
 */
export async function allReduce<A extends NumericArray | readonly NumericArray[]>(arrays: A, options: AllReduceOptions = {}): Promise<A> {
  const session = currentSession("combine arrays");
  const list = (Array.isArray(arrays) ? arrays : [arrays]) as readonly NumericArray[];
  const [first] = list;
  if (first === undefined) return arrays;
  for (const array of list) {
    if (!ArrayBuffer.isView(array) || array.constructor !== first.constructor)
      throw new TypeError(`Cannot combine arrays: typed arrays of one kind are needed: received ${describeValue(array)}`);
  }
  const { timeoutMs } = options;
  const combine = async (array: NumericArray): Promise<unknown> =>
    session.communicate(async () => (await session.group()).allreduce(array, options), timeoutMs);
  if (list.length === 1) {
    await combine(first);
    return arrays;
  }
  const Kind = first.constructor as new (length: number) => NumericArray;
  const flat = new Kind(list.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const array of list) {
    flat.set(array as never, end);
    end += array.length;
  }
  await combine(flat);
  end = 0;
  for (const array of list) {
    array.set(flat.subarray(end, end + array.length) as never);
    end += array.length;
  }
  return arrays;
}

/** The options of `collective.barrier` and `collective.broadcastFromRankZero`. */
export interface RankWaitOptions {
  /** Time in milliseconds within which all ranks must have come. Default: no limit of this call. */
  timeoutMs?: number | undefined;
}

const RANK_WAIT = { of: "a collective call", options: { timeoutMs: timeLimit() } };

/** Small things that all ranks do together. */
interface Collective {
  /** Resolves when all ranks have come to it. @throws TrainError when `timeoutMs` is over */
  barrier(options?: RankWaitOptions): Promise<void>;
  /** The value of rank 0, in all ranks. For a few values of JSON; arrays go by `allReduce`. @throws TrainError when `timeoutMs` is over */
  broadcastFromRankZero<T extends JsonValue>(value: T, options?: RankWaitOptions): Promise<T>;
}

export const collective: Collective = Object.freeze({
  async barrier(options?: RankWaitOptions): Promise<void> {
    const session = currentSession("wait for the other ranks");
    const { timeoutMs } = readOptions(options, RANK_WAIT);
    await session.arrive({ type: "barrier", name: "barrier", value: undefined, timeoutMs }, "wait for the other ranks");
  },
  async broadcastFromRankZero<T extends JsonValue>(value: T, options?: RankWaitOptions): Promise<T> {
    const session = currentSession("broadcast");
    const { timeoutMs } = readOptions(options, RANK_WAIT);
    const { value: checked } = checkMetrics({ value }, "Cannot broadcast");
    const decision = await session.arrive({ type: "barrier", name: "broadcast", value: checked, timeoutMs }, "broadcast");
    return (decision.action === "continue" ? decision.value : undefined) as T;
  },
});
