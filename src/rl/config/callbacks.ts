/** The functions that an algorithm calls at its events. A callback that throws ends the call of the algorithm with its error. */
import type { EvaluationResult, TrainResult } from "../algorithms/train-result.ts";
import type { AlgorithmHandle } from "./algorithm-handle.ts";

export interface Callbacks {
  onAlgorithmInit?(event: { readonly algorithm: AlgorithmHandle }): void | Promise<void>;
  /** May add members to the result. */
  onTrainResult?(event: { readonly algorithm: AlgorithmHandle; readonly result: TrainResult }): void | Promise<void>;
  onEvaluateStart?(event: { readonly algorithm: AlgorithmHandle }): void | Promise<void>;
  onEvaluateEnd?(event: { readonly algorithm: AlgorithmHandle; readonly result: EvaluationResult }): void | Promise<void>;
  onCheckpointLoaded?(event: { readonly algorithm: AlgorithmHandle }): void | Promise<void>;
  /** Runners were replaced in the last iteration. */
  onEnvRunnersRecreated?(event: { readonly algorithm: AlgorithmHandle; readonly count: number }): void | Promise<void>;
}
