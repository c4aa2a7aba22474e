/** The functions that an algorithm and its runners call at their events. A callback that throws ends the call of the algorithm with its error. */
import type { EvaluationResult, TrainResult } from "../algorithms/train-result.ts";
import type { MetricsLogger } from "../callbacks/metrics-logger.ts";
import type { RunnerCallbacks } from "../callbacks/runner-callbacks.ts";
import type { AlgorithmHandle } from "./algorithm-handle.ts";

interface AlgorithmEvent {
  readonly algorithm: AlgorithmHandle;
  readonly metricsLogger: MetricsLogger;
}

export interface Callbacks extends RunnerCallbacks {
  onAlgorithmInit?(event: AlgorithmEvent): void | Promise<void>;
  /** May add members to the result, save, evaluate, and add and remove modules. Values that it logs are in the next one. */
  onTrainResult?(event: AlgorithmEvent & { readonly result: TrainResult }): void | Promise<void>;
  onEvaluateStart?(event: AlgorithmEvent): void | Promise<void>;
  onEvaluateEnd?(event: AlgorithmEvent & { readonly result: EvaluationResult }): void | Promise<void>;
  onCheckpointLoaded?(event: AlgorithmEvent): void | Promise<void>;
  /** Runners were replaced in the last iteration. */
  onEnvRunnersRecreated?(event: AlgorithmEvent & { readonly count: number }): void | Promise<void>;
}

/** Options of `evaluation()` that differ for some of the episodes. */
export interface EvaluationOptions {
  readonly evaluationDuration?: number | undefined;
  readonly evaluationDurationUnit?: "episodes" | "timesteps" | undefined;
  readonly evaluationConfig?: { readonly explore?: boolean; readonly envConfig?: object } | undefined;
}

/** Evaluates in place of the algorithm, with its runners. Returns the result, which may have more numbers. */
export type CustomEvaluationFunction = (evaluation: {
  readonly algorithm: AlgorithmHandle;
  /** Each call plays other episodes, all with the weights from the start of the evaluation. */
  readonly envRunners: { evaluate(options?: EvaluationOptions): Promise<EvaluationResult> };
}) => EvaluationResult | Promise<EvaluationResult>;

/** A class of callbacks, of which each process makes one instance. */
export type CallbacksClass = new () => Callbacks;
