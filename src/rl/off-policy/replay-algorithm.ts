/**
 * The training step of algorithms with a buffer: sample a step of every environment, store it, learn from draws.
 *
 * One round samples `rolloutFragmentLength` steps of each environment, 1 where it is "auto", and is followed by one update, or by as many as `trainingIntensity` says. Learning begins once
 * the buffer has seen enough steps.
 */
import { messageOf } from "../../core/internal.ts";
import { Random } from "../../tensor/index.ts";
import { Algorithm } from "../algorithms/algorithm.ts";
import { readBuffer, writeBuffer } from "../checkpoints/buffer-file.ts";
import { RLError } from "../errors.ts";
import type { ReplayConfig, ReplayLearner } from "../learners/replay-learner.ts";
import { EpisodeReplay } from "../replay/episode-replay.ts";
import { PriorityChoice, UniformChoice } from "../replay/slot-choice.ts";
import { moduleSeed } from "../modules/policy-mapping.ts";
import type { Fragment } from "../sequences/fragment.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { isPrioritized, type ReplayBufferConfig, type ReplayBufferValues } from "./replay-options.ts";

/** Values of `training()` that the step needs. */
export interface ReplayTraining extends ReplayConfig {
  readonly trainBatchSizePerLearner: number;
  readonly nStep: number | readonly [number, number];
  readonly numStepsSampledBeforeLearningStarts: number;
  readonly trainingIntensity: number | undefined;
  readonly replayBufferConfig: ReplayBufferConfig;
}

/** The part of a checkpoint's JSON. */
interface SavedStep {
  /** By module: updates that are due. */
  readonly dues?: Readonly<Record<string, number>>;
  /** That of the one module, in checkpoints of version 1. */
  readonly due?: number;
  readonly hasBuffer: boolean;
}

/** The sizes of a row: numbers of the observation, and numbers of the action. */
export interface ReplayRow {
  readonly obs: number;
  readonly actions: number;
  readonly makeActions: (rows: number) => NumericArray;
}

/** The buffer of a module. */
interface ModuleBuffer {
  readonly buffer: EpisodeReplay;
  /** Updates that are due; the fraction goes on to the next round. */
  due: number;
}

export abstract class ReplayAlgorithm<Training extends ReplayTraining> extends Algorithm<Training> {
  readonly #buffers = new Map<string, ModuleBuffer>();

  #bufferOf(moduleId: string): ModuleBuffer {
    const known = this.#buffers.get(moduleId);
    if (known !== undefined) return known;
    const made = { buffer: this.#makeBuffer(moduleId), due: 0 };
    this.#buffers.set(moduleId, made);
    return made;
  }

  protected override forget(moduleId: string): void {
    this.#buffers.delete(moduleId);
  }

  #makeBuffer(moduleId: string): EpisodeReplay {
    const { obs, actions, makeActions } = this.rowOf(moduleId);
    const { capacity, alpha } = this.#bufferValues;
    const isByPriority = isPrioritized(this.#bufferValues);
    return new EpisodeReplay(
      { capacity, obs, actions },
      {
        choice: isByPriority ? new PriorityChoice(alpha) : new UniformChoice(),
        random: new Random(moduleSeed(this.seed, moduleId), "replay buffer"),
        makeActions,
      },
    );
  }

  /** The form of a row in the buffer of a module. */
  protected rowOf(moduleId: string): ReplayRow {
    const { built } = this.modules.get(moduleId) as NonNullable<ReturnType<typeof this.modules.get>>;
    const { encoder, distribution } = built;
    const { actions } = distribution;
    return { obs: encoder.size, actions: actions.size ?? 1, makeActions: (rows) => actions.allocate(rows) as NumericArray };
  }

  get #bufferValues(): ReplayBufferValues {
    return this.values.training.replayBufferConfig as ReplayBufferValues;
  }

  protected async trainingStep(signal: AbortSignal | undefined): Promise<void> {
    await this.learnFrom(await this.sample(1, signal));
  }

  /** Stores the fragments of a round, and learns from draws. @param priorities - by module and row, where runners have computed them */
  protected async learnFrom(fragments: ReadonlyMap<string, Fragment>, priorities?: ReadonlyMap<string, Float32Array>): Promise<void> {
    const { beta } = this.#bufferValues;
    for (const { id, module, fragment } of this.learningFrom(fragments)) {
      const replay = this.#bufferOf(id);
      const { buffer } = replay;
      buffer.add(fragment, priorities?.get(id));
      const learner = module.learner as unknown as ReplayLearner<ReplayTraining>;
      const { trainBatchSizePerLearner: rows, numStepsSampledBeforeLearningStarts, trainingIntensity, gamma, nStep } = learner.config;
      if (buffer.steps < numStepsSampledBeforeLearningStarts || buffer.size === 0) continue;
      replay.due += trainingIntensity === undefined ? 1 : (trainingIntensity * fragment.rows) / rows;
      await this.learn(() => {
        for (; replay.due >= 1; replay.due -= 1) {
          const batch = buffer.sample({ rows, beta, gamma, nStep });
          buffer.updatePriorities(batch.indices, learner.update(batch, this.envSteps));
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
    for (const id of this.modules.keys()) await writeBuffer(path, { save, moduleId: id }, this.#bufferOf(id).buffer.getState());
  }

  /** Takes the buffers of a checkpoint; without them they begin empty, and learning waits until they have been filled. */
  protected override async restoreState(path: string, save: string, { due, dues, hasBuffer }: SavedStep): Promise<void> {
    for (const moduleId of this.modules.keys())
      this.#buffers.set(moduleId, { buffer: this.#makeBuffer(moduleId), due: dues?.[moduleId] ?? due ?? 0 });
    if (!this.values.checkpointing.storeBufferInCheckpoints) return;
    if (!hasBuffer)
      throw new RLError(
        `Cannot restore ${path}: it has no buffer, as it was saved without storeBufferInCheckpoints. Restore with checkpointing({ storeBufferInCheckpoints: false })`,
      );
    try {
      for (const [moduleId, { buffer }] of this.#buffers) buffer.setState(await readBuffer(path, { save, moduleId }));
    } catch (cause) {
      if (cause instanceof RLError) throw cause;
      throw new RLError(`Cannot restore ${path}: ${messageOf(cause)}`, { cause });
    }
  }
}
