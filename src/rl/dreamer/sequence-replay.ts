/**
 * A buffer of whole streams: what each environment has shown, step after step, from which sequences are drawn.
 *
 * A row is an observation with the reward that came with it, whether it begins an episode, and whether the world ended with it. A sequence may go from one episode into the next.
 * Each environment has its own ring.
 */
import type { Random } from "../../tensor/index.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import type { EpisodeReplayState } from "../replay/episode-replay.ts";

/** Sequences of equal length, step by step: row `step x count + sequence`. */
export interface SequenceBatch {
  readonly count: number;
  readonly length: number;
  readonly obs: Float32Array;
  readonly rewards: Float32Array;
  /** 1 where an episode, or the sequence, begins. */
  readonly firsts: Float32Array;
  /** 1 where the world has ended. */
  readonly lasts: Float32Array;
}

const FLAG = { FIRST: 1, LAST: 2 } as const;
const FIRST_ROWS = 256;

/** The ring of one environment. */
class Stream {
  obs: Float32Array = new Float32Array(0);
  rewards: Float32Array = new Float32Array(0);
  flags: Uint8Array = new Uint8Array(0);
  /** Rows that were ever written. */
  added = 0;
  /** Whether the last row belongs to an episode that goes on. */
  isOpen = false;
  readonly #capacity: number;
  readonly #width: number;

  constructor(capacity: number, width: number) {
    this.#capacity = capacity;
    this.#width = width;
  }

  get rows(): number {
    return Math.min(this.added, this.#capacity);
  }

  /** The slot of a row, counted from the oldest one. */
  slot(row: number): number {
    return (this.added - this.rows + row) % this.#capacity;
  }

  write(from: Float32Array, at: number, { reward, flags }: { reward: number; flags: number }): void {
    const slot = this.added % this.#capacity;
    if (slot >= this.flags.length) this.#grow();
    const width = this.#width;
    for (let element = 0; element < width; element += 1) this.obs[slot * width + element] = from[at + element] as number;
    this.rewards[slot] = reward;
    this.flags[slot] = flags;
    this.added += 1;
  }

  /** Whether the newest row is this observation. */
  endsWith(from: Float32Array, at: number): boolean {
    if (!this.isOpen || this.added === 0) return false;
    const begin = this.slot(this.rows - 1) * this.#width;
    for (let element = 0; element < this.#width; element += 1) if (this.obs[begin + element] !== from[at + element]) return false;
    return true;
  }

  #grow(): void {
    const rows = Math.min(this.#capacity, Math.max(FIRST_ROWS, 2 * this.flags.length));
    const [obs, rewards, flags] = [new Float32Array(rows * this.#width), new Float32Array(rows), new Uint8Array(rows)];
    obs.set(this.obs);
    rewards.set(this.rewards);
    flags.set(this.flags);
    [this.obs, this.rewards, this.flags] = [obs, rewards, flags];
  }
}

export class SequenceReplay {
  readonly #capacity: number;
  readonly #width: number;
  readonly #random: Random;
  /** By environment. */
  readonly #streams = new Map<number, Stream>();
  #steps = 0;

  /** @param capacity - rows of each environment */
  constructor({ capacity, width }: { readonly capacity: number; readonly width: number }, random: Random) {
    this.#capacity = capacity;
    this.#width = width;
    this.#random = random;
  }

  /** Steps that were ever added. */
  get steps(): number {
    return this.#steps;
  }

  add({ obs, rewards, sequences, environments }: Fragment): void {
    for (const [index, environment] of environments.entries()) {
      const [start, length, end] = sequences.subarray(3 * index, 3 * index + 3) as unknown as [number, number, number];
      const stream = this.#streamOf(environment);
      const first = (start + index) * this.#width;
      if (!stream.endsWith(obs, first)) stream.write(obs, first, { reward: 0, flags: FLAG.FIRST });
      for (let step = 0; step < length; step += 1) {
        const isLast = end === SEQUENCE_END.TERMINATED && step === length - 1;
        const at = first + (step + 1) * this.#width;
        stream.write(obs, at, { reward: rewards[start + step] as number, flags: isLast ? FLAG.LAST : 0 });
      }
      stream.isOpen = end === SEQUENCE_END.CUT;
      this.#steps += length;
    }
  }

  #streamOf(environment: number): Stream {
    const known = this.#streams.get(environment);
    if (known !== undefined) return known;
    const made = new Stream(this.#capacity, this.#width);
    this.#streams.set(environment, made);
    return made;
  }

  /** Rows at which a sequence of so many steps may begin. */
  starts(length: number): number {
    let sum = 0;
    for (const { rows } of this.#streams.values()) sum += Math.max(0, rows - length + 1);
    return sum;
  }

  sample(count: number, length: number): SequenceBatch {
    const width = this.#width;
    const rows = count * length;
    const batch = {
      count,
      length,
      obs: new Float32Array(rows * width),
      rewards: new Float32Array(rows),
      firsts: new Float32Array(rows),
      lasts: new Float32Array(rows),
    };
    const starts = this.starts(length);
    for (let sequence = 0; sequence < count; sequence += 1) {
      const { stream, start } = this.#find(this.#random.integer(starts), length);
      for (let step = 0; step < length; step += 1) {
        const slot = stream.slot(start + step);
        const row = step * count + sequence;
        for (let element = 0; element < width; element += 1)
          batch.obs[row * width + element] = stream.obs[slot * width + element] as number;
        batch.rewards[row] = stream.rewards[slot] as number;
        const flags = stream.flags[slot] as number;
        batch.firsts[row] = step === 0 || (flags & FLAG.FIRST) !== 0 ? 1 : 0;
        batch.lasts[row] = (flags & FLAG.LAST) === 0 ? 0 : 1;
      }
    }
    return batch;
  }

  #find(index: number, length: number): { stream: Stream; start: number } {
    let left = index;
    for (const stream of this.#streams.values()) {
      const own = Math.max(0, stream.rows - length + 1);
      if (left < own) return { stream, start: left };
      left -= own;
    }
    throw new RangeError(`there is no sequence of ${length} rows: received place ${index}`);
  }

  /** The rows of all environments, one after another: `next` has the environment of each, `kinds` its flags. */
  getState(): EpisodeReplayState {
    const streams = Array.from(this.#streams);
    const rows = streams.reduce((sum, [, stream]) => sum + stream.rows, 0);
    const arrays = {
      obs: new Float32Array(rows * this.#width),
      actions: new Float32Array(0),
      rewards: new Float32Array(rows),
      next: new Int32Array(rows),
      kinds: new Uint8Array(rows),
      priorities: new Float64Array(0),
    };
    let at = 0;
    for (const [environment, stream] of streams)
      for (let row = 0; row < stream.rows; row += 1) {
        const slot = stream.slot(row);
        arrays.obs.set(stream.obs.subarray(slot * this.#width, (slot + 1) * this.#width), at * this.#width);
        arrays.rewards[at] = stream.rewards[slot] as number;
        arrays.next[at] = environment;
        arrays.kinds[at] = stream.flags[slot] as number;
        at += 1;
      }
    const open = streams.map(([environment, { isOpen }]) => [environment, Number(isOpen)] as const);
    return { arrays, added: rows, steps: this.#steps, open, largestPriority: 1, random: this.#random.getState() };
  }

  /** Goes on from a state. @throws RangeError where it is of other spaces, or of a larger buffer */
  setState({ arrays, steps, open, random }: EpisodeReplayState): void {
    const { obs, rewards, next, kinds } = arrays;
    const rows = rewards.length;
    if (obs.length !== rows * this.#width || next.length !== rows || kinds.length !== rows)
      throw new RangeError(
        `the buffer would have ${this.#width} numbers a row: received ${obs.length} for ${rows} rows. Use the environment that it was saved with`,
      );
    this.#streams.clear();
    for (const [environment] of open) this.#streamOf(environment);
    for (let row = 0; row < rows; row += 1)
      this.#streamOf(next[row] as number).write(obs, row * this.#width, { reward: rewards[row] as number, flags: kinds[row] as number });
    for (const [environment, isOpen] of open) this.#streamOf(environment).isOpen = isOpen === 1;
    this.#steps = steps;
    this.#random.setState(random);
  }
}
