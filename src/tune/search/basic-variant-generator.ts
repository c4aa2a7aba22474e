/**
 * Random and grid search: every combination of the grids of a space, `numSamples` times, with all else drawn at random.
 *
 * The default searcher. Results do not affect its sequence of configurations.
 * The state is the number of configurations given, the random generator's state, the values that the present grid shares, and the trials that run where they are limited.
 */
import { count, custom, flag, isPlainObject, readOptions } from "../../core/internal.ts";
import { Random, type RandomState } from "../spaces/random.ts";
import type { Searcher, Suggestion } from "../searcher.ts";
import { draw, forEachGridPoint, type Point, readPoint, resolveSpace, type SearchSpace, toAllowed } from "../spaces/space.ts";
import type { Config, Definition, JsonValue, Mode } from "../trials/trial.ts";
import { seed } from "../options/shared-options.ts";

export interface BasicVariantGeneratorOptions {
  /** How often the whole grid is run; without a grid, how many configurations there are. -1 is without end. Default: that of `tuneConfig`. */
  numSamples?: number | undefined;
  /**
   * Configurations, whole or in part, that are tried first; missing values are drawn. Each takes the place of one sample: of a grid it
   * fixes the axes that it names. Default: none.
   */
  pointsToEvaluate?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** Whether all points of one grid share their random values. Default: false. */
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
    seed: seed(),
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
  /** Points of the user, each with the grid that it leaves. */
  #points: { readonly point: Point; readonly grid: readonly Point[] }[] = [];
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
  setDefaults(defaults: { numSamples: number; seed: number | undefined }): void {
    this.#numSamples = this.#options.numSamples ?? defaults.numSamples;
    this.#random = new Random(this.#options.seed ?? defaults.seed);
  }

  setSearchProperties(_metric: string | readonly string[], _mode: Mode | readonly Mode[], space: SearchSpace): void {
    this.#space = space;
    this.#grid = [];
    forEachGridPoint(space, (point) => this.#grid.push(point));
    this.#points = this.#options.pointsToEvaluate.map((config) => {
      const point = readPoint(space, config);
      return { point, grid: gridBeside(this.#grid, point) };
    });
  }

  /** How many configurations there are. */
  get trialsMax(): number {
    if (this.#numSamples === -1) return Number.POSITIVE_INFINITY;
    const points = this.#points.slice(0, this.#numSamples);
    return points.reduce((sum, { grid }) => sum + grid.length, (this.#numSamples - points.length) * this.#grid.length);
  }

  suggest(trialId: string): Suggestion {
    if (this.#given >= this.trialsMax) return "finished";
    const { maxConcurrent } = this.#options;
    if (maxConcurrent > 0 && this.#running.size >= maxConcurrent) return "later";
    if (maxConcurrent > 0) this.#running.add(trialId);
    let at = this.#given;
    this.#given += 1;
    for (const { point, grid } of this.#points) {
      if (at < grid.length) return this.#draw({ point: grid[at] as Point, isNewGrid: at === 0, fixed: point });
      at -= grid.length;
    }
    at %= this.#grid.length;
    return this.#draw({ point: this.#grid[at] as Point, isNewGrid: at === 0, fixed: undefined });
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

/** Returns the points of a grid that differ in the axes that a user's point leaves open. */
function gridBeside(grid: readonly Point[], fixed: Point): Point[] {
  const seen = new Set<string>();
  return grid.filter((point) => {
    const open = JSON.stringify([...point].filter(([name]) => !fixed.has(name)));
    return !seen.has(open) && seen.add(open);
  });
}
