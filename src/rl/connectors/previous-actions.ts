/**
 * `PreviousActions`: the last actions and rewards behind the observation, oldest first.
 *
 * Choices are one-hot numbers. At the start of an episode all are zeros.
 * They are remembered by environment.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Box } from "../spaces/box.ts";
import { Connector, type ConnectorColumns, type ConnectorContext, type ConnectorSetup, EnvironmentMemory } from "./connector.ts";

export interface PreviousActionsOptions {
  /** Actions. Default: 1. */
  readonly actions?: number | undefined;
  /** Rewards. Default: 1. */
  readonly rewards?: number | undefined;
}

export class PreviousActions extends Connector {
  readonly options: PreviousActionsOptions;
  readonly #actions: number;
  readonly #rewards: number;
  readonly #memory: EnvironmentMemory = new EnvironmentMemory();

  constructor(options: PreviousActionsOptions = {}) {
    super();
    const { actions = 1, rewards = 1 } = options;
    for (const [name, count] of Object.entries({ actions, rewards }))
      if (!Number.isSafeInteger(count) || count < 0)
        throw new RangeError(`Cannot make PreviousActions: ${name} is a whole number from 0: received ${describeValue(count)}`);
    this.options = options;
    this.#actions = actions;
    this.#rewards = rewards;
  }

  override prepare({ space, actionSize }: ConnectorSetup): Box {
    const more = new Array<number>(this.#actions * actionSize + this.#rewards).fill(Infinity);
    return new Box({ low: [...space.low, ...more.map((bound) => -bound)], high: [...space.high, ...more] });
  }

  call(columns: ConnectorColumns, { episodeStarts, environments }: ConnectorContext): ConnectorColumns {
    const { rows, obs, actions, rewards } = columns;
    const size = obs.length / rows;
    const actionSize = actions.length / rows;
    const split = this.#actions * actionSize;
    const more = split + this.#rewards;
    const extended = new Float32Array(rows * (size + more));
    for (let row = 0; row < rows; row += 1) {
      const kept = this.#memory.of(environments[row] as number, more);
      if (episodeStarts[row] === 0) {
        push(kept.subarray(0, split), actions.subarray(row * actionSize, (row + 1) * actionSize));
        push(kept.subarray(split), rewards.subarray(row, row + 1));
      } else kept.fill(0);
      extended.set(obs.subarray(row * size, (row + 1) * size), row * (size + more));
      extended.set(kept, row * (size + more) + size);
    }
    return { ...columns, obs: extended };
  }

  override getMemory(): unknown {
    return this.#memory.getState();
  }

  override setMemory(memory: never): void {
    this.#memory.setState(memory);
  }
}

/** Drops the oldest numbers and adds new ones. */
function push(list: Float32Array, numbers: Float32Array | Float64Array): void {
  if (list.length === 0) return;
  list.copyWithin(0, numbers.length);
  list.set(numbers, list.length - numbers.length);
}
