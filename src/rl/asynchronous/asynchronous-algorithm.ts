/**
 * The training step of asynchronous algorithms: take samples as they arrive until they are a batch, learn, and give the runners new weights now and then.
 *
 * Without runners in processes this process samples a batch and learns from it, in turn.
 * Runners rest between the calls of `train`, so that an algorithm nobody trains uses no processor.
 */
import { FragmentAlgorithm, type OnPolicyTraining } from "../algorithms/on-policy-algorithm.ts";
import type { Fragment } from "../sequences/fragment.ts";

/** Values of `training()` that the step needs. */
interface AsynchronousTraining extends OnPolicyTraining {
  /** Updates between two sets of weights for the runners. */
  readonly broadcastInterval: number;
  /** Batches that may wait for the learner. */
  readonly learnerQueueSize: number;
}

/** The fragments of a batch, by module. */
export type Batch = ReadonlyMap<string, Fragment>;

export abstract class AsynchronousAlgorithm<Training extends AsynchronousTraining> extends FragmentAlgorithm<Training> {
  #updates = 0;

  protected override get streaming(): { readonly steps: number; readonly waitingStepsMax: number } {
    return { steps: this.batchSize, waitingStepsMax: this.values.training.learnerQueueSize * this.batchSize };
  }

  protected async trainingStep(signal: AbortSignal | undefined): Promise<void> {
    const arrived = await this.gather(this.batchSize, async () => await this.arrivals(signal));
    for (const batch of this.batchesOf(arrived)) {
      await this.learnFrom(batch, signal);
      this.#updates += 1;
      if (this.#updates % this.values.training.broadcastInterval === 0) this.broadcast();
    }
  }

  /** The batches that are learnt from once a new one is there. */
  protected batchesOf(batch: Batch): Batch[] {
    return [batch];
  }
}
