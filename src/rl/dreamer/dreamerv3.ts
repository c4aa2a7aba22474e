/**
 * DreamerV3 learns a model of the world, and to act by imagined steps (arXiv:2301.04104v1). Names and defaults are RLlib 2.60's.
 *
 * An update draws `batchSizeB` sequences of `batchLengthT` steps, learns the model from them, imagines `horizonH` steps from each of their states, and improves actor and critic by these. `trainingRatio` says how many steps are replayed for each
 * sampled one. Both choices and numbers are learnt by the gradient of log-probabilities.
 */
import { messageOf, type OptionSet } from "../../core/internal.ts";
import { Random } from "../../tensor/index.ts";
import { Algorithm } from "../algorithms/algorithm.ts";
import { readBuffer, writeBuffer } from "../checkpoints/buffer-file.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import { RLError } from "../errors.ts";
import type { LearnerClass } from "../learners/learner.ts";
import { BREATH_MS } from "../limits.ts";
import type { ModuleSpec } from "../modules/module-spec.ts";
import { moduleSeed } from "../modules/policy-mapping.ts";
import { isPrioritized, type ReplayBufferValues } from "../off-policy/replay-options.ts";
import { DreamerModule } from "./dreamer-module.ts";
import { DreamerV3Learner } from "./dreamer-learner.ts";
import { DREAMER_TRAINING, type DreamerV3Training } from "./dreamer-options.ts";
import { SequenceReplay } from "./sequence-replay.ts";

export class DreamerV3Config extends AlgorithmConfig<DreamerV3Training> {
  readonly name = "DreamerV3";
  readonly defaultLearner: LearnerClass = DreamerV3Learner;
  override readonly policyKind: PolicyKind = "squashed";
  protected readonly trainingTable: OptionSet<DreamerV3Training> = DREAMER_TRAINING;

  protected override get defaults(): PartDefaults {
    return { reporting: { minSampleTimestepsPerIteration: 1000 } };
  }

  override get moduleSpec(): ModuleSpec {
    const spec = super.moduleSpec;
    const { modelSize } = this.values.training;
    return { ...spec, moduleClass: DreamerModule, modelConfig: { modelSize } as object, hasActionBefore: true };
  }

  /** The state of the model is its own memory. */
  override refuseMemory(): void {}

  override validate(): void {
    super.validate();
    const { rlModule, training, envRunners, multiAgent } = this.values;
    const { moduleClass, modelConfig } = rlModule;
    if (moduleClass !== undefined || Object.keys(modelConfig ?? {}).length > 0)
      throw new TypeError(
        "Cannot build DreamerV3: it has networks of its own: received options of rlModule(). Set modelSize of training()",
      );
    if (Object.values(multiAgent.algorithmConfigOverridesPerModule).some((own) => Object.hasOwn(own, "modelSize")))
      throw new TypeError(
        "Cannot build DreamerV3: all policies have one modelSize: received another in algorithmConfigOverridesPerModule. Set it in training()",
      );
    const { type, capacity } = training.replayBufferConfig as ReplayBufferValues;
    if (isPrioritized({ type }))
      throw new TypeError(`Cannot build DreamerV3: its buffer draws sequences equally often: received ${type}. Use "EpisodeReplayBuffer"`);
    const share = Math.floor(capacity / (Math.max(1, envRunners.numEnvRunners) * envRunners.numEnvsPerEnvRunner));
    if (share < training.batchLengthT)
      throw new RangeError(
        `Cannot build DreamerV3: the share of each environment in capacity of replayBufferConfig is at least batchLengthT, ${training.batchLengthT}: received ${share}`,
      );
  }

  override async buildAlgo(): Promise<DreamerV3> {
    return await DreamerV3.build(this);
  }
}

/** The buffer of a module. */
interface ModuleBuffer {
  readonly replay: SequenceReplay;
  /** Updates that are due; the fraction goes on to the next round. */
  due: number;
}

interface SavedStep {
  readonly dues: Readonly<Record<string, number>>;
  readonly hasBuffer: boolean;
}

export class DreamerV3 extends Algorithm<DreamerV3Training> {
  readonly #buffers = new Map<string, ModuleBuffer>();

  #bufferOf(moduleId: string): ModuleBuffer {
    const known = this.#buffers.get(moduleId);
    if (known !== undefined) return known;
    const made = { replay: this.#makeBuffer(moduleId), due: 0 };
    this.#buffers.set(moduleId, made);
    return made;
  }

  protected override forget(moduleId: string): void {
    this.#buffers.delete(moduleId);
  }

  #makeBuffer(moduleId: string): SequenceReplay {
    const { numEnvRunners, numEnvsPerEnvRunner } = this.values.envRunners;
    const { capacity } = this.values.training.replayBufferConfig as ReplayBufferValues;
    const width = this.modules.get(moduleId)?.built.encoder.size ?? 0;
    const share = Math.floor(capacity / (Math.max(1, numEnvRunners) * numEnvsPerEnvRunner));
    return new SequenceReplay({ capacity: share, width }, new Random(moduleSeed(this.seed, moduleId), "replay buffer"));
  }

  /** Samples a step of each environment, and replays as many as the ratio says. */
  protected async trainingStep(signal: AbortSignal | undefined): Promise<void> {
    const fragments = await this.sample(1, signal);
    for (const { id, module, fragment } of this.learningFrom(fragments)) {
      const buffer = this.#bufferOf(id);
      const { replay } = buffer;
      replay.add(fragment);
      const learner = module.learner as unknown as DreamerV3Learner;
      const { batchSizeB, batchLengthT, trainingRatio } = learner.config;
      if (replay.steps < batchSizeB * batchLengthT || replay.starts(batchLengthT) === 0) continue;
      buffer.due += (fragment.rows * trainingRatio) / (batchSizeB * batchLengthT);
      await this.learn(async () => {
        let breathedAt = performance.now();
        while (buffer.due >= 1) {
          buffer.due -= 1;
          learner.update(replay.sample(batchSizeB, batchLengthT), this.envSteps);
          if (performance.now() - breathedAt < BREATH_MS) continue;
          await new Promise((resolve) => void setImmediate(resolve));
          signal?.throwIfAborted();
          breathedAt = performance.now();
        }
      });
    }
  }

  protected override getState(): SavedStep {
    return {
      dues: Object.fromEntries(Array.from(this.modules.keys(), (id) => [id, this.#bufferOf(id).due])),
      hasBuffer: this.values.checkpointing.storeBufferInCheckpoints,
    };
  }

  protected override async saveFiles(path: string, save: string): Promise<void> {
    if (!this.values.checkpointing.storeBufferInCheckpoints) return;
    for (const id of this.modules.keys()) await writeBuffer(path, { save, moduleId: id }, this.#bufferOf(id).replay.getState());
  }

  /** Takes the buffers of a checkpoint; without them they begin empty, and learning waits until they have been filled. */
  protected override async restoreState(path: string, save: string, { dues, hasBuffer }: SavedStep): Promise<void> {
    for (const id of this.modules.keys()) this.#buffers.set(id, { replay: this.#makeBuffer(id), due: dues[id] ?? 0 });
    if (!this.values.checkpointing.storeBufferInCheckpoints) return;
    if (!hasBuffer)
      throw new RLError(
        `Cannot restore ${path}: it has no buffer, as it was saved without storeBufferInCheckpoints. Restore with checkpointing({ storeBufferInCheckpoints: false })`,
      );
    for (const [moduleId, { replay }] of this.#buffers)
      try {
        replay.setState(await readBuffer(path, { save, moduleId }));
      } catch (cause) {
        if (cause instanceof RLError) throw cause;
        throw new RLError(`Cannot restore ${path}: ${messageOf(cause)}`, { cause });
      }
  }
}

registerAlgorithm("DreamerV3", DreamerV3Config);
