/**
 * A search with a scheduler that halves, over `CURVE`, without processes: some places, in each of which a trial takes a step in turn.
 *
 * The run treats searcher and scheduler as the loop of Tune does, and ends when all its steps are used up.
 */
import type { ModelSearch } from "../../src/tune/search/model-search.ts";
import type { Decision, SchedulerAction, SchedulerView, TrialScheduler } from "../../src/tune/scheduler.ts";
import type { Trial, TrialResult } from "../../src/tune/trials/trial.ts";
import { type Config, CURVE, CURVE_STEPS } from "./search-problems.ts";

const PLACES = 4;

type MutableTrial = { -readonly [K in keyof Trial]: Trial[K] } & { steps: number };

class HalvingRun implements SchedulerView {
  readonly liveTrials = new Map<string, MutableTrial>();
  readonly isSearching = true;
  readonly clusterResources = {};
  readonly #search: ModelSearch;
  readonly #scheduler: TrialScheduler;
  #asked = 0;
  best = Number.POSITIVE_INFINITY;

  constructor(search: ModelSearch, scheduler: TrialScheduler) {
    this.#search = search;
    this.#scheduler = scheduler;
    search.setSearchProperties("loss", "min", CURVE.space);
    scheduler.setSearchProperties("loss", "min");
  }

  fits(): boolean {
    return true;
  }

  /** Takes steps until there have been so many. */
  run(steps: number): void {
    for (let left = steps; left > 0; ) {
      this.#fill();
      for (const trial of this.#having("running")) {
        this.#step(trial);
        left -= 1;
      }
    }
  }

  #having(status: Trial["status"]): MutableTrial[] {
    return [...this.liveTrials.values()].filter((trial) => trial.status === status);
  }

  #fill(): void {
    while (this.#having("running").length < PLACES) {
      if (this.#having("pending").length === 0) this.#add();
      const id = this.#scheduler.chooseTrialToRun(this);
      const chosen = id === undefined ? undefined : this.liveTrials.get(id);
      if (chosen === undefined) return;
      chosen.status = "running";
    }
  }

  #add(): void {
    const id = `t${this.#asked}`;
    const config = this.#search.suggest(id) as Config;
    const resources = { bundles: [{ CPU: 1 }], strategy: "PACK" } as const;
    const trial: MutableTrial = {
      id,
      name: id,
      index: this.#asked,
      status: "pending",
      config,
      resources,
      lastResult: undefined,
      hasCheckpoint: true,
      steps: 0,
    };
    this.#asked += 1;
    this.liveTrials.set(id, trial);
    this.#scheduler.onTrialAdd(trial, this);
  }

  #step(trial: MutableTrial): void {
    trial.steps += 1;
    const loss = CURVE.regretAt(trial.config as Config, trial.steps);
    if (trial.steps === CURVE_STEPS) this.best = Math.min(this.best, loss);
    const result = { loss, trainingIteration: trial.steps } as unknown as TrialResult;
    trial.lastResult = result;
    this.#search.onTrialResult(trial.id, result);
    const { verdict, actions } = plain(this.#scheduler.onTrialResult(trial, result, this));
    for (const action of actions) if (action.type === "stop") this.#end(action.trialId);
    if (verdict === "pause") trial.status = "paused";
    if (verdict === "stop") this.#end(trial.id);
  }

  #end(trialId: string): void {
    const trial = this.liveTrials.get(trialId);
    if (trial === undefined) return;
    const wasRunning = trial.status === "running";
    trial.status = "terminated";
    this.liveTrials.delete(trialId);
    const actions = wasRunning
      ? this.#scheduler.onTrialComplete(trial, trial.lastResult, this)
      : this.#scheduler.onTrialRemove(trial, this);
    this.#search.onTrialComplete(trialId, trial.lastResult);
    for (const action of actions ?? []) if (action.type === "stop") this.#end(action.trialId);
  }
}

function plain(decision: Decision): { verdict: string; actions: readonly SchedulerAction[] } {
  return typeof decision === "string" ? { verdict: decision, actions: [] } : decision;
}

/** The best regret of a trial that ran to its end, after as many steps as `trials` of these have. */
export function bestOfHalving({ search, scheduler, trials }: { search: ModelSearch; scheduler: TrialScheduler; trials: number }): number {
  const run = new HalvingRun(search, scheduler);
  run.run(trials * CURVE_STEPS);
  return run.best;
}
