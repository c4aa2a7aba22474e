/**
 * Recorded steps in memory, from which learners draw rows with returns, or with the next observation.
 *
 * Returns end where the world does.
 * For an episode that was truncated, or that the files do not finish, a batch also has the last observation: its value stands for the rest.
 */
import { type Tensor, tensor } from "../../tensor/index.ts";
import { gather } from "../learners/learner.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import type { ReplayBatch } from "../replay/episode-replay.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import type { NumericArray } from "../spaces/dtype.ts";

/** Rows of the recording with their returns, as tensors. */
export interface ReturnsBatch {
  readonly rows: number;
  /** `[rows, size]`. */
  readonly obs: Tensor;
  /** In the policy's range. */
  readonly actions: NumericArray;
  /** `[rows]`: the discounted rewards to the end of the episode. */
  readonly returns: Tensor;
  /** `[rows, size]`: the last observation of each row's episode. */
  readonly lastObs: Tensor;
  /** `[rows]`: the factor of the value of `lastObs`; 0 where the world has ended. */
  readonly discounts: Tensor;
}

export class RecordedSteps {
  readonly fragment: Fragment;
  readonly #built: BuiltModule;
  readonly #gamma: number;
  /** By row: the sequence. */
  readonly #sequenceOf: Int32Array;
  /** By row. */
  readonly #returns: Float32Array;
  readonly #discounts: Float32Array;

  constructor(fragment: Fragment, { built, gamma }: { built: BuiltModule; gamma: number }) {
    const { rows, rewards, sequences } = fragment;
    this.fragment = fragment;
    this.#built = built;
    this.#gamma = gamma;
    this.#sequenceOf = new Int32Array(rows);
    this.#returns = new Float32Array(rows);
    this.#discounts = new Float32Array(rows);
    for (let index = 0; index < sequences.length / 3; index += 1) {
      const [start, length, end] = sequences.subarray(3 * index, 3 * index + 3) as unknown as readonly [number, number, number];
      let [returned, discount] = [0, end === SEQUENCE_END.TERMINATED ? 0 : 1];
      for (let row = start + length - 1; row >= start; row -= 1) {
        returned = (rewards[row] as number) + gamma * returned;
        discount *= gamma;
        this.#sequenceOf[row] = index;
        this.#returns[row] = returned;
        this.#discounts[row] = discount;
      }
    }
  }

  get rows(): number {
    return this.fragment.rows;
  }

  /** The rows with their returns. Called inside of a scope. */
  returnsOf(chosen: Int32Array): ReturnsBatch {
    const { sequences } = this.fragment;
    const rows = chosen.length;
    const last = chosen.map((row) => {
      const index = this.#sequenceOf[row] as number;
      return (sequences[3 * index] as number) + (sequences[3 * index + 1] as number) + index;
    });
    return {
      rows,
      obs: this.#matrix(this.#observations(chosen), rows),
      actions: this.#actions(chosen),
      returns: column(this.#returns, chosen),
      lastObs: this.#matrix(this.#observationRows(last), rows),
      discounts: column(this.#discounts, chosen),
    };
  }

  /** The rows with the observation behind up to so many steps, and the rewards of these. */
  transitionsOf(chosen: Int32Array, nStep: number): ReplayBatch {
    const { rewards, sequences } = this.fragment;
    const rows = chosen.length;
    const sums = new Float32Array(rows);
    const discounts = new Float32Array(rows);
    const next = new Int32Array(rows);
    for (const [place, row] of chosen.entries()) {
      const index = this.#sequenceOf[row] as number;
      const end = (sequences[3 * index] as number) + (sequences[3 * index + 1] as number);
      const behind = Math.min(end, row + nStep);
      let [sum, discount] = [0, 1];
      for (let at = row; at < behind; at += 1) {
        sum += discount * (rewards[at] as number);
        discount *= this.#gamma;
      }
      sums[place] = sum;
      discounts[place] = behind === end && sequences[3 * index + 2] === SEQUENCE_END.TERMINATED ? 0 : discount;
      next[place] = behind + index;
    }
    return {
      rows,
      obs: this.#observations(chosen),
      actions: this.#actions(chosen),
      rewards: sums,
      nextObs: this.#observationRows(next),
      discounts,
      weights: new Float32Array(rows).fill(1),
      indices: new Float64Array(rows),
    };
  }

  #observations(chosen: Int32Array): Float32Array {
    return this.#observationRows(chosen.map((row) => row + (this.#sequenceOf[row] as number)));
  }

  /** @param rows - of the observations, of which each sequence has one more than steps */
  #observationRows(rows: Int32Array): Float32Array {
    const { size } = this.#built.encoder;
    const into = new Float32Array(rows.length * size);
    gather(this.fragment.obs, rows, { into, width: size });
    return into;
  }

  #actions(chosen: Int32Array): NumericArray {
    const { actions, rows } = this.fragment;
    const into = this.#built.distribution.actions.allocate(chosen.length) as NumericArray;
    gather(actions, chosen, { into, width: actions.length / rows });
    return into;
  }

  #matrix(data: Float32Array, rows: number): Tensor {
    return tensor(data, { shape: [rows, data.length / rows] });
  }
}

function column(from: Float32Array, chosen: Int32Array): Tensor {
  const into = new Float32Array(chosen.length);
  gather(from, chosen, { into, width: 1 });
  return tensor(into, { shape: [chosen.length] });
}
