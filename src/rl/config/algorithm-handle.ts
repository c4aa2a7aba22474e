/** An algorithm at work, as callbacks and configurations see it. */
import type { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import type { RunnerView } from "../callbacks/runner-callbacks.ts";
import type { AddModuleOptions, RemoveModuleOptions } from "../modules/policy-mapping.ts";
import type { EvaluationResult, TrainResult } from "../algorithms/train-result.ts";

export interface CallOptions {
  /** Ends the call early: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface AlgorithmHandle extends AsyncDisposable {
  train(options?: CallOptions): Promise<TrainResult>;
  evaluate(options?: CallOptions): Promise<EvaluationResult>;
  save(path: string): Promise<Checkpoint>;
  restore(path: string): Promise<void>;
  getWeights(ids?: readonly string[]): Record<string, Float32Array>;
  setWeights(weights: Readonly<Record<string, Float32Array>>): void;
  addModule(id: string, options?: AddModuleOptions): Promise<void>;
  removeModule(id: string, options?: RemoveModuleOptions): Promise<void>;
  forEachEnvRunner<R>(run: (runner: RunnerView) => R | Promise<R>): Promise<R[]>;
  stop(): Promise<void>;
}
