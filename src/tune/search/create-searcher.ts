/** `createSearcher`: a searcher by its name in Ray, for `tuneConfig.searchAlg` and for runs that are restored. */
import { describeValue, isPlainObject } from "../../core/internal.ts";
import type { Searcher } from "../searcher.ts";
import { BasicVariantGenerator } from "./basic-variant-generator.ts";
import { BayesOptSearch } from "./gaussian/bayes-opt-search.ts";
import { BOHBSearch } from "./bohb-search.ts";
import { CmaEsSearch } from "./evolution/cma-es-search.ts";
import { ConcurrencyLimiter, type ConcurrencyLimiterOptions } from "./concurrency-limiter.ts";
import { AxSearch, BayesianOptimizationSearch, HyperOptSearch, NevergradSearch, OptunaSearch } from "./python/python-searchers.ts";
import { Repeater } from "./repeater.ts";
import { TPESearch } from "./density/tpe-search.ts";

type Options = Record<string, unknown>;

const SEARCHERS = {
  random: (options: Options) => new BasicVariantGenerator(options),
  variant_generator: (options: Options) => new BasicVariantGenerator(options),
  tpe: (options: Options) => new TPESearch(options),
  bayesopt: (options: Options) => new BayesOptSearch(options),
  cmaes: (options: Options) => new CmaEsSearch(options),
  bohb: (options: Options) => new BOHBSearch(options),
  optuna: (options: Options) => new OptunaSearch(options),
  hyperopt: (options: Options) => new HyperOptSearch(options),
  bayesian_optimization: (options: Options) => new BayesianOptimizationSearch(options),
  ax: (options: Options) => new AxSearch(options),
  nevergrad: (options: Options) => new NevergradSearch(options),
  concurrency_limiter: ({ searcher, ...options }: Options) =>
    new ConcurrencyLimiter(inner(searcher), options as unknown as ConcurrencyLimiterOptions),
  repeater: ({ searcher, ...options }: Options) => new Repeater(inner(searcher), options),
} as const;

/** Names of searchers. */
export type SearcherName = keyof typeof SEARCHERS;

/**
 * Makes a searcher by name.
 *
 * @example
 * ```ts
 * const searcher = createSearcher("tpe", { seed: 1 });
 * ```
 * @throws RangeError for an unknown name; errors of the searcher's constructor for options
 */
export function createSearcher(name: SearcherName | (string & {}), options: Readonly<Record<string, unknown>> = {}): Searcher {
  const make = Object.hasOwn(SEARCHERS, name.toLowerCase()) ? SEARCHERS[name.toLowerCase() as SearcherName] : undefined;
  if (make === undefined)
    throw new RangeError(`Cannot create a searcher: there are ${Object.keys(SEARCHERS).join(", ")}: received ${describeValue(name)}`);
  return make(options);
}

/** The searcher inside of another, by its definition. */
function inner(definition: unknown): Searcher {
  const { type, options } = isPlainObject(definition) ? (definition as { type?: unknown; options?: unknown }) : {};
  if (typeof type !== "string")
    throw new TypeError(
      `Cannot create a searcher: one that has another inside needs its definition as searcher: received ${describeValue(definition)}`,
    );
  return createSearcher(type, isPlainObject(options) ? options : {});
}
