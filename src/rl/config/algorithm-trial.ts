/**
 * An algorithm as a trial of Tune: a class with the methods that Tune calls.
 *
 * The configuration without its domains travels once for all trials; a trial's config has the values of the domains, by part.
 * An iteration of Tune lasts until the result has the means that a search needs: those of episodes, and of an evaluation where the configuration evaluates.
 */
import type { EvaluationResult, TrainResult } from "../algorithms/train-result.ts";
import { RLError } from "../errors.ts";
import type { AlgorithmHandle } from "./algorithm-handle.ts";

/** Options by part. */
export type OptionsByPart = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The configuration of all trials, in the form that travels. */
interface TrialRecipe<Env> {
  readonly configClass: new () => TrialConfig<Env>;
  readonly env: Env;
  readonly given: OptionsByPart;
}

interface BuildableConfig {
  readonly isSampling: boolean;
  readonly values: { readonly evaluation: { readonly evaluationInterval: number | undefined } };
  buildAlgo(): Promise<AlgorithmHandle>;
}

interface TrialConfig<Env> {
  fromTrial(recipe: Omit<TrialRecipe<Env>, "configClass">, config: OptionsByPart): BuildableConfig;
}

/** A result without the counters that Tune has itself. */
export type TrialResult = Omit<TrainResult, "trainingIteration" | "timeThisIterMs" | "timeTotalMs" | "episodeRewardMean">;

export class AlgorithmTrial {
  #algorithm: AlgorithmHandle | undefined;
  #evaluates = false;
  #isSampling = true;
  #evaluation: EvaluationResult | undefined;

  async setup(config: OptionsByPart, { recipe }: { readonly recipe: TrialRecipe<unknown> }): Promise<void> {
    const { configClass, ...others } = recipe;
    const made = new configClass().fromTrial(others, config);
    this.#isSampling = made.isSampling;
    this.#evaluates = made.values.evaluation.evaluationInterval !== undefined;
    this.#algorithm = await made.buildAlgo();
  }

  get #running(): AlgorithmHandle {
    if (this.#algorithm === undefined) throw new RLError("Cannot run a trial: its algorithm was not built");
    return this.#algorithm;
  }

  async step(): Promise<TrialResult> {
    for (;;) {
      const { trainingIteration: _, timeThisIterMs: __, timeTotalMs: ___, ...result } = await this.#running.train();
      this.#evaluation = result.evaluation ?? this.#evaluation;
      // Without sampling no episode ends: an evaluation has the only ones.
      if (this.#isSampling && result.envRunners.episodeReturnMean === undefined) continue;
      if (this.#evaluates && this.#evaluation === undefined) continue;
      return this.#evaluation === undefined ? result : { ...result, evaluation: this.#evaluation };
    }
  }

  async saveCheckpoint(folder: string): Promise<void> {
    await this.#running.save(folder);
  }

  async loadCheckpoint(folder: string): Promise<void> {
    await this.#running.restore(folder);
  }

  async cleanup(): Promise<void> {
    await this.#algorithm?.stop();
  }
}
