/** The results of `train()` and `evaluate()`. Means are absent until an episode has ended, and never NaN. */
import { sayToday } from "../config/old-spellings.ts";
import type { LearnerResult } from "../learners/learner.ts";

export interface EpisodeStatistics {
  readonly episodeReturnMean?: number;
  readonly episodeReturnMin?: number;
  readonly episodeReturnMax?: number;
  readonly episodeLenMean?: number;
  /** Means of the returns of each agent, over the episodes in which it was there; only where the environment has several agents. */
  readonly agentEpisodeReturnsMean?: Readonly<Record<string, number>>;
  /** The same by module: the sum over the module's agents. */
  readonly moduleEpisodeReturnsMean?: Readonly<Record<string, number>>;
}

export interface EnvRunnerResult extends EpisodeStatistics {
  /** Episodes that ended in this iteration. */
  readonly numEpisodes: number;
  readonly numEpisodesLifetime: number;
  readonly numEnvStepsSampled: number;
  readonly numEnvStepsSampledLifetime: number;
  /** Values that callbacks logged, by their names. */
  readonly [logged: string]: LoggedNumber;
}

/** A member of `envRunners`: a number, or one by agent or module. */
type LoggedNumber = number | Readonly<Record<string, number>> | undefined;

export interface EvaluationResult {
  readonly envRunners: EpisodeStatistics & {
    readonly numEpisodes: number;
    readonly numEnvStepsSampled: number;
    readonly [logged: string]: LoggedNumber;
  };
}

export interface TrainResult {
  readonly trainingIteration: number;
  readonly timeThisIterMs: number;
  readonly timeTotalMs: number;
  /** Statistics of the last episodes (`metricsNumEpisodesForSmoothing`). */
  readonly envRunners: EnvRunnerResult;
  /** By module: the loss and its parts, means over the updates. */
  readonly learners: Readonly<Record<string, LearnerResult>>;
  /** Only in iterations that evaluated. */
  readonly evaluation?: EvaluationResult;
  /** Time that this iteration spent in each phase. */
  readonly timersMs: { readonly sample: number; readonly learn: number };
  readonly faults: {
    readonly numEnvRunnerRestarts: number;
    /** Times at which all learners in processes were started again; only where there are some. */
    readonly numLearnerRestarts?: number;
  };
  /** @deprecated Use `envRunners.episodeReturnMean`. */
  readonly episodeRewardMean?: number | undefined;
}

/** Adds the old name of the mean return, which is in no copy of the result. */
export function withOldNames(result: TrainResult): TrainResult {
  return Object.defineProperty(result, "episodeRewardMean", {
    enumerable: false,
    configurable: true,
    get: () => {
      sayToday("episodeRewardMean", "envRunners.episodeReturnMean");
      return result.envRunners.episodeReturnMean;
    },
  });
}
