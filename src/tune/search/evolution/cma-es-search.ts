/**
 * `CmaEsSearch`: numbers by CMA-ES, choices by probabilities that learn from the same ranks (Hamano et al. 2024, "CatCMA", simplified).
 *
 * Best if the space is mostly numbers, evaluations are many (hundreds) and good points lie along slanted valleys. Parallel asks all draw
 * from the present distribution; each population of results moves it, in order of arrival. When the distribution has shrunk to a point, the
 * search starts at another place with twice the population (Auger and Hansen 2005). On integer axes a sample is sometimes moved by one
 * value, as rounding would hide small steps (Hansen 2011).
 */
import { custom, flag, number, readOptions } from "../../../core/internal.ts";
import type { JsonValue } from "../../trials/trial.ts";
import { type Axis, counts, fromUnit, toUnit, type UnitPoint } from "../numbers/axes.ts";
import { CmaEs, type CmaEsState, defaultPopulation, type Evaluated } from "./cma-es.ts";
import { modelSearchOptions, type ModelSearchOptions } from "../../options/shared-options.ts";
import { ModelSearch, type Observation } from "../model-search.ts";

export interface CmaEsSearchOptions extends ModelSearchOptions {
  /** The first standard deviation, as a part of each axis. Default: a sixth. */
  sigma0?: number | undefined;
  /** Results for each step of the distribution. Default: 4 + 3 ln(dimensions). */
  populationSize?: number | undefined;
  /** Whether a search that has converged starts at another place with twice the population. Default: true. */
  restart?: boolean | undefined;
}

const OPTIONS = {
  ...modelSearchOptions,
  sigma0: number("a number above 0 and up to 1 is needed", 1 / 6, (value) => value > 0 && value <= 1),
  populationSize: custom<number | undefined>("a whole number from 4 is needed", undefined, (value) =>
    typeof value !== "number" ? "wrong type" : Number.isSafeInteger(value) && value >= 4 ? "ok" : "out of range",
  ),
  restart: flag(true),
};

/** A draw outside the bounds is repeated; after this many draws it is cut to them. */
const DRAWS_MAX = 100;
/** How strongly a population pulls the probabilities of choices. */
const CHOICE_RATE = 0.2;

/** Values drawn for a trial, including those for axes that do not count there. */
interface Draw {
  readonly vector: number[];
  readonly options: number[];
  readonly generation: number;
}

interface SavedModel {
  strategy: CmaEsState;
  probabilities: number[][];
  draws: [number, Draw][];
  population: (Draw & { loss: number })[];
  restarts: number;
}

export class CmaEsSearch extends ModelSearch {
  readonly #settings: ReturnType<typeof readSettings>;
  #numbers: number[] = [];
  #choices: number[] = [];
  /** In a space without numbers it has one idle dimension, and only its weights are used. */
  #strategy: CmaEs = new CmaEs({ mean: [0.5], sigma: 1 });
  /** For each choice, the probabilities of the options. */
  #probabilities: number[][] = [];
  #draws = new Map<number, Draw>();
  #population: (Draw & { loss: number })[] = [];
  #restarts = 0;

  constructor(options: CmaEsSearchOptions = {}) {
    const settings = readSettings(options);
    super({ name: "CmaEsSearch", type: "cmaes" }, options);
    this.#settings = settings;
  }

  protected override prepare(): void {
    const indexes = [...this.axes.keys()];
    this.#numbers = indexes.filter((index) => (this.axes[index] as Axis).choiceCount === 0);
    this.#choices = indexes.filter((index) => (this.axes[index] as Axis).choiceCount > 0);
    this.#draws.clear();
    this.#population = [];
    this.#restarts = 0;
    this.#begin(this.#numbers.map(() => 0.5));
  }

  #begin(mean: readonly number[]): void {
    const { sigma0, populationSize } = this.#settings;
    const first = populationSize ?? defaultPopulation(Math.max(1, mean.length));
    this.#strategy = new CmaEs({ mean: mean.length === 0 ? [0.5] : mean, sigma: sigma0, populationSize: first * 2 ** this.#restarts });
    this.#probabilities = this.#choices.map((index) => {
      const { choiceCount } = this.axes[index] as Axis;
      return new Array<number>(choiceCount).fill(1 / choiceCount);
    });
  }

  protected override propose(proposal: number): UnitPoint {
    const strategy = this.#strategy;
    const draw: Draw = {
      vector: this.#drawVector(strategy),
      options: this.#probabilities.map((each) => this.#drawOption(each)),
      generation: strategy.generation,
    };
    this.#draws.set(proposal, draw);
    const point: UnitPoint = [];
    for (const [index, axis] of this.axes.entries()) {
      const value = axis.choiceCount > 0 ? draw.options[this.#choices.indexOf(index)] : draw.vector[this.#numbers.indexOf(index)];
      point.push(counts(axis, point) ? (value as number) : null);
    }
    return point;
  }

  #drawVector(strategy: CmaEs): number[] {
    let vector = strategy.sample(this.random);
    for (let draws = 1; draws < DRAWS_MAX && !vector.every((unit) => unit >= 0 && unit <= 1); draws += 1)
      vector = strategy.sample(this.random);
    const within = vector.map((unit) => Math.min(1, Math.max(0, unit)));
    return this.#numbers.map((index, coordinate) =>
      this.#moved(this.axes[index] as Axis, within[coordinate] as number, strategy.spread(coordinate)),
    );
  }

  /** If the spread is below one value of an integer axis, one sample in a population moves to a neighbour. */
  #moved(axis: Axis, unit: number, spread: number): number {
    if (axis.halfStep === 0) return unit;
    const value = fromUnit(axis, unit);
    const step =
      Math.abs(toUnit(axis, value + 2 * axis.halfStep) - toUnit(axis, value)) ||
      Math.abs(toUnit(axis, value) - toUnit(axis, value - 2 * axis.halfStep));
    if (spread > step / 2 || this.random.next() * this.#strategy.populationSize > 1) return unit;
    return Math.min(1, Math.max(0, unit + (this.random.next() < 0.5 ? -step : step)));
  }

  #drawOption(probabilities: readonly number[]): number {
    let rest = this.random.next();
    for (const [option, probability] of probabilities.entries()) {
      rest -= probability;
      if (rest < 0) return option;
    }
    return probabilities.length - 1;
  }

  protected override learn({ number: proposal, point, losses }: Observation): void {
    const draw = this.#draws.get(proposal) ?? this.#drawOf(point);
    this.#draws.delete(proposal);
    this.#population.push({ ...draw, loss: losses[0] as number });
    const strategy = this.#strategy;
    if (this.#population.length < strategy.populationSize) return;
    this.#adaptProbabilities(strategy);
    const population = this.#population.map(
      ({ vector, loss, generation }): Evaluated => ({
        vector: vector.length === 0 ? [0.5] : vector,
        loss,
        isOwn: generation === strategy.generation,
      }),
    );
    strategy.update(population);
    this.#population = [];
    if (this.#settings.restart && this.#numbers.length > 0 && strategy.hasConverged()) this.#restart();
  }

  protected override forget(proposal: number): void {
    this.#draws.delete(proposal);
  }

  #restart(): void {
    this.#restarts += 1;
    // Running trials were drawn from the distribution before: for the new one they are foreign, in whichever generation they end.
    for (const [proposal, draw] of this.#draws) this.#draws.set(proposal, { ...draw, generation: -1 });
    this.#begin(this.#numbers.map(() => this.random.next()));
  }

  /** A point that the user gave, as a draw: places that do not count are in the middle. */
  #drawOf(point: UnitPoint): Draw {
    return {
      vector: this.#numbers.map((index) => point[index] ?? 0.5),
      options: this.#choices.map((index) => point[index] ?? 0),
      generation: -1,
    };
  }

  /** Moves the probabilities of options towards the choices of the better half, and keeps each above a floor. */
  #adaptProbabilities({ weights }: CmaEs): void {
    const ranked = [...this.#population].sort((first, second) => first.loss - second.loss);
    for (const [which, probabilities] of this.#probabilities.entries()) {
      const pulled = probabilities.map((probability) => (1 - CHOICE_RATE) * probability);
      for (const [rank, { options }] of ranked.entries()) {
        const weight = Math.max(0, weights[rank] as number);
        const option = options[which] as number;
        pulled[option] = (pulled[option] as number) + CHOICE_RATE * weight;
      }
      const floor = Math.min(0.5, 0.27 / this.#probabilities.length) / Math.max(1, probabilities.length - 1) / 2;
      const raised = pulled.map((probability) => Math.max(floor, probability));
      const total = raised.reduce((sum, probability) => sum + probability, 0);
      this.#probabilities[which] = raised.map((probability) => probability / total);
    }
  }

  protected override saveModel(): JsonValue {
    const saved: SavedModel = {
      strategy: this.#strategy.save(),
      probabilities: this.#probabilities,
      draws: [...this.#draws],
      population: this.#population,
      restarts: this.#restarts,
    };
    return saved as unknown as JsonValue;
  }

  protected override restoreModel(state: JsonValue): void {
    const saved = state as unknown as SavedModel;
    this.#strategy = new CmaEs({ state: saved.strategy });
    this.#probabilities = saved.probabilities;
    this.#draws = new Map(saved.draws);
    this.#population = saved.population;
    this.#restarts = saved.restarts;
  }
}

function readSettings(options: CmaEsSearchOptions) {
  return readOptions(options, { of: "a CmaEsSearch", options: OPTIONS });
}
