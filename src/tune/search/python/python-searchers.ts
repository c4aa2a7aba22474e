/**
 * The searchers of Python libraries: `OptunaSearch`, `HyperOptSearch`, `BayesianOptimizationSearch`, `AxSearch`, `NevergradSearch`.
 *
 * Each class lists its library's options, the number of metrics, and the class of `python/shoal/_searchers.py` that talks to it. Asks,
 * tells and continuing in another process are the same for all, in `python-search.ts`.
 */
import { callable, count, number, oneOf, plainObject, readOptions, text, texts } from "../../../core/internal.ts";
import type { JsonValue } from "../../trials/trial.ts";
import { PythonSearch, pythonSearchOptions, type PythonSearchOptions } from "./python-search.ts";
import type { SpaceFunction } from "../space-function.ts";

export interface OptunaSearchOptions extends PythonSearchOptions {
  /** A function that defines the space as it runs, in place of `paramSpace`, whose constants the configuration also has. */
  space?: SpaceFunction | undefined;
  /** Optuna's sampler. Default: `"tpe"`; with several metrics, too. */
  sampler?: "tpe" | "gp" | "cmaes" | "random" | "qmc" | "nsgaii" | "nsgaiii" | undefined;
  /** Keyword arguments of the sampler, by their names in Optuna: `{ n_startup_trials: 20 }`. */
  samplerOptions?: Readonly<Record<string, JsonValue>> | undefined;
  /** Place of Optuna's study: `"sqlite:///study.db"`. Default: in memory, and in the run's own state. */
  storage?: string | undefined;
  /** Name of the study in the storage; an existing one is continued. Needed with a storage. */
  studyName?: string | undefined;
}

/**
 * Optuna's samplers over conditional spaces, for one metric or several. `pip install optuna`.
 *
 * @example
 * new OptunaSearch({
 *   space: async (trial) => {
 *     const layers = await trial.suggest("layers", randint(1, 4));
 *     for (let layer = 0; layer < layers; layer++) await trial.suggest(`width${layer}`, lograndint(8, 257));
 *   },
 * });
 */
export class OptunaSearch extends PythonSearch {
  /** @throws TypeError, RangeError */
  constructor(options: OptunaSearchOptions = {}) {
    const {
      space,
      sampler,
      samplerOptions = {},
      storage,
      studyName,
    } = readOptions(options, {
      of: "an OptunaSearch",
      options: {
        ...pythonSearchOptions,
        space: callable<SpaceFunction>("a function of the trial is needed"),
        sampler: oneOf(["tpe", "gp", "cmaes", "random", "qmc", "nsgaii", "nsgaiii"], "tpe"),
        samplerOptions: plainObject<Readonly<Record<string, JsonValue>>>("an object of keyword arguments is needed"),
        storage: text<string | undefined>(undefined),
        studyName: text<string | undefined>(undefined),
      },
    });
    if (storage !== undefined && studyName === undefined)
      throw new TypeError("Cannot make an OptunaSearch: a study in a storage has a name, by which it is found again: set studyName");
    if (space !== undefined && options.evaluatedRewards !== undefined)
      throw new TypeError(
        "Cannot make an OptunaSearch: known results need a space that is known before: leave out evaluatedRewards, or give the space as paramSpace",
      );
    super(
      {
        name: "OptunaSearch",
        type: "optuna",
        className: space === undefined ? "OptunaSearcher" : "OptunaByFunctionSearcher",
        options: { sampler, samplerOptions, storage: storage ?? null, studyName: studyName ?? null },
        objectivesMax: 100,
        isStored: storage !== undefined,
        define: space,
      },
      options,
    );
  }
}

export interface HyperOptSearchOptions extends PythonSearchOptions {
  /** Trials at random before the model is used. Default: 20. */
  nInitialPoints?: number | undefined;
  /** How many trials are good: this times the square root of their number. Default: 0.25. */
  gamma?: number | undefined;
}

/** Hyperopt's tree-structured Parzen estimators. `pip install hyperopt setuptools`. */
export class HyperOptSearch extends PythonSearch {
  /** @throws TypeError, RangeError */
  constructor(options: HyperOptSearchOptions = {}) {
    const { nInitialPoints, gamma } = readOptions(options, {
      of: "a HyperOptSearch",
      options: {
        ...pythonSearchOptions,
        nInitialPoints: count({ min: 1 }, 20),
        gamma: number("a number above 0 and below 1 is needed", 0.25, (value) => value > 0 && value < 1),
      },
    });
    super(
      { name: "HyperOptSearch", type: "hyperopt", className: "HyperOptSearcher", options: { nInitialPoints, gamma }, objectivesMax: 1 },
      options,
    );
  }
}

export interface BayesianOptimizationSearchOptions extends PythonSearchOptions {
  /** Trials at random before the model is used. Default: 10. */
  randomSearchSteps?: number | undefined;
  /** The measure of a point: its upper confidence bound, its expected improvement or the probability of one. Default: `"ucb"`. */
  acquisition?: "ucb" | "ei" | "poi" | undefined;
  /** How many deviations of optimism the bound has, with `"ucb"`. Default: 2.576. */
  kappa?: number | undefined;
  /** Required improvement over the best point, with `"ei"` and `"poi"`. Default: 0. */
  xi?: number | undefined;
}

/** The Gaussian process of the package bayesian-optimization, over numbers. `pip install bayesian-optimization`. */
export class BayesianOptimizationSearch extends PythonSearch {
  /** @throws TypeError, RangeError */
  constructor(options: BayesianOptimizationSearchOptions = {}) {
    const fromZero = (fallback: number) => number("a number from 0 is needed", fallback, (value) => value >= 0 && value < 1e6);
    const { randomSearchSteps, acquisition, kappa, xi } = readOptions(options, {
      of: "a BayesianOptimizationSearch",
      otherNames: { utilityKwargs: "its kind, kappa and xi are acquisition, kappa and xi", randomState: "it is seed" },
      options: {
        ...pythonSearchOptions,
        randomSearchSteps: count({ min: 1 }, 10),
        acquisition: oneOf(["ucb", "ei", "poi"], "ucb"),
        kappa: fromZero(2.576),
        xi: fromZero(0),
      },
    });
    super(
      {
        name: "BayesianOptimizationSearch",
        type: "bayesian_optimization",
        className: "BayesianOptimizationSearcher",
        options: { randomSearchSteps, acquisition, kappa, xi },
        objectivesMax: 1,
      },
      options,
    );
  }
}

export interface AxSearchOptions extends PythonSearchOptions {
  /** Linear constraints of parameters at the top level of the space, in Ax's words: `["x + y <= 2", "x >= y"]`. */
  parameterConstraints?: readonly string[] | undefined;
  /** Bounds of further metrics of the results, which are not searched for: `["size <= 3"]`. A result without them teaches nothing. */
  outcomeConstraints?: readonly string[] | undefined;
}

const OUTCOME = /^\s*([^\s<>=]+)\s*([<>]=)\s*([-+]?[\d.]+(?:e[-+]?\d+)?)\s*$/i;

/** Ax's choice of methods, for one metric or several. `pip install ax-platform`. */
export class AxSearch extends PythonSearch {
  /** @throws TypeError, RangeError */
  constructor(options: AxSearchOptions = {}) {
    const constraints = texts("a list of texts is needed", []);
    const { parameterConstraints, outcomeConstraints } = readOptions(options, {
      of: "an AxSearch",
      options: { ...pythonSearchOptions, parameterConstraints: constraints, outcomeConstraints: constraints },
    });
    const outcomes = outcomeConstraints.map(readOutcome);
    if (outcomes.length > 0 && options.evaluatedRewards !== undefined)
      throw new TypeError("Cannot make an AxSearch: known results lack the metrics of outcomeConstraints: leave out evaluatedRewards");
    super(
      {
        name: "AxSearch",
        type: "ax",
        className: "AxSearcher",
        options: { parameterConstraints, outcomeBounds: outcomes.map(({ bound }) => bound) },
        objectivesMax: 100,
        outcomes: outcomes.map(({ metric }) => metric),
      },
      options,
    );
  }
}

/** The metric of an outcome constraint, and its bound: `<= 3`. */
function readOutcome(constraint: string): { readonly metric: string; readonly bound: string } {
  const [, metric, comparison, bound] = OUTCOME.exec(constraint) ?? [];
  if (metric === undefined || !Number.isFinite(Number(bound)))
    throw new RangeError(
      `Cannot make an AxSearch: an outcome constraint is a metric, <= or >=, and a number, such as "size <= 3": received ${JSON.stringify(constraint)}`,
    );
  return { metric, bound: `${comparison} ${Number(bound)}` };
}

export interface NevergradSearchOptions extends PythonSearchOptions {
  /** The name of an optimizer in Nevergrad's registry. Default: `"NGOpt"`. */
  optimizer?: string | undefined;
  /** How many trials there will be, which some optimizers use. */
  budget?: number | undefined;
}

/** Nevergrad's optimizers without gradients. `pip install nevergrad`. */
export class NevergradSearch extends PythonSearch {
  /** @throws TypeError, RangeError */
  constructor(options: NevergradSearchOptions = {}) {
    const { optimizer, budget } = readOptions(options, {
      of: "a NevergradSearch",
      options: { ...pythonSearchOptions, optimizer: text("NGOpt"), budget: count<number | undefined>({ min: 1 }, undefined) },
    });
    super(
      {
        name: "NevergradSearch",
        type: "nevergrad",
        className: "NevergradSearcher",
        options: { optimizer, budget: budget ?? null },
        objectivesMax: 100,
      },
      options,
    );
  }
}
