/**
 * Random and grid search: every combination of the grids of a space, `numSamples` times, with all else drawn at random.
 *
 * The default searcher. Results do not affect its sequence of configurations.
 * The state is the number of configurations given, the random generator's state, the values that the present grid shares, and the trials that run where they are limited.
 */
import { count, custom, flag, isPlainObject, number, readOptions } from "../../core/internal.ts";
import { Random, type RandomState } from "../random.ts";
import type { Searcher, Suggestion } from "../searcher.ts";
import { draw, forEachGridPoint, type Point, readPoint, resolveSpace, type SearchSpace, toAllowed } from "../space.ts";
import type { Config, Definition, JsonValue, Mode } from "../trial.ts";

export interface BasicVariantGeneratorOptions {
  /** How often the whole grid is run; without a grid, how many configurations there are. -1 is without end. Default: that of `tuneConfig`. */
  numSamples?: number | undefined;
  /** Configurations, whole or in part, that are tried first; what they leave out is drawn. Each takes the place of one sample, or of one grid. Default: none. */
  pointsToEvaluate?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** Whether all points of one grid share what is drawn at random. Default: false. */
  constantGridSearch?: boolean | undefined;
  /** Trials that run at once; 0 for any number. Default: 0, and so `maxConcurrentTrials` of `tuneConfig` alone counts. */
  maxConcurrent?: number | undefined;
  /** Default: that of `tuneConfig`; without one, each run draws others. */
  seed?: number | undefined;
}

const OPTIONS = {
  of: "BasicVariantGenerator",
  otherNames: {
    randomState: "it is seed",
    random_state: "it is seed",
  },
  options: {
    numSamples: count({ min: -1 }, undefined as number | undefined),
    pointsToEvaluate: custom<readonly Readonly<Record<string, unknown>>[]>("a list of configurations is needed", [], (value) =>
      Array.isArray(value) && value.every(isPlainObject) ? "ok" : "wrong type",
    ),
    constantGridSearch: flag(false),
    maxConcurrent: count({ min: 0 }, 0),
    seed: number<number | undefined>("a whole number from 0 is needed", undefined, (value) => Number.isSafeInteger(value) && value >= 0),
  },
};

interface Values {
  readonly numSamples: number | undefined;
  readonly pointsToEvaluate: readonly Readonly<Record<string, unknown>>[];
  readonly constantGridSearch: boolean;
  readonly maxConcurrent: number;
  readonly seed: number | undefined;
}

interface State {
  readonly given: number;
  readonly random: RandomState;
  readonly constant: readonly (readonly [string, number])[];
  readonly running: readonly string[];
}

export class BasicVariantGenerator implements Searcher {
  readonly definition: Definition;
  readonly #options: Values;
  #random: Random;
  #numSamples: number;
  #space: SearchSpace = {};
  #grid: Point[] = [new Map()];
  #points: Map<string, number>[] = [];
  #given = 0;
  /** Values drawn for the present grid, where all its points share them (`constantGridSearch`). */
  #constant = new Map<string, number>();
  /** Trials that run, where they are limited. */
  #running = new Set<string>();

  constructor(options: BasicVariantGeneratorOptions = {}) {
    this.#options = readOptions<Values>(options, OPTIONS);
    this.#numSamples = this.#options.numSamples ?? 1;
    this.#random = new Random(this.#options.seed);
    this.definition = { type: "random", options: { ...(options as Record<string, JsonValue>) } };
  }

  /** Takes the values of `tuneConfig` for options that were not given. Called before the first suggestion. */
  setDefaults({ numSamples, seed }: { numSamples: number; seed: number | undefined }): void {
    this.#numSamples = this.#options.numSamples ?? numSamples;
    if (this.#options.seed === undefined && seed !== undefined) this.#random = new Random(seed);
  }

  setSearchProperties(_metric: string | readonly string[], _mode: Mode | readonly Mode[], space: SearchSpace): void {
    this.#space = space;
    this.#points = this.#options.pointsToEvaluate.map((config) => readPoint(space, config));
    this.#grid = [];
    forEachGridPoint(space, (point) => this.#grid.push(point));
  }

  suggest(trialId: string): Suggestion {
    // A point that a user gave fixes the grid's places that it names: the grid of its sample has the rest.
    const sample = Math.floor(this.#given / this.#grid.length);
    if (this.#numSamples !== -1 && sample >= this.#numSamples) return "finished";
    const { maxConcurrent } = this.#options;
    if (maxConcurrent > 0 && this.#running.size >= maxConcurrent) return "later";
    if (maxConcurrent > 0) this.#running.add(trialId);
    const point = this.#grid[this.#given % this.#grid.length] as Point;
    const isNewGrid = this.#given % this.#grid.length === 0;
    this.#given += 1;
    return this.#draw({ point, isNewGrid, fixed: this.#points[sample] });
  }

  onTrialComplete(trialId: string): void {
    this.#running.delete(trialId);
  }

  save(): JsonValue {
    return { given: this.#given, random: this.#random.save(), constant: [...this.#constant], running: [...this.#running] };
  }

  restore(state: JsonValue): void {
    const { given, random, constant, running } = state as unknown as State;
    this.#given = given;
    this.#random.restore(random);
    this.#constant = new Map(constant);
    this.#running = new Set(running);
  }

  #draw({ point, isNewGrid, fixed }: { point: Point; isNewGrid: boolean; fixed: Point | undefined }): Config {
    if (isNewGrid) this.#constant = new Map();
    return resolveSpace(this.#space, ({ name, domain }) => {
      const given = fixed?.get(name) ?? point.get(name);
      if (given !== undefined) return toAllowed(domain, given);
      const before = this.#options.constantGridSearch ? this.#constant.get(name) : undefined;
      const value = before ?? draw(domain, this.#random);
      if (this.#options.constantGridSearch) this.#constant.set(name, value);
      return value;
    });
  }
}
