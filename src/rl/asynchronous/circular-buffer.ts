/**
 * The last batches, each of which is learnt from several times, in a random order.
 *
 * Draws begin once all places are taken. A new batch takes the place of the oldest one. A batch that was drawn often enough is never drawn again.
 */
import type { Random } from "../../tensor/index.ts";

export class CircularBuffer<B> {
  readonly #size: number;
  readonly #drawsMax: number;
  readonly #random: Random;
  #isFilled = false;
  readonly #batches: { readonly batch: B; draws: number }[] = [];

  constructor({ size, drawsMax, random }: { size: number; drawsMax: number; random: Random }) {
    this.#size = size;
    this.#drawsMax = drawsMax;
    this.#random = random;
  }

  /** Adds a batch. @returns as many draws as a batch has, or none before all places were taken */
  add(batch: B): B[] {
    this.#batches.push({ batch, draws: 0 });
    if (this.#batches.length > this.#size) this.#batches.shift();
    this.#isFilled ||= this.#batches.length === this.#size;
    const draws: B[] = [];
    while (this.#isFilled && draws.length < this.#drawsMax && this.#batches.length > 0) draws.push(this.#draw());
    return draws;
  }

  #draw(): B {
    const at = this.#random.integer(this.#batches.length);
    const drawn = this.#batches[at] as { batch: B; draws: number };
    drawn.draws += 1;
    if (drawn.draws === this.#drawsMax) this.#batches.splice(at, 1);
    return drawn.batch;
  }
}
