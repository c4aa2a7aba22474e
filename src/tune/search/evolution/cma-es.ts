/**
 * CMA-ES: a normal distribution that moves, stretches and turns towards where samples are good (Hansen, "The CMA Evolution Strategy: A Tutorial", 2016).
 *
 * The numbers of equations below are those of the tutorial. Active covariance update, cumulative step size, default weights and rates. Points may come from an earlier
 * distribution or from elsewhere: their steps are cut to a plausible length first (Hansen 2011, "Injecting external solutions"), so that parallel and late
 * results do no harm. State is plain data. Called by `CmaEsSearch`, which keeps points within bounds.
 */
import type { Random } from "../../spaces/random.ts";
import { eigen } from "../numbers/matrix.ts";

export interface Evaluated {
  readonly vector: readonly number[];
  readonly loss: number;
  /** Whether the vector was drawn from the present distribution. */
  readonly isOwn: boolean;
}

export interface CmaEsState {
  populationSize: number;
  generation: number;
  sigma: number;
  mean: number[];
  covariance: number[];
  sigmaPath: number[];
  covariancePath: number[];
}

interface Constants {
  readonly weights: readonly number[];
  readonly parents: number;
  readonly effective: number;
  readonly sigmaRate: number;
  readonly damping: number;
  readonly pathRate: number;
  readonly rankOne: number;
  readonly rankMu: number;
  /** The mean length of a standard normal vector. */
  readonly expectedLength: number;
}

/** Below this spread on its widest axis of length 1, and above this condition number, a distribution has converged. */
const SPREAD_MIN = 1e-10;
const CONDITION_MAX = 1e14;

/** The population that the tutorial advises for a dimension (eq. 48). */
export function defaultPopulation(dimension: number): number {
  return 4 + Math.floor(3 * Math.log(dimension));
}

export class CmaEs {
  readonly #dimension: number;
  #state: CmaEsState;
  #constants: Constants;
  #axes: { vectors: Float64Array; lengths: Float64Array } | undefined;

  constructor(start: { mean: readonly number[]; sigma: number; populationSize?: number | undefined } | { state: CmaEsState }) {
    if ("state" in start) {
      this.#state = structuredClone(start.state);
    } else {
      const size = start.mean.length;
      this.#state = {
        populationSize: start.populationSize ?? defaultPopulation(size),
        generation: 0,
        sigma: start.sigma,
        mean: [...start.mean],
        covariance: Array.from({ length: size * size }, (_, index) => (index % (size + 1) === 0 ? 1 : 0)),
        sigmaPath: new Array<number>(size).fill(0),
        covariancePath: new Array<number>(size).fill(0),
      };
    }
    this.#dimension = this.#state.mean.length;
    this.#constants = constantsOf(this.#dimension, this.#state.populationSize);
  }

  get populationSize(): number {
    return this.#state.populationSize;
  }

  get generation(): number {
    return this.#state.generation;
  }

  /** Weights of a generation from its best sample to its worst; only positive ones pull the mean. */
  get weights(): readonly number[] {
    return this.#constants.weights;
  }

  save(): CmaEsState {
    return structuredClone(this.#state);
  }

  /** The standard deviation along a coordinate. */
  spread(coordinate: number): number {
    return this.#state.sigma * Math.sqrt(this.#state.covariance[coordinate * (this.#dimension + 1)] as number);
  }

  hasConverged(): boolean {
    const { lengths } = this.#decompose();
    const longest = Math.max(...lengths);
    const shortest = Math.min(...lengths);
    return this.#state.sigma * longest < SPREAD_MIN || (longest / shortest) ** 2 > CONDITION_MAX;
  }

  /** Draws a vector. */
  sample(random: Random): number[] {
    const { vectors, lengths } = this.#decompose();
    const steps = Array.from(lengths, (length) => length * random.normal());
    return this.#state.mean.map((mean, row) => mean + this.#state.sigma * dot(vectors, row * this.#dimension, steps));
  }

  /** Learns from a whole population. */
  update(population: readonly Evaluated[]): void {
    const state = this.#state;
    const { sigmaRate, damping, effective, expectedLength, weights, parents } = this.#constants;
    const ranked = [...population].sort((first, second) => first.loss - second.loss);
    const steps = ranked.map((each) => this.#stepTo(each));
    const towards = state.mean.map((_, axis) =>
      sum(parents, (rank) => (weights[rank] as number) * ((steps[rank] as number[])[axis] as number)),
    );
    state.mean = state.mean.map((mean, axis) => mean + state.sigma * (towards[axis] as number));
    // Equations 43 and 44: a path longer than chance explains means that steps are too short.
    const whitened = this.#whiten(towards);
    const sigmaGain = Math.sqrt(sigmaRate * (2 - sigmaRate) * effective);
    state.sigmaPath = state.sigmaPath.map((path, axis) => (1 - sigmaRate) * path + sigmaGain * (whitened[axis] as number));
    const pathLength = Math.hypot(...state.sigmaPath);
    state.generation += 1;
    const isPathPlausible =
      pathLength / Math.sqrt(1 - (1 - sigmaRate) ** (2 * (state.generation + 1))) < (1.4 + 2 / (this.#dimension + 1)) * expectedLength;
    const whitenedLengths = steps.map((step) => Math.hypot(...this.#whiten(step)));
    this.#adaptCovariance({ steps, towards, whitenedLengths, isPathPlausible });
    state.sigma = Math.min(state.sigma * Math.exp((sigmaRate / damping) * (pathLength / expectedLength - 1)), 1e6);
    this.#axes = undefined;
  }

  /** Equations 45 to 47. */
  #adaptCovariance(learnt: { steps: number[][]; towards: number[]; whitenedLengths: number[]; isPathPlausible: boolean }): void {
    const { steps, towards, whitenedLengths, isPathPlausible } = learnt;
    const state = this.#state;
    const size = this.#dimension;
    const { pathRate, effective, rankOne, rankMu, weights } = this.#constants;
    const pathGain = isPathPlausible ? Math.sqrt(pathRate * (2 - pathRate) * effective) : 0;
    state.covariancePath = state.covariancePath.map((path, axis) => (1 - pathRate) * path + pathGain * (towards[axis] as number));
    const lost = isPathPlausible ? 0 : pathRate * (2 - pathRate);
    const kept = 1 + rankOne * lost - rankOne - rankMu * weights.reduce((total, weight) => total + weight, 0);
    // A bad step pushes by its direction, not by its length, so that the matrix stays positive definite.
    const factors = weights.map((weight, rank) =>
      weight >= 0 ? weight : (weight * size) / ((whitenedLengths[rank] as number) ** 2 + 1e-8),
    );
    for (let row = 0; row < size; row += 1) {
      for (let column = 0; column <= row; column += 1) {
        const outer = sum(steps.length, (rank) => {
          const step = steps[rank] as number[];
          return (factors[rank] as number) * (step[row] as number) * (step[column] as number);
        });
        const path = (state.covariancePath[row] as number) * (state.covariancePath[column] as number);
        const value = kept * (state.covariance[row * size + column] as number) + rankOne * path + rankMu * outer;
        state.covariance[row * size + column] = value;
        state.covariance[column * size + row] = value;
      }
    }
  }

  /** The step from the mean to a vector, in units of sigma. */
  #stepTo({ vector, isOwn }: Evaluated): number[] {
    const step = vector.map((value, axis) => (value - (this.#state.mean[axis] as number)) / this.#state.sigma);
    if (isOwn) return step;
    const length = Math.hypot(...this.#whiten(step));
    const longest = Math.sqrt(this.#dimension) + (2 * this.#dimension) / (this.#dimension + 2);
    return length <= longest ? step : step.map((value) => (value * longest) / length);
  }

  /** A step as it would be if the distribution were round. */
  #whiten(step: readonly number[]): number[] {
    const { vectors, lengths } = this.#decompose();
    const size = this.#dimension;
    const turned = Array.from(
      lengths,
      (length, column) => sum(size, (row) => (vectors[row * size + column] as number) * (step[row] as number)) / length,
    );
    return step.map((_, row) => dot(vectors, row * size, turned));
  }

  #decompose(): { vectors: Float64Array; lengths: Float64Array } {
    if (this.#axes === undefined) {
      const { values, vectors } = eigen(Float64Array.from(this.#state.covariance), this.#dimension);
      this.#axes = { vectors, lengths: values.map((value) => Math.sqrt(value > 0 ? value : 1e-16)) };
    }
    return this.#axes;
  }
}

/** Equations 49 to 58. */
function constantsOf(size: number, population: number): Constants {
  const parents = Math.floor(population / 2);
  const raw = Array.from({ length: population }, (_, rank) => Math.log((population + 1) / 2) - Math.log(rank + 1));
  const effectiveOf = (some: readonly number[]) => some.reduce((a, b) => a + b, 0) ** 2 / some.reduce((a, b) => a + b * b, 0);
  const effective = effectiveOf(raw.slice(0, parents));
  const effectiveBad = effectiveOf(raw.slice(parents));
  const rankOne = 2 / ((size + 1.3) ** 2 + effective);
  const rankMu = Math.min(1 - rankOne - 1e-8, (2 * (effective - 2 + 1 / effective)) / ((size + 2) ** 2 + effective));
  const badTotal = Math.min(1 + rankOne / rankMu, 1 + (2 * effectiveBad) / (effective + 2), (1 - rankOne - rankMu) / (size * rankMu));
  const goodSum = raw.reduce((total, weight) => total + Math.max(0, weight), 0);
  const badSum = raw.reduce((total, weight) => total + Math.max(0, -weight), 0);
  const sigmaRate = (effective + 2) / (size + effective + 5);
  return {
    weights: raw.map((weight) => (weight >= 0 ? weight / goodSum : (badTotal * weight) / badSum)),
    parents,
    effective,
    sigmaRate,
    damping: 1 + 2 * Math.max(0, Math.sqrt((effective - 1) / (size + 1)) - 1) + sigmaRate,
    pathRate: (4 + effective / size) / (size + 4 + (2 * effective) / size),
    rankOne,
    rankMu,
    expectedLength: Math.sqrt(size) * (1 - 1 / (4 * size) + 1 / (21 * size ** 2)),
  };
}

function dot(matrix: Float64Array, start: number, vector: readonly number[]): number {
  return sum(vector.length, (index) => (matrix[start + index] as number) * (vector[index] as number));
}

function sum(count: number, term: (index: number) => number): number {
  let total = 0;
  for (let index = 0; index < count; index += 1) total += term(index);
  return total;
}
