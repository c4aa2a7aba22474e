/**
 * `HyperBandScheduler`: brackets of trials, each halved at its milestones when all its trials have arrived there (Li et al. 2018).
 *
 * A band has a bracket for each trade between many short trials and few long ones; when a band is full the next begins. Trials at a milestone are paused, which
 * needs checkpoints, until the bracket is halved: the worse end and the better go on. Sizes, order and decisions are those of Ray's scheduler of this name.
 * `HyperBandForBOHB` changes which bracket is filled first and when one is halved.
 */
import { flag, readOptions, text } from "../../../core/internal.ts";
import type { Decision, SchedulerAction, SchedulerView, TrialScheduler, Verdict } from "../../scheduler.ts";
import { definitionOf } from "../../spaces/definition.ts";
import { numberAbove, numberFrom, oneMetric } from "../../options/shared-options.ts";
import type { Definition, JsonValue, Mode, Trial, TrialResult } from "../../trials/trial.ts";
import { HyperBandBracket, type SavedBracket } from "./hyperband-bracket.ts";
import { Objective } from "../objective.ts";
import { naturalLog, roundHalfEven } from "../rounding.ts";

export interface HyperBandSchedulerOptions {
  /** The key of results that counts progress. Default: `"trainingIteration"`. */
  timeAttr?: string;
  /** Default: the metric of `tuneConfig`. */
  metric?: string | undefined;
  /** Default: the mode of `tuneConfig`. */
  mode?: Mode | undefined;
  /** The last milestone. Default: 81. */
  maxT?: number;
  /** At each milestone, 1 of this many trials continues. Default: 3. */
  reductionFactor?: number;
  /** Whether trials end at `maxT`. Default: true. */
  stopLastTrials?: boolean;
}

const OPTIONS = {
  ...oneMetric,
  timeAttr: text("trainingIteration"),
  maxT: numberFrom(1, 81),
  reductionFactor: numberAbove(1, 3),
  stopLastTrials: flag(true),
};

const TRIALS_AHEAD = 16;

interface SavedScheduler {
  readonly bands: readonly (readonly (SavedBracket | null)[])[];
  readonly current: number | null;
  readonly bracketOf: readonly [string, number, number][];
}

export class HyperBandScheduler implements TrialScheduler {
  /** As many as Ray has pending: a bracket would be halved with the few trials that the machine has room for, long before it is full. */
  readonly asksAhead: number = TRIALS_AHEAD;
  readonly definition: Definition | undefined;
  readonly #options: ReturnType<typeof readSettings>;
  readonly #objective: Objective;
  /** A bracket that would begin at no iteration at all is left out: undefined. */
  #bands: (HyperBandBracket | undefined)[][] = [[]];
  /** The bracket that takes new trials. */
  #filling: HyperBandBracket | undefined;
  readonly #bracketOf = new Map<string, HyperBandBracket>();

  /** @throws TypeError, RangeError */
  constructor(options: HyperBandSchedulerOptions = {}, { name, type } = { name: "HyperBandScheduler", type: "hyperband" }) {
    this.#options = readSettings(options, name);
    this.definition = definitionOf(type, options);
    this.#objective = new Objective(name, this.#options);
  }

  /** How many brackets a band has. */
  protected get bandSize(): number {
    return roundHalfEven(naturalLog(this.#options.maxT) / naturalLog(this.#options.reductionFactor)) + 1;
  }

  /** How often the next bracket of a band is halved that has `filled` brackets. */
  protected halvingsOf(filled: number): number {
    return filled;
  }

  setSearchProperties(metric: string | undefined, mode: Mode | undefined): void {
    this.#objective.set(metric, mode);
  }

  onTrialAdd(trial: Trial): void {
    if (this.#filling === undefined || this.#filling.isFull()) this.#filling = this.#nextBracket();
    this.#filling.add(trial.id);
    this.#bracketOf.set(trial.id, this.#filling);
  }

  onTrialResult(trial: Trial, result: TrialResult, view: SchedulerView): Decision {
    const bracket = this.#bracketOf.get(trial.id);
    if (bracket === undefined || !bracket.has(trial.id)) return "continue";
    bracket.update(trial.id, this.#objective.require(trial.id, result));
    if (bracket.goesOn(trial.id)) return "continue";
    return this.decideAtMilestone(bracket, trial, view);
  }

  /** Decides about a trial that has reached its milestone, and about the other trials of the bracket. */
  protected decideAtMilestone(bracket: HyperBandBracket, trial: Trial, view: SchedulerView): Decision {
    return this.process(bracket, view, trial);
  }

  onTrialComplete(trial: Trial, _result: TrialResult | undefined, view: SchedulerView): readonly SchedulerAction[] {
    return this.onTrialRemove(trial, view);
  }

  onTrialError(trial: Trial, view: SchedulerView): readonly SchedulerAction[] {
    return this.onTrialRemove(trial, view);
  }

  onTrialRemove(trial: Trial, view: SchedulerView): readonly SchedulerAction[] {
    const bracket = this.#bracketOf.get(trial.id);
    this.#bracketOf.delete(trial.id);
    if (bracket === undefined || !bracket.has(trial.id)) return [];
    bracket.remove(trial.id);
    if (bracket.isFinished() || bracket.wasProcessed) return [];
    return this.process(bracket, view).actions;
  }

  chooseTrialToRun(view: SchedulerView): string | undefined {
    for (const band of this.#bands) {
      const brackets = band.filter((bracket) => bracket !== undefined);
      for (const bracket of this.orderOf(brackets)) {
        const chosen = waitingIn(bracket, view);
        if (chosen !== undefined) return chosen;
      }
    }
    return undefined;
  }

  /** The order in which brackets of a band get free resources: those that are behind first. */
  protected orderOf(brackets: readonly HyperBandBracket[]): readonly HyperBandBracket[] {
    const completions = new Map(brackets.map((bracket) => [bracket, bracket.completion()]));
    return [...brackets].sort((first, second) => (completions.get(first) as number) - (completions.get(second) as number));
  }

  /** Nothing runs and nothing can: brackets that wait for trials which will not come are halved with those that they have. */
  onIdle(view: SchedulerView): readonly SchedulerAction[] {
    for (const bracket of this.#bands.flat()) {
      if (bracket === undefined || ![...bracket.trialIds].some((trialId) => view.liveTrials.get(trialId)?.status === "paused")) continue;
      const { actions } = this.process(bracket, view);
      if (actions.length > 0 || waitingIn(bracket, view) !== undefined) return actions;
    }
    return [];
  }

  save(): JsonValue {
    const places = new Map<HyperBandBracket, [number, number]>();
    for (const [band, brackets] of this.#bands.entries())
      for (const [index, bracket] of brackets.entries()) if (bracket !== undefined) places.set(bracket, [band, index]);
    const saved: SavedScheduler = {
      bands: this.#bands.map((band) => band.map((bracket) => bracket?.save() ?? null)),
      current: this.#filling === undefined ? null : (places.get(this.#filling)?.[1] ?? null),
      bracketOf: [...this.#bracketOf].map(([trialId, bracket]) => [trialId, ...(places.get(bracket) as [number, number])]),
    };
    return saved as unknown as JsonValue;
  }

  restore(state: JsonValue): void {
    const saved = state as unknown as SavedScheduler;
    this.#bands = saved.bands.map((band) => band.map((bracket) => (bracket === null ? undefined : HyperBandBracket.restored(bracket))));
    this.#filling = saved.current === null ? undefined : this.#bands.at(-1)?.[saved.current];
    this.#bracketOf.clear();
    for (const [trialId, band, index] of saved.bracketOf) this.#bracketOf.set(trialId, this.#bands[band]?.[index] as HyperBandBracket);
  }

  /** Halves a bracket whose trials are all at its milestone. The verdict is that of the trial that has reported, if one has. */
  protected process(bracket: HyperBandBracket, view: SchedulerView, reporting?: Trial): { verdict: Verdict; actions: SchedulerAction[] } {
    const actions: SchedulerAction[] = [];
    const end = (trialId: string): Verdict => {
      bracket.remove(trialId);
      if (trialId === reporting?.id) return "stop";
      actions.push({ type: "stop", trialId });
      return verdict;
    };
    let verdict: Verdict = "pause";
    if (!bracket.isAtMilestone()) return { verdict, actions };
    if (bracket.isFinished()) {
      for (const trialId of bracket.trialIds)
        if (view.liveTrials.get(trialId)?.status === "paused" && trialId !== reporting?.id) end(trialId);
      return { verdict: "stop", actions };
    }
    bracket.wasProcessed = true;
    const { good, bad } = bracket.halve();
    for (const trialId of bad) verdict = end(trialId);
    for (const trialId of good) {
      if (bracket.goesOn(trialId)) {
        if (trialId === reporting?.id) verdict = "continue";
        else if (view.liveTrials.get(trialId)?.status === "paused") bracket.resume(trialId);
      } else if (bracket.isFinished()) verdict = end(trialId);
    }
    return { verdict, actions };
  }

  #nextBracket(): HyperBandBracket {
    const { maxT, reductionFactor, stopLastTrials } = this.#options;
    const size = this.bandSize;
    for (;;) {
      let band = this.#bands.at(-1) as (HyperBandBracket | undefined)[];
      if (band.length === size) this.#bands.push((band = []));
      const halvings = this.halvingsOf(band.length);
      const firstMilestone = Math.trunc(maxT * reductionFactor ** -halvings);
      const trialsMax = Math.ceil((size / (halvings + 1)) * reductionFactor ** halvings);
      if (firstMilestone === 0) {
        band.push(undefined);
        continue;
      }
      const bracket = new HyperBandBracket({ trialsMax, firstMilestone, maxT, reductionFactor, halvings, stopLastTrials });
      band.push(bracket);
      return bracket;
    }
  }
}

function readSettings(options: HyperBandSchedulerOptions, name: string) {
  return readOptions(options, { of: `a ${name}`, options: OPTIONS });
}

/** A trial of a bracket that has to run and fits. */
function waitingIn(bracket: HyperBandBracket, view: SchedulerView): string | undefined {
  for (const trialId of bracket.trialIds) {
    const trial = view.liveTrials.get(trialId);
    if (trial === undefined || !view.fits(trial)) continue;
    if (trial.status === "pending" || (trial.status === "paused" && bracket.isResuming(trialId))) return trialId;
  }
  return undefined;
}
