/**
 * `PB2`: population based training with new configurations from a model of past gains (Parker-Holder et al. 2020).
 *
 * `PopulationBasedTraining` decides which trials exploit, and when. The configuration of a trial that exploits another lies within
 * `hyperparamBounds`, where a Gaussian process over all gains so far promises most. Records: one row each time that a trial is looked at,
 * and one for each chosen configuration, with the donor's reward as its start.
 */
import { isPlainObject, plainObject, readOptions } from "../../../core/internal.ts";
import { definitionOf } from "../../spaces/definition.ts";
import type { Config, Definition, JsonValue, Trial } from "../../trials/trial.ts";
import { chooseHyperparameters } from "./pb2-model.ts";
import { type Exploit, POPULATION_OPTIONS, PopulationBasedTraining, type PopulationOptions } from "./population-based-training.ts";

/** The lowest and the highest value by name; objects are entered. */
export interface Bounds {
  readonly [name: string]: readonly [low: number, high: number] | Bounds;
}

export interface PB2Options extends PopulationOptions {
  /** Hyperparameters to search, with their bounds. */
  hyperparamBounds: Bounds;
}

const OPTIONS = {
  ...POPULATION_OPTIONS,
  hyperparamBounds: plainObject<Bounds>("an object of [low, high] is needed"),
};

/** Older records teach nothing of the present. */
const RECORDS_MAX = 1_000;
/** Number of records in the model, whose cost grows with the third power. */
const GAINS_MAX = 200;

/** A hyperparameter: its path in the configuration, and its bounds. */
interface Dimension {
  readonly path: readonly string[];
  readonly low: number;
  readonly high: number;
}

interface Observed {
  readonly trialId: string;
  readonly time: number;
  readonly reward: number;
  readonly values: readonly number[];
}

interface Gain {
  readonly trialId: string;
  readonly time: number;
  readonly before: number;
  readonly reward: number;
  readonly values: readonly number[];
  readonly gain: number;
}

export class PB2 extends PopulationBasedTraining {
  override readonly definition: Definition | undefined;
  readonly #dimensions: readonly Dimension[];
  #records: Observed[] = [];
  /** Values that were chosen at the newest time. */
  #chosen: (readonly number[])[] = [];
  #lastExploration = 0;

  /** @throws TypeError, RangeError */
  constructor(options: PB2Options) {
    const { hyperparamBounds, ...population } = readOptions(options, { of: "a PB2", options: OPTIONS });
    const dimensions = dimensionsOf(hyperparamBounds ?? {}, []);
    if (dimensions.length === 0)
      throw new TypeError("Cannot make a PB2: there is nothing to search: give hyperparamBounds, such as { lr: [0.0001, 0.1] }");
    super({ ...population, customExploreFn: population.customExploreFn ?? ((config) => config) }, { name: "PB2", type: "pb2" });
    this.#dimensions = dimensions;
    this.definition = definitionOf("pb2", options);
  }

  protected override fill(config: Config): Config | undefined {
    const missing = this.#dimensions.filter(({ path }) => typeof valueAt(config, path) !== "number");
    if (missing.length === 0) return undefined;
    return missing.reduce((filled, { path, low, high }) => withValue(filled, path, this.random.uniform(low, high)), config);
  }

  protected override observe(trial: Trial, { time, score }: { time: number; score: number }): void {
    this.#records.push({ trialId: trial.id, time, reward: score, values: this.#valuesOf(trial.config) });
    if (this.#records.length > RECORDS_MAX) this.#records.shift();
  }

  protected override newConfig({ trial, donor }: Exploit): Config {
    const newest = Math.max(...this.#records.map(({ time }) => time));
    if (newest > this.#lastExploration) this.#chosen = [];
    const explored = this.#explore(donor);
    const values = explored?.values ?? this.#valuesOf(donor.config);
    if (explored !== undefined) this.#records.push({ trialId: trial.id, time: explored.time, reward: explored.reward, values });
    this.#lastExploration = Math.max(this.#lastExploration, newest);
    this.#chosen.push(values);
    const config = this.#dimensions.reduce((changed, { path }, index) => withValue(changed, path, values[index] as number), donor.config);
    return this.customized(config);
  }

  override save(): JsonValue {
    return {
      population: super.save(),
      records: this.#records as unknown as JsonValue,
      chosen: this.#chosen,
      lastExploration: this.#lastExploration,
    };
  }

  override restore(state: JsonValue): void {
    const saved = structuredClone(state) as unknown as {
      population: JsonValue;
      records: Observed[];
      chosen: number[][];
      lastExploration: number;
    };
    super.restore(saved.population);
    this.#records = saved.records;
    this.#chosen = saved.chosen;
    this.#lastExploration = saved.lastExploration;
  }

  /**
   * New values for a trial that continues from its donor. Undefined if the donor has no gain yet to learn from: the trial's values stay.
   */
  #explore(donor: Trial): { values: number[]; time: number; reward: number } | undefined {
    const gains = this.#gains();
    const own = gains.findLast(({ trialId }) => trialId === donor.id);
    if (own === undefined) return undefined;
    const used = gains.slice(-GAINS_MAX);
    const times = rangeOf(used.map(({ time }) => time));
    const rewards = rangeOf(used.map(({ before }) => before));
    const units = chooseHyperparameters(
      {
        rows: used.map(({ time, before, values }) => [times(time), rewards(before), ...this.#unitsOf(values)]),
        gains: standardized(used.map(({ gain }) => gain)),
        from: [times(own.time), rewards(own.before)],
        chosen: this.#chosen.map((values) => this.#unitsOf(values)),
      },
      this.random,
    );
    const values = units.map((unit, index) =>
      this.#fromUnit(unit, this.#dimensions[index] as Dimension, valueAt(donor.config, (this.#dimensions[index] as Dimension).path)),
    );
    return { values, time: own.time, reward: own.reward };
  }

  /** Gains per unit of time, each between two successive records of a trial with the same values, in the order of time. */
  #gains(): Gain[] {
    const last = new Map<string, Observed>();
    const gains: Gain[] = [];
    for (const record of this.#records.toSorted((first, second) => first.time - second.time)) {
      const key = JSON.stringify([record.trialId, record.values]);
      const before = last.get(key);
      last.set(key, record);
      if (before === undefined || record.time <= before.time) continue;
      const gain = (record.reward - before.reward) / (record.time - before.time);
      if (Number.isFinite(gain)) gains.push({ ...record, before: before.reward, gain });
    }
    return gains;
  }

  #valuesOf(config: Config): number[] {
    return this.#dimensions.map(({ path, low }) => {
      const value = valueAt(config, path);
      return typeof value === "number" ? value : low;
    });
  }

  #unitsOf(values: readonly number[]): number[] {
    return values.map((value, index) => {
      const { low, high } = this.#dimensions[index] as Dimension;
      return (value - low) / (high - low + 1e-8);
    });
  }

  /** Whole numbers stay whole where the bounds are, too. */
  #fromUnit(unit: number, { low, high }: Dimension, present: unknown): number {
    const value = Math.min(high, Math.max(low, low + unit * (high - low)));
    return Number.isInteger(present) && Number.isInteger(low) && Number.isInteger(high) ? Math.trunc(value) : value;
  }
}

/** @throws TypeError, RangeError for invalid bounds */
function dimensionsOf(bounds: Bounds, prefix: readonly string[]): Dimension[] {
  return Object.entries(bounds).flatMap(([name, bound]) => {
    const path = [...prefix, name];
    if (isPlainObject(bound)) return dimensionsOf(bound, path);
    const [low, high] = Array.isArray(bound) && bound.length === 2 ? (bound as [unknown, unknown]) : [undefined, undefined];
    if (typeof low !== "number" || typeof high !== "number" || !Number.isFinite(low) || !Number.isFinite(high))
      throw new TypeError(
        `Cannot make a PB2: the bounds of ${path.join("/")} are two numbers, [low, high]: received ${JSON.stringify(bound)}`,
      );
    if (low > high)
      throw new RangeError(`Cannot make a PB2: the bounds of ${path.join("/")} begin above their end: received ${low} and ${high}`);
    return [{ path, low, high }];
  });
}

function valueAt(config: Config, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (isPlainObject(inner) ? (inner as Config)[key] : undefined), config);
}

/** A copy with another value at a path. */
function withValue(config: Config, [key, ...rest]: readonly string[], value: number): Config {
  const name = key as string;
  if (rest.length === 0) return { ...config, [name]: value };
  const inner = config[name];
  return { ...config, [name]: withValue(isPlainObject(inner) ? inner : {}, rest, value) };
}

/** Maps the range of some values to 0 to 1. */
function rangeOf(values: readonly number[]): (value: number) => number {
  const low = Math.min(...values);
  const high = Math.max(...values);
  return (value) => (value - low) / (high - low + 1e-8);
}

/** With mean 0 and variance 1, cut to two deviations. */
function standardized(values: readonly number[]): number[] {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  return values.map((value) => Math.min(2, Math.max(-2, (value - mean) / (deviation + 1e-8))));
}
