/**
 * Sequences cut into chunks of at most `maxSeqLen` steps, for modules that remember.
 *
 * A pass runs chunks of different lengths side by side, the short ones padded with zeros behind their end. Outputs of the padding are left out at once, so that no loss has to mask it.
 * Each chunk begins with the state that the runner had there.
 */
import { noGrad, scope, type Tensor, tensor } from "../../tensor/index.ts";
import { FORWARD_ROWS_MAX } from "../limits.ts";
import type { ModuleMemory } from "../modules/module-memory.ts";
import type { ModuleInput, ModuleOutput } from "../modules/rl-module.ts";
import type { Fragment } from "./fragment.ts";

type Forward = (input: ModuleInput) => ModuleOutput;

interface Chunk {
  /** The first row of the fragment. */
  readonly row: number;
  readonly length: number;
  /** The first observation among those of the fragment. */
  readonly at: number;
  /** Whether the sequence ends with this chunk. */
  readonly isLast: boolean;
}

/** Some chunks, side by side. */
interface Pass {
  /** The rows of the fragment, in the order of the outputs. */
  readonly rows: Int32Array;
  /** Runs a module over the chunks. @returns its outputs for `rows` */
  run(forward: Forward): ModuleOutput;
}

export class Chunks {
  readonly #chunks: readonly Chunk[];
  readonly #fragment: Fragment;
  readonly #obsSize: number;
  readonly #memory: ModuleMemory;

  constructor(fragment: Fragment, { obsSize, memory }: { obsSize: number; memory: ModuleMemory }) {
    this.#fragment = fragment;
    this.#obsSize = obsSize;
    this.#memory = memory;
    this.#chunks = cut(fragment.sequences, memory.maxSeqLen);
  }

  get count(): number {
    return this.#chunks.length;
  }

  /** The pass of a minibatch. */
  minibatch(chosen: Int32Array): Pass {
    const chunks = Array.from(chosen, (index) => this.#chunks[index] as Chunk);
    const rows = Int32Array.from(chunks.flatMap(({ row, length }) => Array.from({ length }, (_, step) => row + step)));
    return { rows, run: (forward) => this.#run(forward, chosen, { lengths: chunks.map(({ length }) => length) }) };
  }

  /** Runs a module over all observations of the fragment, those behind the sequences too, without gradients. `take` gets the outputs of each chunk, and the place where its observations begin. */
  evaluate(forward: Forward, take: (output: ModuleOutput, at: number) => void): void {
    const group = Math.max(1, Math.floor(FORWARD_ROWS_MAX / (this.#memory.maxSeqLen + 1)));
    for (let from = 0; from < this.count; from += group) {
      const chosen = Int32Array.from({ length: Math.min(group, this.count - from) }, (_, index) => from + index);
      const chunks = Array.from(chosen, (index) => this.#chunks[index] as Chunk);
      const lengths = chunks.map(({ length, isLast }) => length + (isLast ? 1 : 0));
      scope(() =>
        noGrad(() => {
          const output = this.#run(forward, chosen, { lengths });
          let read = 0;
          for (const [index, { at }] of chunks.entries()) {
            const range = { axis: 0, start: read, end: read + (lengths[index] as number) };
            read = range.end;
            const part = Object.entries(output).map(([name, values]) => [name, (values as Tensor).slice(range)]);
            take(Object.fromEntries(part) as ModuleOutput, at);
          }
        }),
      );
    }
  }

  /** Runs chunks, of each the first `lengths` observations. */
  #run(forward: Forward, chosen: Int32Array, { lengths }: { lengths: readonly number[] }): ModuleOutput {
    const { obs } = this.#fragment;
    const size = this.#obsSize;
    const count = chosen.length;
    const steps = Math.max(...lengths);
    const padded = new Float32Array(count * steps * size);
    const states = new Float32Array(count * this.#memory.size);
    const real: number[] = [];
    for (const [place, index] of chosen.entries()) {
      const { at } = this.#chunks[index] as Chunk;
      const length = lengths[place] as number;
      padded.set(obs.subarray(at * size, (at + length) * size), place * steps * size);
      states.set(this.#fragment.states.subarray(index * this.#memory.size, (index + 1) * this.#memory.size), place * this.#memory.size);
      for (let step = 0; step < length; step += 1) real.push(place * steps + step);
    }
    const input = { obs: tensor(padded, { shape: [count * steps, size] }), ...this.#memory.toTensors(states, count) };
    const output = forward(input);
    const index = Int32Array.from(real);
    const taken = (values: Tensor): Tensor => (real.length === count * steps ? values : values.reshape([count * steps, -1]).rows(index));
    const { actionDistInputs, vfPreds } = output;
    return {
      ...(actionDistInputs === undefined ? {} : { actionDistInputs: taken(actionDistInputs) }),
      ...(vfPreds === undefined ? {} : { vfPreds: taken(vfPreds) }),
    };
  }
}

function cut(sequences: Int32Array, maxSeqLen: number): Chunk[] {
  const chunks: Chunk[] = [];
  for (let index = 0; index < sequences.length / 3; index += 1) {
    const start = sequences[3 * index] as number;
    const end = start + (sequences[3 * index + 1] as number);
    for (let row = start; row < end; row += maxSeqLen) {
      const length = Math.min(maxSeqLen, end - row);
      chunks.push({ row, length, at: row + index, isLast: row + length === end });
    }
  }
  return chunks;
}
