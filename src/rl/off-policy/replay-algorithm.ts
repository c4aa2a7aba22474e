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
import type { NumericArray } from "../spaces/dtype.ts";
import { isPrioritized, type ReplayBufferConfig, type ReplayBufferValues } from "./replay-options.ts";

/** Values of `training()` that the step needs. */
interface ReplayTraining extends ReplayConfig {
  readonly trainBatchSizePerLearner: number;
  readonly nStep: number | readonly [number, number];
  readonly numStepsSampledBeforeLearningStarts: number;
  readonly trainingIntensity: number | undefined;
  readonly replayBufferConfig: ReplayBufferConfig;
}

/** The part of a checkpoint's JSON. */
interface SavedStep {
  readonly due: number;
  readonly hasBuffer: boolean;
}

export abstract class ReplayAlgorithm<Training extends ReplayTraining> extends Algorithm<Training> {
  #buffer: EpisodeReplay | undefined;
  /** Updates that are due; the fraction goes on to the next round. */
  #due = 0;

  get #replay(): EpisodeReplay {
    this.#buffer ??= this.#makeBuffer();
    return this.#buffer;
  }

  #makeBuffer(): EpisodeReplay {
    const { encoder, distribution } = this.built;
    const { capacity, alpha } = this.#bufferValues;
    const actions = distribution.actions;
    const isByPriority = isPrioritized(this.#bufferValues);
    return new EpisodeReplay(
      { capacity, obs: encoder.size, actions: actions.size ?? 1 },
      {
        choice: isByPriority ? new PriorityChoice(alpha) : new UniformChoice(),
        random: new Random(this.seed, "replay buffer"),
        makeActions: (rows) => actions.allocate(rows) as NumericArray,
      },
    );
  }

  get #bufferValues(): ReplayBufferValues {
    return this.values.training.replayBufferConfig as ReplayBufferValues;
  }

  protected async trainingStep(signal: AbortSignal | undefined): Promise<void> {
    const { trainBatchSizePerLearner: rows, numStepsSampledBeforeLearningStarts, trainingIntensity, gamma, nStep } = this.values.training;
    const fragment = await this.sample(1, signal);
    const buffer = this.#replay;
    buffer.add(fragment);
    if (buffer.steps < numStepsSampledBeforeLearningStarts || buffer.size === 0) return;
    this.#due += trainingIntensity === undefined ? 1 : (trainingIntensity * fragment.rows) / rows;
    const { beta } = this.#bufferValues;
    const learner = this.learner as unknown as ReplayLearner;
    await this.learn(() => {
      for (; this.#due >= 1; this.#due -= 1) {
        const batch = buffer.sample({ rows, beta, gamma, nStep });
        buffer.updatePriorities(batch.indices, learner.update(batch, this.envSteps));
      }
    });
  }

  protected override getState(): SavedStep {
    return { due: this.#due, hasBuffer: this.values.checkpointing.storeBufferInCheckpoints };
  }

  protected override async saveFiles(path: string, save: string): Promise<void> {
    if (this.values.checkpointing.storeBufferInCheckpoints) await writeBuffer(path, save, this.#replay.getState());
  }

  /** Takes the buffer of a checkpoint; without one it begins empty, and learning waits until it has been filled. */
  protected override async restoreState(path: string, save: string, { due, hasBuffer }: SavedStep): Promise<void> {
    this.#due = due;
    this.#buffer = this.#makeBuffer();
    if (!this.values.checkpointing.storeBufferInCheckpoints) return;
    if (!hasBuffer)
      throw new RLError(
        `Cannot restore ${path}: it has no buffer, as it was saved without storeBufferInCheckpoints. Restore with checkpointing({ storeBufferInCheckpoints: false })`,
      );
    try {
      this.#buffer.setState(await readBuffer(path, save));
    } catch (cause) {
      if (cause instanceof RLError) throw cause;
      throw new RLError(`Cannot restore ${path}: ${messageOf(cause)}`, { cause });
    }
  }
}
