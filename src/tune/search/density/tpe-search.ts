/**
 * `TPESearch`: proposes where good trials are dense and others are not (Bergstra et al. 2011; Falkner et al. 2018; Ozaki et al. 2020).
 *
 * The trials are split into the best tenth, 25 at most, and the rest. A density is estimated of each, candidates are drawn from that of the good, and the one with the
 * largest ratio of both densities is proposed. Places that count under the same condition are drawn together, or each for itself where
 * `multivariate` is false. Trials that run count as bad ones ("constant liar"), so that parallel asks spread. With several metrics, fronts and the volume that
 * they dominate say what is good. The defaults are those of Optuna's TPESampler.
 */
import { callable, count, custom, flag, readOptions } from "../../../core/internal.ts";
import type { UnitPoint } from "../numbers/axes.ts";
import { proposeByDensities, type Sample } from "./density-proposal.ts";
import { modelSearchOptions, type ModelSearchOptions } from "../../options/shared-options.ts";
import { ModelSearch, type Observation } from "../model-search.ts";
import { bestOf, compareLosses, FrontCover } from "../numbers/pareto.ts";

export interface TPESearchOptions extends ModelSearchOptions {
  /** Trials at random before the model is used. Default: 10. */
  nStartupTrials?: number | undefined;
  /** Candidates of which the best is proposed. Default: 24. */
  nEiCandidates?: number | undefined;
  /** Whether places are drawn together. Default: with one metric they are, with several they are not. */
  multivariate?: boolean | undefined;
  /** Whether running trials count as bad ones. Default: true. */
  constantLiar?: boolean | undefined;
  /** How many of `n` trials are good. Default: a tenth, 25 at most with one metric. */
  gamma?: ((n: number) => number) | undefined;
}

const OPTIONS = {
  ...modelSearchOptions,
  nStartupTrials: count({ min: 0 }, 10),
  nEiCandidates: count({ min: 1, max: 10_000 }, 24),
  multivariate: custom<boolean | undefined>("true or false is needed", undefined, (value) =>
    typeof value === "boolean" ? "ok" : "wrong type",
  ),
  constantLiar: flag(true),
  gamma: callable<(n: number) => number>("a function of the number of trials is needed"),
};

const GOOD_PART = 0.1;
const GOOD_MAX = 25;

export class TPESearch extends ModelSearch {
  readonly #settings: ReturnType<typeof readSettings>;
  /** Indexes of `observations` from the best to the worst; with several metrics by the first, then by the second, and so on. */
  #ranking: number[] = [];
  #cover = new FrontCover();

  constructor(options: TPESearchOptions = {}) {
    const settings = readSettings(options);
    super({ name: "TPESearch", type: "tpe", objectivesMax: 100 }, options);
    this.#settings = settings;
  }

  protected override prepare(): void {
    this.#ranking = [];
    this.#cover = new FrontCover();
  }

  protected override learn({ losses }: Observation): void {
    let from = 0;
    let to = this.#ranking.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const { losses: others } = this.observations[this.#ranking[middle] as number] as Observation;
      if (compareLosses(others, losses) <= 0) from = middle + 1;
      else to = middle;
    }
    this.#ranking.splice(from, 0, this.observations.length - 1);
  }

  protected override propose(): UnitPoint {
    if (this.observations.length < this.#settings.nStartupTrials) return this.randomPoint();
    const isSingle = this.objectiveCount === 1;
    return proposeByDensities(
      {
        axes: this.axes,
        ...this.#split(),
        candidateCount: this.#settings.nEiCandidates,
        isJoint: this.#settings.multivariate ?? isSingle,
        // With several objectives, old good trials keep their weight: a Pareto front has no order of time.
        goodFades: isSingle,
      },
      this.random,
    );
  }

  /** The good and the bad trials, each from the oldest to the newest. */
  #split(): { good: Sample[]; bad: Sample[] } {
    const total = this.observations.length;
    const goodMax = this.objectiveCount > 1 ? total : GOOD_MAX;
    const wanted = this.#settings.gamma?.(total) ?? Math.min(goodMax, Math.ceil(GOOD_PART * total));
    const goodCount = Math.max(0, Math.min(total, wanted));
    const chosen = new Set(
      this.objectiveCount > 1
        ? bestOf(
            this.observations.map(({ losses }) => losses),
            goodCount,
            { ordered: this.#ranking, cover: this.#cover },
          )
        : this.#ranking.slice(0, goodCount),
    );
    const byNumber = (first: Sample, second: Sample) => first.number - second.number;
    const good: Sample[] = [];
    const bad: Sample[] = [];
    for (const [index, observation] of this.observations.entries()) (chosen.has(index) ? good : bad).push(observation);
    if (this.#settings.constantLiar) bad.push(...this.pending.values());
    return { good: good.sort(byNumber), bad: bad.sort(byNumber) };
  }
}

function readSettings(options: TPESearchOptions) {
  return readOptions(options, { of: "a TPESearch", options: OPTIONS });
}
