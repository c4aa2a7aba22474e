/**
 * Algorithms that learn from recorded episodes: their configuration, and their training step.
 *
 * The episodes are read and checked at `buildAlgo`, before any process starts. An iteration is one pass over all steps, or `datasetNumItersPerLearner` updates. Nothing is sampled: the
 * environment gives the spaces, and evaluations play in it.
 */
import { scope } from "../../tensor/index.ts";
import { Algorithm } from "../algorithms/algorithm.ts";
import { AlgorithmConfig } from "../config/algorithm-config.ts";
import { RLError } from "../errors.ts";
import type { LearnerConfig } from "../learners/learner.ts";
import { BREATH_MS } from "../limits.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import { DEFAULT_MODULE_ID } from "../modules/policy-mapping.ts";
import type { Fragment } from "../sequences/fragment.ts";
import { episodeFragment } from "./episodes/episode-fragment.ts";
import { readEpisodes } from "./episodes/read-episodes.ts";
import { RecordedSteps } from "./recorded-steps.ts";
import { SampleOrder, type SampleOrderState } from "./sample-order.ts";

/** Values of `training()` that the step needs. */
interface OfflineTraining extends LearnerConfig {
  readonly trainBatchSizePerLearner: number;
}

/** A learner that draws rows of a recording. */
export interface OfflineLearner {
  /**
   * Learns from some rows.
   *
   * @param trained - the rows that were learnt from before
   */
  learnFrom(steps: RecordedSteps, chosen: Int32Array, trained: number): void;
}

export abstract class OfflineConfig<Training extends OfflineTraining = OfflineTraining> extends AlgorithmConfig<Training> {
  override readonly isSampling: boolean = false;
  #recording: Fragment | undefined;

  /** The episodes that `buildAlgo` has read. */
  get recording(): Fragment {
    if (this.#recording === undefined) throw new RLError(`Cannot learn: the input of ${this.name} was not read. Use buildAlgo()`);
    return this.#recording;
  }

  protected override checkInput(): void {
    const { offlineData, envRunners, reporting, multiAgent } = this.values;
    const refuse = (reason: string): TypeError => new TypeError(`Cannot build ${this.name}: ${reason}`);
    if (offlineData.input === undefined)
      throw refuse('it learns from recorded episodes, and has no input. Set one: .offlineData({ input: "episodes/" })');
    if (envRunners.numEnvRunners > 0)
      throw refuse(
        `nothing is sampled, so numEnvRunners is 0: received ${envRunners.numEnvRunners}. Evaluations have evaluationNumEnvRunners`,
      );
    if (reporting.minSampleTimestepsPerIteration > 0)
      throw refuse(
        `nothing is sampled, so minSampleTimestepsPerIteration is 0: received ${reporting.minSampleTimestepsPerIteration}. Set datasetNumItersPerLearner of offlineData()`,
      );
    if (multiAgent.policies !== undefined || multiAgent.policyMappingFn !== undefined)
      throw refuse("recorded episodes have one agent, and multiAgent() has policies. Leave multiAgent() out");
  }

  override refuseMemory(): void {
    throw new TypeError(
      `Cannot build ${this.name}: useLstm, and modules with an initialState, go with PPO: ${this.name} learns from single steps. Leave useLstm out and stack observations: envToModuleConnector: () => new FrameStack({ numFrames: 4 })`,
    );
  }

  override async readInput(built: ReadonlyMap<string, BuiltModule>): Promise<void> {
    const { input, ...options } = this.values.offlineData;
    const module = built.get(DEFAULT_MODULE_ID) as BuiltModule;
    this.#recording = episodeFragment(await readEpisodes(input as string | readonly string[], module, options), module);
  }
}

/** The part of a checkpoint's JSON. */
interface SavedStep extends SampleOrderState {
  readonly trained: number;
}

export abstract class OfflineAlgorithm<Training extends OfflineTraining = OfflineTraining> extends Algorithm<Training> {
  readonly #steps: RecordedSteps;
  readonly #order: SampleOrder;
  /** Rows that were learnt from since the beginning. */
  #trained = 0;

  constructor(parts: ConstructorParameters<typeof Algorithm<Training>>[0]) {
    super(parts);
    const { built } = this.#only;
    const { recording } = this.config as OfflineConfig<Training>;
    this.#steps = new RecordedSteps(recording, { built, gamma: this.values.training.gamma });
    this.#order = new SampleOrder(recording.rows, this.seed);
  }

  get #only(): { readonly built: BuiltModule; readonly learner: unknown } {
    return this.modules.get(DEFAULT_MODULE_ID) as { built: BuiltModule; learner: unknown };
  }

  /** Learns from each recorded step once, or makes `datasetNumItersPerLearner` updates. */
  protected async trainingStep(signal: AbortSignal | undefined): Promise<void> {
    const { offlineData, training } = this.values;
    const learner = this.#only.learner as OfflineLearner;
    const rows = Math.min(training.trainBatchSizePerLearner, this.#steps.rows);
    const updates = offlineData.datasetNumItersPerLearner ?? Math.ceil(this.#steps.rows / rows);
    await this.learn(async () => {
      let breathedAt = performance.now();
      for (let update = 0; update < updates; update += 1) {
        const chosen = this.#order.next(rows);
        scope(() => learner.learnFrom(this.#steps, chosen, this.#trained));
        this.#trained += rows;
        if (performance.now() - breathedAt < BREATH_MS) continue;
        await new Promise((resolve) => void setImmediate(resolve));
        signal?.throwIfAborted();
        breathedAt = performance.now();
      }
    });
  }

  protected override getState(): SavedStep {
    return { ...this.#order.getState(), trained: this.#trained };
  }

  protected override async restoreState(_path: string, _save: string, { trained, ...order }: SavedStep): Promise<void> {
    this.#order.setState(order);
    this.#trained = trained;
  }
}
