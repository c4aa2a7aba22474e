/**
 * The options of `training()` that algorithms with a buffer share, and `replayBufferConfig`.
 *
 * Each algorithm gives its own defaults.
 * A second table checks a buffer's options, so that errors name these, too.
 */
import { count, custom, isPlainObject, number, type Option, type OptionSet, oneOf, readOptions } from "../../core/internal.ts";
import { atLeastZero, positive, TRAINING_OPTIONS, upToOne } from "../config/option-tables.ts";

/** Ray's names. Names of buffers of transitions mean those of episodes: algorithms have no others. */
const BUFFER_TYPES = [
  "EpisodeReplayBuffer",
  "PrioritizedEpisodeReplayBuffer",
  "ReplayBuffer",
  "PrioritizedReplayBuffer",
  "MultiAgentReplayBuffer",
  "MultiAgentPrioritizedReplayBuffer",
] as const;

export interface ReplayBufferConfig {
  /** Default: the algorithm's. */
  readonly type?: (typeof BUFFER_TYPES)[number] | undefined;
  /** Observations that are kept: one a step, and one more an episode. */
  readonly capacity?: number | undefined;
  /** How much priorities matter. Default: 0.6. */
  readonly alpha?: number | undefined;
  /** How much importance weights correct for priorities. Default: 0.4. */
  readonly beta?: number | undefined;
}

/** All values of a `replayBufferConfig`. */
export interface ReplayBufferValues {
  readonly type: (typeof BUFFER_TYPES)[number];
  readonly capacity: number;
  readonly alpha: number;
  readonly beta: number;
}

const bufferTable = (type: ReplayBufferValues["type"], capacity: number): OptionSet<ReplayBufferValues> => ({
  of: "replayBufferConfig",
  otherNames: { prioritizedReplayAlpha: "it is alpha", prioritizedReplayBeta: "it is beta" },
  options: {
    type: oneOf(BUFFER_TYPES, type),
    capacity: count({ min: 2, max: 2 ** 31 - 1 }, capacity),
    alpha: atLeastZero(0.6),
    beta: atLeastZero(0.4),
  },
});

/** Values of a buffer, with the algorithm's type and capacity where none are given. */
export function replayBuffer(type: ReplayBufferValues["type"], capacity: number): Option<ReplayBufferConfig> {
  const table = bufferTable(type, capacity);
  return {
    ...custom<ReplayBufferConfig>("an object such as { capacity: 50_000 } is needed", readOptions({}, table), (value) =>
      isPlainObject(value) ? "ok" : "wrong type",
    ),
    meaning: (value) => readOptions(value, table),
  };
}

/** Whether the buffer draws by priority. */
export function isPrioritized({ type = "EpisodeReplayBuffer" }: ReplayBufferConfig): boolean {
  return type.includes("Prioritized");
}

type Range = readonly [number, number];

/** A whole number from 1, or the least and the largest of a number that is drawn for each row. */
const nStep: Option<number | Range> = custom<number | Range>("a whole number from 1, or two such as [2, 5], is needed", 1, (value) => {
  const isWhole = (each: unknown): boolean => Number.isSafeInteger(each) && (each as number) >= 1;
  if (typeof value === "number") return isWhole(value) ? "ok" : "out of range";
  if (!Array.isArray(value)) return "wrong type";
  return value.length === 2 && value.every(isWhole) && value[0] <= value[1] ? "ok" : "out of range";
});

interface ReplayDefaults {
  readonly type: ReplayBufferValues["type"];
  readonly capacity: number;
  readonly rows: number;
  readonly learnsFrom: number;
  readonly targetEvery: number;
  readonly tau: number;
}

/** The shared rows of a `training()` table, with the defaults of one algorithm. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the type is that of the table
export function replayOptions({ type, capacity, rows, learnsFrom, targetEvery, tau }: ReplayDefaults): ReplayOptions {
  return {
    gamma: TRAINING_OPTIONS.gamma,
    gradClip: TRAINING_OPTIONS.gradClip,
    trainBatchSizePerLearner: count({ min: 1 }, rows),
    nStep,
    tau: upToOne(tau),
    targetNetworkUpdateFreq: count({ min: 0 }, targetEvery),
    numStepsSampledBeforeLearningStarts: count({ min: 0 }, learnsFrom),
    /** Rows that are learnt from for each sampled step. Default: one update for each step of the vector. */
    trainingIntensity: number<number | undefined>("a number above 0 is needed", undefined, (value) => value > 0 && Number.isFinite(value)),
    adamEpsilon: positive(1e-8),
    replayBufferConfig: replayBuffer(type, capacity),
  };
}

export interface ReplayOptions {
  readonly gamma: Option<number>;
  readonly gradClip: Option<number | undefined>;
  readonly trainBatchSizePerLearner: Option<number>;
  readonly nStep: Option<number | Range>;
  readonly tau: Option<number>;
  readonly targetNetworkUpdateFreq: Option<number>;
  readonly numStepsSampledBeforeLearningStarts: Option<number>;
  readonly trainingIntensity: Option<number | undefined>;
  readonly adamEpsilon: Option<number>;
  readonly replayBufferConfig: Option<ReplayBufferConfig>;
}

/** Options of other APIs, and where they are here. */
export const REPLAY_OTHER_NAMES: Readonly<Record<string, string>> = {
  trainBatchSize: "it is trainBatchSizePerLearner",
  storeBufferInCheckpoints: "it is an option of checkpointing()",
  bufferSize: "it is capacity of replayBufferConfig",
  learningStarts: "it is numStepsSampledBeforeLearningStarts",
};
