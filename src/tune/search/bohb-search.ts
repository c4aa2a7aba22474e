/**
 * `BOHBSearch`: densities of good and bad trials at the largest budget with enough results, for `HyperBandForBOHB` (Falkner et al. 2018).
 *
 * Each result of a trial counts at the budget at which it was reported, so early results steer the search until there are enough of trials that ran longer. Trials that have
 * not come to that budget count as bad there, which the paper leaves out: most are stopped before, and those that run or wait would otherwise be proposed again. The paper
 * calls more trials good, at least as many as there are places and one, and draws a third at random: that finds the region, and seldom the bottom. A part of the configurations stays
 * random, so that every place is tried in the end.
 */
import { count, number, readOptions, text } from "../../core/internal.ts";
import type { JsonValue, TrialResult } from "../trials/trial.ts";
import type { UnitPoint } from "./numbers/axes.ts";
import { proposeByDensities, type Sample } from "./density/density-proposal.ts";
import { modelSearchOptions, type ModelSearchOptions } from "../options/shared-options.ts";
import { ModelSearch, type Observation } from "./model-search.ts";

export interface BOHBSearchOptions extends ModelSearchOptions {
  /** The key of results that counts the budget. Default: `"trainingIteration"`. */
  timeAttr?: string | undefined;
  /** Results at one budget before it is used. Default: the number of places in the space, and one. */
  minPointsInModel?: number | undefined;
  /** The percentage of results that is good, of two at least. Default: 10. */
  topNPercent?: number | undefined;
  /** Candidates of which the best is proposed. Default: 64. */
  numSamples?: number | undefined;
  /** The part of configurations that stays random. Default: a tenth. */
  randomFraction?: number | undefined;
}

const OPTIONS = {
  ...modelSearchOptions,
  timeAttr: text("trainingIteration"),
  minPointsInModel: count<number | undefined>({ min: 1 }, undefined),
  topNPercent: number("a number above 0 and below 100 is needed", 10, (value) => value > 0 && value < 100),
  numSamples: count({ min: 1, max: 10_000 }, 64),
  randomFraction: number("a number from 0 to 1 is needed", 0.1, (value) => value >= 0 && value <= 1),
};

/** A single good trial would be followed blindly. */
const GOOD_MIN = 2;
/** The budget of results that were known before the run. A number that JSON has. */
const WHOLE_BUDGET = Number.MAX_VALUE;

/** A trial's point and loss at one budget. */
interface Partial extends Sample {
  readonly loss: number;
}

export class BOHBSearch extends ModelSearch {
  readonly #settings: ReturnType<typeof readSettings>;
  /** Results by budget, and there by the number of the trial. */
  #budgets = new Map<number, Map<number, Partial>>();

  constructor(options: BOHBSearchOptions = {}) {
    const settings = readSettings(options);
    super({ name: "BOHBSearch", type: "bohb" }, options);
    this.#settings = settings;
  }

  protected override prepare(): void {
    this.#budgets = new Map();
  }

  override onTrialResult(trialId: string, result: TrialResult): void {
    const trial = this.pending.get(trialId);
    const loss = this.lossesOf(result)?.[0];
    const budget = (result as Record<string, unknown>)[this.#settings.timeAttr];
    if (trial !== undefined && loss !== undefined && typeof budget === "number") this.#record(budget, { ...trial, loss });
  }

  override onTrialComplete(trialId: string, result?: TrialResult, error?: boolean): void {
    if (result !== undefined && error !== true) this.onTrialResult(trialId, result);
    super.onTrialComplete(trialId, result, error);
  }

  #record(budget: number, partial: Partial): void {
    let results = this.#budgets.get(budget);
    if (results === undefined) this.#budgets.set(budget, (results = new Map()));
    results.set(partial.number, partial);
  }

  /** Points whose results were known before the run count as trials that ran to the end. */
  protected override learn({ number: trial, point, losses }: Observation): void {
    if (this.#isKnown(trial)) return;
    this.#record(WHOLE_BUDGET, { number: trial, point, loss: losses[0] as number });
  }

  #isKnown(trial: number): boolean {
    return [...this.#budgets.values()].some((results) => results.has(trial));
  }

  protected override propose(): UnitPoint {
    const { minPointsInModel, topNPercent, numSamples, randomFraction } = this.#settings;
    const needed = minPointsInModel ?? this.axes.length + 1;
    const budget = [...this.#budgets.keys()].filter((each) => (this.#budgets.get(each)?.size ?? 0) > needed + 1).sort((a, b) => b - a)[0];
    if (this.random.next() < randomFraction || budget === undefined) return this.randomPoint();
    const reached = this.#budgets.get(budget) as Map<number, Partial>;
    const ranked = [...reached.values()].sort((first, second) => first.loss - second.loss);
    const goodCount = Math.max(GOOD_MIN, Math.floor((topNPercent * ranked.length) / 100));
    const atLeast = [...this.#budgets].filter(([each]) => each >= budget).map(([, results]) => results);
    const behind = [...this.observations, ...this.pending.values()].filter(
      (trial) => !atLeast.some((results) => results.has(trial.number)),
    );
    const byNumber = (first: Sample, second: Sample) => first.number - second.number;
    return proposeByDensities(
      {
        axes: this.axes,
        good: ranked.slice(0, goodCount).sort(byNumber),
        bad: [...ranked.slice(goodCount), ...behind].sort(byNumber),
        candidateCount: numSamples,
        isJoint: true,
        goodFades: false,
      },
      this.random,
    );
  }

  protected override saveModel(): JsonValue {
    return [...this.#budgets].map(([budget, results]) => [budget, [...results.values()] as unknown as JsonValue]);
  }

  protected override restoreModel(state: JsonValue): void {
    const saved = state as unknown as [number, Partial[]][];
    this.#budgets = new Map(saved.map(([budget, results]) => [budget, new Map(results.map((partial) => [partial.number, partial]))]));
  }
}

function readSettings(options: BOHBSearchOptions) {
  return readOptions(options, { of: "a BOHBSearch", options: OPTIONS });
}
