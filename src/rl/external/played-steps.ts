/**
 * Reads EPISODES messages: steps that a client has played, as columns, and turns them into a fragment.
 *
 * `sequences` has the length and the end of each piece of an episode, and `obs` one row more a piece.
 * Each number is checked, as losses are made of them.
 */
import { describeValue } from "../../core/internal.ts";
import { FrameError, type LinkMessage, type WireArray } from "../link/frames.ts";
import { CHUNK_STEPS_MAX } from "../link/limits.ts";
import { numbersOf, SpaceArrays } from "../link/space-arrays.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { MultiDiscrete } from "../spaces/multi-discrete.ts";

/** Steps that a client has sent at once. */
export interface PlayedChunk {
  readonly fragment: Fragment;
  /** As the environment gave them. */
  readonly rewards: Float64Array;
  /** The version of the weights that chose the actions. */
  readonly version: number;
}

interface ReadContext {
  /** The place of the client among all of the algorithm. */
  readonly environment: number;
  /** The version of today's weights. */
  readonly newest: number;
}

/** A chunk may be longer than the server has asked for by the rest of a client's steps. */
const CHUNK_FACTOR = 2;

export class PlayedSteps {
  readonly #built: BuiltModule;
  readonly #observations: SpaceArrays;
  readonly #rowsMax: number;
  /** A fragment of these columns without rows. */
  readonly none: Fragment;

  constructor(built: BuiltModule, chunkSteps: number) {
    this.#built = built;
    this.#observations = new SpaceArrays(built.observationSpace, "obs");
    this.#rowsMax = Math.min(CHUNK_STEPS_MAX, CHUNK_FACTOR * chunkSteps);
    const empty = new Float32Array();
    const actions = built.distribution.actions.allocate(0) as NumericArray;
    const columns = { obs: empty, actions, rewards: empty, actionLogp: empty, actionDistInputs: empty, states: empty };
    this.none = { rows: 0, ...columns, sequences: new Int32Array(), environments: new Int32Array() };
  }

  /** @throws FrameError for steps that do not fit the spaces, or one another */
  read({ fields, arrays }: LinkMessage, { environment, newest }: ReadContext): PlayedChunk {
    const { version } = fields;
    if (!Number.isSafeInteger(version) || (version as number) < 1 || (version as number) > newest)
      throw new FrameError(
        `version is that of weights of this server, from 1 to ${newest}: received ${describeValue(version)}. GET_STATE gives the newest`,
      );
    const { sequences, rows } = this.#sequencesOf(arrays.get("sequences"));
    const { distribution, encoder } = this.#built;
    const count = sequences.length / 3;
    const values = this.#observations.read(arrays, rows + count);
    const obs = new Float32Array((rows + count) * encoder.size);
    for (const [row, value] of values.entries()) encoder.encoder.encode(value, obs, row * encoder.size);
    const rewards = numbersOf(arrays, { name: "rewards", size: rows, array: Float64Array });
    const fragment = {
      rows,
      obs,
      actions: this.#actionsOf(arrays, rows),
      rewards: Float32Array.from(rewards),
      actionLogp: numbersOf(arrays, { name: "actionLogp", size: rows, array: Float32Array }),
      actionDistInputs: numbersOf(arrays, { name: "actionDistInputs", size: rows * distribution.inputSize, array: Float32Array }),
      sequences,
      environments: new Int32Array(count).fill(environment),
      states: new Float32Array(),
    };
    return { fragment, rewards, version: version as number };
  }

  #sequencesOf(array: WireArray | undefined): { sequences: Int32Array; rows: number } {
    const given = array?.data;
    if (!(given instanceof Int32Array) || given.length === 0 || given.length % 2 !== 0)
      throw new FrameError(
        `"sequences" is an Int32Array with the length and the end of each piece: received ${describeValue(array?.shape)}`,
      );
    const count = given.length / 2;
    const sequences = new Int32Array(3 * count);
    let rows = 0;
    for (let index = 0; index < count; index += 1) {
      const [length, end] = [given[2 * index] as number, given[2 * index + 1] as number];
      if (length < 1 || length > this.#rowsMax) throw new FrameError(`a piece has 1 to ${this.#rowsMax} steps: received ${length}`);
      if (end < 0 || end > SEQUENCE_END.TRUNCATED || (end === SEQUENCE_END.CUT && index < count - 1))
        throw new FrameError(
          `the end of a piece is 0 (the episode goes on, and it is the last piece), 1 (terminated) or 2 (truncated): received ${end}`,
        );
      sequences.set([rows, length, end], 3 * index);
      rows += length;
      if (rows > this.#rowsMax) throw new FrameError(`a message has ${this.#rowsMax} steps at most`);
    }
    return { sequences, rows };
  }

  /** Actions in the policy's range: choices from 0, or finite numbers. */
  #actionsOf(arrays: ReadonlyMap<string, WireArray>, rows: number): NumericArray {
    const { distribution, actionSpace } = this.#built;
    const example = distribution.actions.allocate(1) as NumericArray;
    const array = example.constructor as new (length: number) => NumericArray;
    const actions = numbersOf(arrays, { name: "actions", size: rows * example.length, array });
    const counts = actionSpace instanceof Discrete ? [actionSpace.n] : actionSpace instanceof MultiDiscrete ? actionSpace.counts : [];
    for (const [place, count] of counts.entries())
      for (let row = 0; row < rows; row += 1) {
        const action = actions[row * counts.length + place] as number;
        if (action < 0 || action >= count || !Number.isInteger(action))
          throw new FrameError(`an action is a whole number from 0 to ${count - 1}: received ${action} in row ${row}`);
      }
    return actions;
  }
}
