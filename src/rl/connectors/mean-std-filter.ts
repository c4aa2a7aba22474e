/**
 * `MeanStdFilter`: observations with mean 0 and deviation 1.
 *
 * Steps of one `sample` call are filtered by all steps before it; the steps of the first call pass as they are.
 * Evaluation and `computeAction` use the filter and teach it nothing. Sums are kept in float64 by the method of Chan, Golub and LeVeque.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Connector, type ConnectorColumns, type ConnectorContext, type ConnectorSetup } from "./connector.ts";
import type { Box } from "../spaces/box.ts";

/** Count, means, and sums of squared distances from the mean. */
interface Moments {
  count: number;
  readonly mean: number[];
  readonly squares: number[];
}

const DEVIATION_MIN = 1e-8;

export interface MeanStdFilterOptions {
  /** The largest absolute value of a result; `Infinity` for none. Default: 10. */
  readonly clip?: number | undefined;
}

export class MeanStdFilter extends Connector {
  readonly options: MeanStdFilterOptions;
  readonly #clip: number;
  readonly #new = new Map<number, Moments>();
  #known: Moments = momentsOf(0);

  constructor(options: MeanStdFilterOptions = {}) {
    super();
    const { clip = 10 } = options;
    if (!(clip > 0)) throw new RangeError(`Cannot make a MeanStdFilter: clip is a number above 0: received ${describeValue(clip)}`);
    this.options = options;
    this.#clip = clip;
  }

  override prepare({ space }: ConnectorSetup): Box {
    this.#known = momentsOf(space.size);
    return space;
  }

  call(columns: ConnectorColumns, { training, environments }: ConnectorContext): ConnectorColumns {
    const { rows, obs } = columns;
    const size = obs.length / rows;
    if (training)
      for (let row = 0; row < rows; row += 1) this.#count(environments[row] as number, obs.subarray(row * size, (row + 1) * size));
    const { count, mean, squares } = this.#known;
    if (count < 2) return columns;
    const filtered = new Float32Array(obs.length);
    for (let at = 0; at < obs.length; at += 1) {
      const feature = at % size;
      const deviation = Math.sqrt((squares[feature] as number) / (count - 1));
      const value = ((obs[at] as number) - (mean[feature] as number)) / Math.max(DEVIATION_MIN, deviation);
      filtered[at] = Math.min(this.#clip, Math.max(-this.#clip, value));
    }
    return { ...columns, obs: filtered };
  }

  #count(environment: number, row: Float32Array): void {
    // A single NaN would stay in the moments, and so in all later observations.
    if (!row.every(Number.isFinite)) return;
    let moments = this.#new.get(environment);
    if (moments === undefined) {
      moments = momentsOf(row.length);
      this.#new.set(environment, moments);
    }
    moments.count += 1;
    for (const [feature, value] of row.entries()) {
      const distance = value - (moments.mean[feature] as number);
      moments.mean[feature] = (moments.mean[feature] as number) + distance / moments.count;
      moments.squares[feature] = (moments.squares[feature] as number) + distance * (value - moments.mean[feature]);
    }
  }

  override increments(): readonly (readonly [number, Moments])[] {
    const taken = Array.from(this.#new).sort(([one], [other]) => one - other);
    this.#new.clear();
    return taken;
  }

  override merge(increments: readonly (readonly [number, Moments])[]): void {
    for (const [, increment] of increments) this.#known = joined(this.#known, increment);
  }

  override getState(): Moments {
    return this.#known;
  }

  override setState({ count, mean, squares }: Moments): void {
    this.#known = { count, mean: [...mean], squares: [...squares] };
  }
}

function momentsOf(size: number): Moments {
  return { count: 0, mean: new Array<number>(size).fill(0), squares: new Array<number>(size).fill(0) };
}

function joined(one: Moments, other: Moments): Moments {
  const count = one.count + other.count;
  const distance = one.mean.map((mean, feature) => (other.mean[feature] as number) - mean);
  return {
    count,
    mean: one.mean.map((mean, feature) => mean + ((distance[feature] as number) * other.count) / count),
    squares: one.squares.map(
      (squares, feature) =>
        squares + (other.squares[feature] as number) + ((distance[feature] as number) ** 2 * one.count * other.count) / count,
    ),
  };
}
