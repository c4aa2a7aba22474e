/**
 * `BayesOptSearch`: proposes where a Gaussian process expects most improvement (Snoek et al. 2012; Ament et al. 2023).
 *
 * Best for few evaluations (up to some hundreds) of an expensive function in up to twenty dimensions. Begins with spread points, then fits
 * the process to at most 300 points and searches its acquisition function from many starts. Running trials count with their expected
 * values, so that parallel asks spread. All work is limited by counts, not by time, so that the same results give the same proposals.
 */
import { count, flag, number, oneOf, readOptions } from "../../../core/internal.ts";
import type { JsonValue } from "../../trials/trial.ts";
import { type Worth, worthAt, worthWithSlopes } from "./acquisition.ts";
import { type Axis, counts, fromUnit, toUnit, type UnitPoint } from "../numbers/axes.ts";
import { defaultHyperparameters, fitHyperparameters, GaussianProcess, type Hyperparameters } from "./gaussian-process.ts";
import { minimize } from "../numbers/minimize.ts";
import { modelSearchOptions, type ModelSearchOptions } from "../../options/shared-options.ts";
import { ModelSearch, type Observation } from "../model-search.ts";

export interface BayesOptSearchOptions extends ModelSearchOptions {
  /** Spread points before the model is used. Default: 10. */
  nInitialPoints?: number;
  /** Expected improvement, or the upper confidence bound. Default: `"ei"`. */
  acquisition?: "ei" | "ucb";
  /** How many deviations of optimism `"ucb"` has. Default: 2.576. */
  kappa?: number;
  /** Points that the process keeps: the best half and the newest. Default: 300, which is the most. */
  pointsMax?: number;
  /** Whether a proposal that has run, or runs, gives way to a random point. False is for results with noise. Default: true. */
  skipDuplicate?: boolean;
  /** Number of such proposals in a row after which the search ends. Default: any number. */
  patience?: number | undefined;
}

const OPTIONS = {
  ...modelSearchOptions,
  nInitialPoints: count({ min: 1 }, 10),
  acquisition: oneOf(["ei", "ucb"], "ei"),
  kappa: number("a number from 0 is needed", 2.576, (value) => value >= 0 && value < 1e6),
  pointsMax: count({ min: 10, max: 300 }, 300),
  skipDuplicate: flag(true),
  patience: count<number | undefined>({ min: 1 }, undefined),
};

/** Names of Ray's class of this name. */
const OTHER_NAMES = {
  randomSearchSteps: "it is nInitialPoints",
  random_search_steps: "it is nInitialPoints",
  utilityKwargs: 'it is acquisition: "ucb" and kappa',
  utility_kwargs: 'it is acquisition: "ucb" and kappa',
};

/** Number of points for fitting hyperparameters: the time grows with the third power. */
const FITTED_MAX = 90;
/** Budgets of a proposal in multiplications, by part. With the largest Gaussian processes a proposal takes about 40 ms. */
const SCREENING_WORK = 5e6;
const CLIMBING_WORK = 9e6;
const SCREENED_MIN = 60;
const SCREENED_MAX = 1500;
const STARTS = 6;
/** Options of one axis that are all tried. */
const TRIED_MAX = 16;

export class BayesOptSearch extends ModelSearch {
  readonly #settings: ReturnType<typeof readSettings>;
  #at: Hyperparameters = [];
  /** By axis: the strip of each initial point, among as many strips as there are initial points. */
  #strips: number[][] = [];
  /** Proposals of known points, one after the other up to now. */
  #repeats = 0;

  constructor(options: BayesOptSearchOptions = {}) {
    const settings = readSettings(options);
    super({ name: "BayesOptSearch", type: "bayesopt" }, options);
    this.#settings = settings;
  }

  protected override prepare(): void {
    this.#at = defaultHyperparameters(this.axes.length);
    const strips = Array.from({ length: this.#settings.nInitialPoints }, (_, index) => index);
    this.#strips = this.axes.map(() => this.random.shuffle(strips));
  }

  protected override propose(proposal: number): UnitPoint | undefined {
    if (this.observations.length < this.#settings.nInitialPoints) return this.#spreadPoint(proposal);
    const kept = this.#kept();
    const points = kept.map(({ point }) => this.#filled(point));
    const values = standardized(kept.map(({ losses }) => losses[0] as number));
    const isChoice = this.axes.map(({ choiceCount }) => choiceCount > 0);
    this.#at = this.#fitted(points, values, isChoice);
    const process = GaussianProcess.at(points, values, { isChoice, at: this.#at });
    const pending = [...this.pending.values()].slice(-this.#settings.pointsMax).map(({ point }) => this.#filled(point));
    const certain = process.withBelieved(pending);
    const { kappa, acquisition } = this.#settings;
    const worth: Worth =
      acquisition === "ucb" ? { kind: "ucb", kappa } : { kind: "ei", best: Math.min(...points.map((each) => process.see(each).mean)) };
    const best = this.#best(certain, { worth, points, values });
    return this.#taken(best);
  }

  /** Applies `skipDuplicate` and `patience` to a proposal; undefined where it is skipped. */
  #taken(point: UnitPoint): UnitPoint | undefined {
    const { skipDuplicate, patience = Number.POSITIVE_INFINITY } = this.#settings;
    const isKnown = this.#isKnown(point);
    this.#repeats = isKnown ? this.#repeats + 1 : 0;
    if (this.#repeats > patience) return undefined;
    return isKnown && skipDuplicate ? this.randomPoint() : point;
  }

  /** A point of a Latin hypercube: on each axis the initial points are in different strips. */
  #spreadPoint(proposal: number): UnitPoint {
    const point: UnitPoint = [];
    for (const [index, axis] of this.axes.entries()) {
      const strip = this.#strips[index]?.[proposal];
      const unit = strip === undefined ? this.random.next() : (strip + this.random.next()) / this.#settings.nInitialPoints;
      if (!counts(axis, point)) point.push(null);
      else point.push(axis.choiceCount > 0 ? Math.floor(unit * axis.choiceCount) : unit);
    }
    return point;
  }

  /** The observations for the process: all if there are few, else the best half and the newest. */
  #kept(): Observation[] {
    const most = this.#settings.pointsMax;
    if (this.observations.length <= most) return this.observations;
    const ranked = [...this.observations.keys()].sort((a, b) => lossAt(this.observations, a) - lossAt(this.observations, b));
    const kept = new Set(ranked.slice(0, most >> 1));
    for (let newest = this.observations.length - 1; kept.size < most; newest -= 1) kept.add(newest);
    return [...kept].sort((a, b) => a - b).map((index) => this.observations[index] as Observation);
  }

  /** Fitted to a part of many points: the best third, and others evenly over time. */
  #fitted(points: readonly Float64Array[], values: readonly number[], isChoice: readonly boolean[]): Hyperparameters {
    let chosen = [...points.keys()];
    if (points.length > FITTED_MAX) {
      const ranked = chosen.toSorted((a, b) => (values[a] as number) - (values[b] as number));
      const best = ranked.slice(0, Math.floor(FITTED_MAX / 3));
      const others = ranked.slice(best.length).sort((a, b) => a - b);
      const step = others.length / (FITTED_MAX - best.length);
      chosen = [...best, ...Array.from({ length: FITTED_MAX - best.length }, (_, index) => others[Math.floor(index * step)] as number)];
    }
    const fit = (start: Hyperparameters, evaluations: number) =>
      fitHyperparameters(
        chosen.map((index) => points[index] as Float64Array),
        chosen.map((index) => values[index] as number),
        { isChoice, start, evaluations },
      );
    // From the last ones; few points are cheap, and then once more from the beginning, as the likelihood of few has several tops.
    const last = fit(this.#at, chosen.length < 40 ? 40 : chosen.length < 70 ? 20 : 12);
    const fresh = chosen.length < 70 ? fit(defaultHyperparameters(this.axes.length), 40) : last;
    return last.loss <= fresh.loss ? last.at : fresh.at;
  }

  /** The point of most worth that was found. */
  #best(
    process: GaussianProcess,
    { worth, points, values }: { worth: Worth; points: readonly Float64Array[]; values: readonly number[] },
  ): UnitPoint {
    const size = points.length + this.pending.size;
    const screened = this.#candidates(
      points,
      values,
      Math.min(SCREENED_MAX, Math.max(SCREENED_MIN, Math.floor(SCREENING_WORK / (0.5 * size * size + 10 * size * this.axes.length)))),
    )
      .map((point) => ({ point, worth: worthAt(process, worth, this.#filled(point)) }))
      .sort((first, second) => second.worth - first.worth);
    const evaluations = Math.max(60, Math.min(600, Math.floor(CLIMBING_WORK / (size * size + 12 * size * this.axes.length))));
    const starts = spreadStarts(screened, STARTS);
    let best = starts[0] as { point: UnitPoint; worth: number };
    for (const start of starts) {
      const climbed = this.#climbed(process, worth, { ...start, evaluations: Math.floor(evaluations / starts.length) });
      if (climbed.worth > best.worth) best = climbed;
    }
    return best.point;
  }

  /** Random points, and points near the best ones. */
  #candidates(points: readonly Float64Array[], values: readonly number[], total: number): UnitPoint[] {
    const ranked = [...points.keys()].sort((a, b) => (values[a] as number) - (values[b] as number)).slice(0, 5);
    const candidates: UnitPoint[] = ranked.slice(0, 1).map((index) => this.#pruned([...(points[index] as Float64Array)]));
    while (candidates.length < total) {
      if (candidates.length % 3 !== 0) candidates.push(this.randomPoint());
      else candidates.push(this.#near(points[ranked[candidates.length % ranked.length] as number] as Float64Array));
    }
    return candidates;
  }

  /** A point at some distance, from wide to tiny; choices mostly stay. */
  #near(point: Float64Array): UnitPoint {
    const width = 10 ** (-0.5 - 2.5 * this.random.next());
    return this.#pruned(
      this.axes.map((axis, index) => {
        const at = point[index] as number;
        if (axis.choiceCount > 0) return this.random.next() < 1 / (this.axes.length + 1) ? this.random.integer(axis.choiceCount) : at;
        return snapped(axis, Math.min(1, Math.max(0, at + width * this.random.normal())));
      }),
    );
  }

  /** A local search: numbers together by their slopes, then each choice and each number of few values by trying. */
  #climbed(
    process: GaussianProcess,
    worth: Worth,
    start: { point: UnitPoint; worth: number; evaluations: number },
  ): { point: UnitPoint; worth: number } {
    let best = { point: start.point, worth: start.worth };
    const smooth = this.axes.map((axis) => axis.choiceCount === 0);
    let left = start.evaluations;
    for (let round = 0; round < 3 && left > 0; round += 1) {
      const before = best.worth;
      const full = this.#filled(best.point);
      const box = {
        low: full.map((at, index) => (smooth[index] && best.point[index] !== null ? 0 : at)),
        high: full.map((at, index) => (smooth[index] && best.point[index] !== null ? 1 : at)),
      };
      let used = 0;
      const loss = (point: Float64Array, gradient: Float64Array) => {
        used += 1;
        const value = worthWithSlopes(process, { worth, point }, gradient);
        for (let axis = 0; axis < gradient.length; axis += 1) gradient[axis] = -(gradient[axis] as number);
        return -value;
      };
      if (smooth.some(Boolean)) {
        const { point, value } = minimize(loss, full, { box, evaluations: left, tolerance: 1e-8 });
        left -= used;
        const rounded = this.#pruned([...point].map((unit, index) => (smooth[index] ? snapped(this.axes[index] as Axis, unit) : unit)));
        const isSnapped = this.axes.some(({ halfStep }) => halfStep > 0);
        const reached = isSnapped ? worthAt(process, worth, this.#filled(rounded)) : -value;
        if (reached > best.worth) best = { point: rounded, worth: reached };
      }
      for (const [index, axis] of this.axes.entries()) best = this.#tried(process, worth, { best, axis, index });
      if (!(best.worth > before + 1e-9)) break;
    }
    return best;
  }

  /** The best value of one axis of few values, all others as they are. */
  #tried(
    process: GaussianProcess,
    worth: Worth,
    { best, axis, index }: { best: { point: UnitPoint; worth: number }; axis: Axis; index: number },
  ) {
    let found = best;
    if (best.point[index] === null) return found;
    for (const value of valuesOf(axis, best.point[index] as number)) {
      const point = this.#pruned(best.point.map((at, each) => (each === index ? value : (at ?? this.#middle(each)))));
      const reached = worthAt(process, worth, this.#filled(point));
      if (reached > found.worth) found = { point, worth: reached };
    }
    return found;
  }

  /** A point for the process: places that do not count are in the middle. */
  #filled(point: UnitPoint): Float64Array {
    return Float64Array.from(point, (unit, index) => unit ?? this.#middle(index));
  }

  #middle(index: number): number {
    return (this.axes[index] as Axis).choiceCount > 0 ? -1 : 0.5;
  }

  /** A point without values where they do not count, and with a first option where a choice counts that did not before. */
  #pruned(full: readonly (number | null)[]): UnitPoint {
    const point: UnitPoint = [];
    for (const [index, axis] of this.axes.entries()) {
      const value = full[index] ?? this.#middle(index);
      point.push(counts(axis, point) ? Math.max(0, value) : null);
    }
    return point;
  }

  /** Whether a trial of this very configuration has run or runs. */
  #isKnown(point: UnitPoint): boolean {
    const cell = (unit: number, index: number) => (this.axes[index]?.choiceCount === 0 ? snapped(this.axes[index], unit) : unit);
    const isSame = ({ point: other }: { point: UnitPoint }) =>
      other.every((unit, index) => {
        const at = point[index] ?? null;
        return unit === null || at === null ? unit === at : Math.abs(cell(unit, index) - cell(at, index)) < 1e-12;
      });
    return this.observations.some(isSame) || [...this.pending.values()].some(isSame);
  }

  protected override saveModel(): JsonValue {
    return { at: this.#at, strips: this.#strips, repeats: this.#repeats };
  }

  protected override restoreModel(state: JsonValue): void {
    const { at, strips, repeats = 0 } = state as unknown as { at: number[]; strips: number[][]; repeats?: number };
    this.#at = at;
    this.#strips = strips;
    this.#repeats = repeats;
  }
}

function readSettings(options: BayesOptSearchOptions) {
  return readOptions(options, { of: "a BayesOptSearch", otherNames: OTHER_NAMES, options: OPTIONS });
}

function lossAt(observations: readonly Observation[], index: number): number {
  return (observations[index] as Observation).losses[0] as number;
}

/** With mean 0 and variance 1. */
function standardized(values: readonly number[]): number[] {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  const deviation = Math.sqrt(variance) || 1;
  return values.map((value) => (value - mean) / deviation);
}

/** The middle of the cell that contains a unit. */
function snapped(axis: Axis, unit: number): number {
  return axis.halfStep === 0 ? unit : toUnit(axis, fromUnit(axis, unit));
}

/** Further values of an axis to try: all options, the numbers of a short range, or the neighbours in a long one. */
function valuesOf(axis: Axis, at: number): number[] {
  if (axis.choiceCount > 0) return Array.from({ length: axis.choiceCount }, (_, option) => option).filter((option) => option !== at);
  if (axis.halfStep === 0) return [];
  const value = fromUnit(axis, at);
  const first = fromUnit(axis, 0);
  const valueCount = Math.round((fromUnit(axis, 1) - first) / (2 * axis.halfStep)) + 1;
  const values =
    valueCount <= TRIED_MAX
      ? Array.from({ length: valueCount }, (_, index) => first + index * 2 * axis.halfStep)
      : [value - 2 * axis.halfStep, value + 2 * axis.halfStep];
  return [...new Set(values.map((each) => toUnit(axis, fromUnit(axis, toUnit(axis, each)))))].filter((unit) => unit !== at);
}

/** The best candidates that are not close together: a local search from neighbours would end at one place. */
function spreadStarts<T extends { point: UnitPoint }>(ranked: readonly T[], total: number): T[] {
  const starts: T[] = [];
  for (const candidate of ranked) {
    if (starts.length === total) break;
    const isApart = starts.every(({ point }) =>
      point.some((unit, index) => Math.abs((unit ?? -1) - (candidate.point[index] ?? -1)) > 0.05),
    );
    if (isApart) starts.push(candidate);
  }
  return starts;
}
