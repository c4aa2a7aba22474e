/**
 * The real steps that MBMPO has sampled.
 *
 * Models learn from these columns, and imagined episodes begin at first observations.
 * The oldest steps are overwritten.
 */
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";

/** Columns of steps: inputs are observation and action side by side, outputs the change of the observation and the reward. */
export interface StepColumns {
  readonly rows: number;
  readonly inputs: Float32Array;
  readonly outputs: Float32Array;
}

/** First observations that are kept; more would not tell more of where episodes begin. */
const STARTS_MAX = 1000;

export class RealSteps {
  readonly #capacity: number;
  readonly #obsSize: number;
  readonly #inputSize: number;
  #inputs: Float32Array = new Float32Array(0);
  #outputs: Float32Array = new Float32Array(0);
  #added = 0;
  #starts: Float32Array[] = [];
  /** Environments within an episode. */
  #open = new Set<number>();

  constructor({ capacity, obsSize, actionSize }: { readonly capacity: number; readonly obsSize: number; readonly actionSize: number }) {
    this.#capacity = capacity;
    this.#obsSize = obsSize;
    this.#inputSize = obsSize + actionSize;
  }

  get rows(): number {
    return Math.min(this.#added, this.#capacity);
  }

  get starts(): readonly Float32Array[] {
    return this.#starts;
  }

  get columns(): StepColumns {
    const { rows } = this;
    const outputSize = this.#obsSize + 1;
    return {
      rows,
      inputs: this.#inputs.subarray(0, rows * this.#inputSize),
      outputs: this.#outputs.subarray(0, rows * outputSize),
    };
  }

  /** @param actions - as models take them, one a row */
  add({ obs, rewards, sequences, environments }: Fragment, actions: Float32Array): void {
    const size = this.#obsSize;
    const actionSize = this.#inputSize - size;
    for (const [index, environment] of environments.entries()) {
      const [start, length, end] = sequences.subarray(3 * index, 3 * index + 3) as unknown as [number, number, number];
      const first = (start + index) * size;
      if (!this.#open.has(environment)) this.#starts.push(obs.slice(first, first + size));
      if (end === SEQUENCE_END.CUT) this.#open.add(environment);
      else this.#open.delete(environment);
      for (let step = 0; step < length; step += 1) {
        const slot = this.#added % this.#capacity;
        this.#fit(slot + 1);
        const at = first + step * size;
        const row = start + step;
        this.#inputs.set(obs.subarray(at, at + size), slot * this.#inputSize);
        this.#inputs.set(actions.subarray(row * actionSize, (row + 1) * actionSize), slot * this.#inputSize + size);
        for (let element = 0; element < size; element += 1)
          this.#outputs[slot * (size + 1) + element] = (obs[at + size + element] as number) - (obs[at + element] as number);
        this.#outputs[slot * (size + 1) + size] = rewards[row] as number;
        this.#added += 1;
      }
    }
    this.#starts = this.#starts.slice(-STARTS_MAX);
  }

  #fit(rows: number): void {
    const had = this.#inputs.length / this.#inputSize;
    if (rows <= had) return;
    const count = Math.min(this.#capacity, Math.max(1024, 2 * had));
    const [inputs, outputs] = [new Float32Array(count * this.#inputSize), new Float32Array(count * (this.#obsSize + 1))];
    inputs.set(this.#inputs);
    outputs.set(this.#outputs);
    [this.#inputs, this.#outputs] = [inputs, outputs];
  }

  getState(): { numbers: Readonly<Record<string, number>>; arrays: Readonly<Record<string, Float32Array>> } {
    const { inputs, outputs } = this.columns;
    const starts = new Float32Array(this.#starts.length * this.#obsSize);
    for (const [index, start] of this.#starts.entries()) starts.set(start, index * this.#obsSize);
    const arrays = { inputs: inputs.slice(), outputs: outputs.slice(), starts, open: Float32Array.from(this.#open) };
    return { numbers: { added: this.#added }, arrays };
  }

  /** Goes on from a state. @throws RangeError where it is of other spaces */
  setState({ added = 0 }: Readonly<Record<string, number>>, arrays: Readonly<Record<string, Float32Array | undefined>>): void {
    const { inputs, outputs, starts, open } = arrays;
    const rows = Math.min(added, this.#capacity);
    if (
      inputs?.length !== rows * this.#inputSize ||
      outputs?.length !== rows * (this.#obsSize + 1) ||
      starts === undefined ||
      open === undefined
    )
      throw new RangeError(`the real steps would have ${rows * this.#inputSize} numbers: received ${inputs?.length ?? "none"}`);
    this.#inputs = inputs.slice();
    this.#outputs = outputs.slice();
    this.#added = added;
    this.#starts = Array.from({ length: starts.length / this.#obsSize }, (_, at) =>
      starts.slice(at * this.#obsSize, (at + 1) * this.#obsSize),
    );
    this.#open = new Set(open);
  }
}
