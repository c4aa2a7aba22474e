/**
 * Fragments: the steps that a runner has sampled, as columns, environment by environment.
 *
 * Rows of one episode that follow each other are a sequence. The table of sequences has three numbers each: the first row, the length, and how it ended. `obs` has one row more a sequence: the observation after
 * the last action, from which values are bootstrapped. The reset row of autoreset is never written.
 */
import type { NumericArray } from "../spaces/dtype.ts";

/** How a sequence ended: by the end of the fragment, by the world, or by a limit. */
export const SEQUENCE_END: { readonly CUT: 0; readonly TERMINATED: 1; readonly TRUNCATED: 2 } = { CUT: 0, TERMINATED: 1, TRUNCATED: 2 };

export interface Fragment {
  readonly rows: number;
  /** Encoded observations, `rows + sequences` of them. */
  readonly obs: Float32Array;
  /** In the policy's range. */
  readonly actions: NumericArray;
  readonly rewards: Float32Array;
  readonly actionLogp: Float32Array;
  readonly actionDistInputs: Float32Array;
  /** Start, length and end of each sequence. */
  readonly sequences: Int32Array;
  /** By sequence: the place of the environment among all of the algorithm. */
  readonly environments: Int32Array;
  /** The module's state before each chunk of `maxSeqLen` rows, chunk after chunk; empty where the module remembers nothing. */
  readonly states: Float32Array;
}

/** Numbers of a row in each column. */
interface RowSizes {
  readonly obs: number;
  readonly actions: number;
  readonly actionDistInputs: number;
}

interface WriterParts {
  readonly sizes: RowSizes;
  /** The state of a recurrent module, which is kept once a chunk. */
  readonly memory: { readonly size: number; readonly maxSeqLen: number };
  readonly makeActions: (rows: number) => NumericArray;
  /** The place of the first environment among all of the algorithm. */
  readonly firstEnv: number;
}

/** A fragment of the same columns without steps. */
export function emptyFragment({ actions }: Fragment): Fragment {
  const none = new Float32Array();
  return {
    rows: 0,
    obs: none,
    actions: actions.subarray(0, 0),
    rewards: none,
    actionLogp: none,
    actionDistInputs: none,
    sequences: new Int32Array(),
    environments: new Int32Array(),
    states: none,
  };
}

/** Collects rows in the order of time, and gives them in the order of environments. */
export class FragmentWriter {
  readonly #sizes: RowSizes;
  readonly #makeActions: (rows: number) => NumericArray;
  #rows = 0;
  #capacity: number;
  #obs: Float32Array;
  #actions: NumericArray;
  #rewards: Float32Array;
  #logp: Float32Array;
  #inputs: Float32Array;
  /** By environment: the rows of each, with the last observation behind each sequence. */
  readonly #sequences: { rows: number[]; end: number; last: Float32Array }[][];
  readonly #open: number[][];
  readonly #firstEnv: number;
  readonly #memory: WriterParts["memory"];
  /** By environment: the states before its chunks. */
  readonly #states: Float32Array[][];

  constructor(numEnvs: number, rows: number, { sizes, memory, makeActions, firstEnv }: WriterParts) {
    this.#sizes = sizes;
    this.#memory = memory;
    this.#states = Array.from({ length: numEnvs }, () => []);
    this.#firstEnv = firstEnv;
    this.#makeActions = makeActions;
    this.#capacity = rows;
    this.#obs = new Float32Array(rows * sizes.obs);
    this.#actions = makeActions(rows);
    this.#rewards = new Float32Array(rows);
    this.#logp = new Float32Array(rows);
    this.#inputs = new Float32Array(rows * sizes.actionDistInputs);
    this.#sequences = Array.from({ length: numEnvs }, () => []);
    this.#open = Array.from({ length: numEnvs }, () => []);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Writes a step: row `env` of all columns. The reward follows. */
  addRow(
    env: number,
    columns: { obs: Float32Array; actions: NumericArray; inputs: Float32Array; logp: number; states: Float32Array },
  ): void {
    if (this.#rows === this.#capacity) this.#grow();
    const row = this.#rows;
    const { obs, actions, actionDistInputs } = this.#sizes;
    copyNumbers(columns.obs, env * obs, { to: this.#obs, at: row * obs, count: obs });
    copyNumbers(columns.actions, env * actions, { to: this.#actions, at: row * actions, count: actions });
    copyNumbers(columns.inputs, env * actionDistInputs, { to: this.#inputs, at: row * actionDistInputs, count: actionDistInputs });
    this.#logp[row] = columns.logp;
    const open = this.#open[env] as number[];
    const { size, maxSeqLen } = this.#memory;
    if (size > 0 && open.length % maxSeqLen === 0) this.#states[env]?.push(columns.states.slice(env * size, (env + 1) * size));
    open.push(row);
    this.#rows += 1;
  }

  /** Writes the reward of an environment's last step. */
  reward(env: number, reward: number): void {
    this.#rewards[(this.#open[env] as number[]).at(-1) as number] = reward;
  }

  /** Ends the sequence of an environment. `last` has the observation after the last action at `at`. */
  close(env: number, end: number, last: Float32Array, at: number): void {
    const rows = this.#open[env] as number[];
    if (rows.length === 0) return;
    this.#open[env] = [];
    (this.#sequences[env] as { rows: number[]; end: number; last: Float32Array }[]).push({
      rows,
      end,
      last: last.slice(at, at + this.#sizes.obs),
    });
  }

  /** The columns, environment by environment. All sequences are closed before. */
  finish(): Fragment {
    const all = this.#sequences.flat();
    const { obs: obsSize, actions: actionSize, actionDistInputs: inputSize } = this.#sizes;
    const rows = all.reduce((sum, sequence) => sum + sequence.rows.length, 0);
    const obs = new Float32Array((rows + all.length) * obsSize);
    const actions = this.#makeActions(rows);
    const rewards = new Float32Array(rows);
    const actionLogp = new Float32Array(rows);
    const actionDistInputs = new Float32Array(rows * inputSize);
    const sequences = new Int32Array(3 * all.length);
    let row = 0;
    for (const [index, { rows: from, end, last }] of all.entries()) {
      sequences.set([row, from.length, end], 3 * index);
      for (const source of from) {
        copyNumbers(this.#obs, source * obsSize, { to: obs, at: (row + index) * obsSize, count: obsSize });
        copyNumbers(this.#actions, source * actionSize, { to: actions, at: row * actionSize, count: actionSize });
        copyNumbers(this.#inputs, source * inputSize, { to: actionDistInputs, at: row * inputSize, count: inputSize });
        rewards[row] = this.#rewards[source] as number;
        actionLogp[row] = this.#logp[source] as number;
        row += 1;
      }
      obs.set(last, (row + index) * obsSize);
    }
    const environments = Int32Array.from(this.#sequences.flatMap((own, env) => own.map(() => this.#firstEnv + env)));
    const chunks = this.#states.flat();
    const states = new Float32Array(chunks.length * this.#memory.size);
    for (const [index, state] of chunks.entries()) states.set(state, index * this.#memory.size);
    return { rows, obs, actions, rewards, actionLogp, actionDistInputs, sequences, environments, states };
  }

  #grow(): void {
    this.#capacity *= 2;
    const grown = <A extends NumericArray>(array: A): A => {
      const larger = new (array.constructor as new (length: number) => A)(2 * array.length);
      larger.set(array);
      return larger;
    };
    this.#obs = grown(this.#obs);
    this.#actions = grown(this.#actions);
    this.#rewards = grown(this.#rewards);
    this.#logp = grown(this.#logp);
    this.#inputs = grown(this.#inputs);
  }
}

/** A loop, as `set` of a short `subarray` takes longer than the numbers themselves. */
function copyNumbers(from: NumericArray, at: number, into: { to: NumericArray; at: number; count: number }): void {
  const { to, at: start, count } = into;
  for (let index = 0; index < count; index += 1) to[start + index] = from[at + index] as number;
}

/** Joins fragments in their order. */
export function joinFragments(fragments: readonly Fragment[]): Fragment {
  const [first, ...others] = fragments as readonly [Fragment, ...Fragment[]];
  if (others.length === 0) return first;
  const joined = <A extends NumericArray>(column: (fragment: Fragment) => A): A => {
    const parts = fragments.map(column);
    const whole = new ((parts[0] as A).constructor as new (length: number) => A)(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  };
  const sequences = joined((fragment) => fragment.sequences);
  let rows = 0;
  let index = 0;
  for (const fragment of fragments) {
    for (const end = index + fragment.sequences.length; index < end; index += 3) sequences[index] = (sequences[index] as number) + rows;
    rows += fragment.rows;
  }
  return {
    rows,
    obs: joined((fragment) => fragment.obs),
    actions: joined((fragment) => fragment.actions),
    rewards: joined((fragment) => fragment.rewards),
    actionLogp: joined((fragment) => fragment.actionLogp),
    actionDistInputs: joined((fragment) => fragment.actionDistInputs),
    sequences,
    environments: joined((fragment) => fragment.environments),
    states: joined((fragment) => fragment.states),
  };
}
