/**
 * `PopulationBasedTraining`: trials in the worst part of a population continue from checkpoints of the best, with changed configurations
 * (Jaderberg et al. 2017).
 *
 * Each trial is looked at whenever `perturbationInterval` has passed since the last time. In the best quantile it saves a checkpoint; in the worst it exploits a random
 * trial of the best that has saved one. Synchronously, trials wait for each other and are looked at together. Decisions are those of Ray's scheduler
 * of this name: whom and when exactly; the draws are from the same donors, lists and factors. `PB2` chooses new configurations by a model instead.
 */
import { callable, custom, flag, number, readOptions, text } from "../../../core/internal.ts";
import { definitionOf } from "../../spaces/definition.ts";
import { Random, type RandomState } from "../../spaces/random.ts";
import type { Decision, SchedulerAction, SchedulerView, TrialScheduler } from "../../scheduler.ts";
import { numberAbove, numberFrom, oneMetric, seed } from "../../options/shared-options.ts";
import type { Config, Definition, JsonValue, Mode, Trial, TrialResult } from "../../trials/trial.ts";
import { checkMutations, drawMutation, explore, type Mutations } from "./explore.ts";
import { minuteOf, Objective } from "../objective.ts";

export interface PopulationOptions {
  /** The key of results that counts progress. Default: `"timeTotalMs"`. */
  timeAttr?: string;
  /** Default: the metric of `tuneConfig`. */
  metric?: string | undefined;
  /** Default: the mode of `tuneConfig`. */
  mode?: Mode | undefined;
  /** A trial is looked at this often. Default: a minute, or 60 where something else than time is counted. */
  perturbationInterval?: number | undefined;
  /** The part of the population that is best, and that is worst. Default: 0.25. */
  quantileFraction?: number;
  /** Changes a new configuration once more. */
  customExploreFn?: ((config: Config) => Config) | undefined;
  /** Whether exploits are written into the run's folder: to `pbt_policy_<trial>.txt`, which `PopulationBasedTrainingReplay` reads, and all to `pbt_global.txt`. Default: true. */
  logConfig?: boolean;
  /** Whether a result without the metric or `timeAttr` is an error. Default: true. */
  requireAttrs?: boolean;
  /** Whether trials wait for each other. Default: false. */
  synch?: boolean;
  seed?: number | undefined;
}

export interface PopulationBasedTrainingOptions extends PopulationOptions {
  /** No trial is looked at before. Default: 0. */
  burnInPeriod?: number;
  /** Hyperparameters to mutate, each with a source of new values: a list, a domain, a function, or an object of these. */
  hyperparamMutations?: Mutations | undefined;
  /** Probability that a value is drawn again instead of moved. Default: 0.25. */
  resampleProbability?: number;
  /** Default: 1.2 and 0.8. */
  perturbationFactors?: readonly number[];
}

export const POPULATION_OPTIONS = {
  ...oneMetric,
  timeAttr: text("timeTotalMs"),
  perturbationInterval: numberAbove(0, undefined),
  quantileFraction: number("a number from 0 to 0.5 is needed", 0.25, (value) => value >= 0 && value <= 0.5),
  customExploreFn: callable<(config: Config) => Config>("a function of a configuration is needed"),
  logConfig: flag(true),
  requireAttrs: flag(true),
  synch: flag(false),
  seed: seed(),
};

const OPTIONS = {
  ...POPULATION_OPTIONS,
  burnInPeriod: numberFrom(0, 0),
  hyperparamMutations: custom<Mutations | undefined>("an object of lists, domains or functions is needed", undefined, (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? "ok" : "wrong type",
  ),
  resampleProbability: number("a number from 0 to 1 is needed", 0.25, (value) => value >= 0 && value <= 1),
  perturbationFactors: custom<readonly number[]>("a list of numbers is needed", [1.2, 0.8], (value) =>
    Array.isArray(value) && value.length > 0 && value.every((factor) => typeof factor === "number" && Number.isFinite(factor))
      ? "ok"
      : "wrong type",
  ),
};

/** A trial that has exploited so often in a row lets other trials as old go first. */
const EXPLOITS_IN_A_ROW = 20;

/** State of a trial in the population. */
interface Member {
  /** At the last look. */
  score: number | null;
  /** Whether the trial has to have a checkpoint from the last look, as one of the best. */
  isDonor: boolean;
  lastPerturbation: number;
  lastTrainTime: number;
  /** Number of consecutive exploits of the trial, each of which continues it from another's checkpoint. */
  exploits: number;
}

/** A configuration for a trial that exploits another. */
export interface Exploit {
  readonly trial: Trial;
  readonly donor: Trial;
  /** Progress of the reporting trial. */
  readonly time: number;
}

interface Quantiles {
  readonly lower: readonly Trial[];
  readonly upper: readonly Trial[];
}

/** Name for messages and type for the definition of a scheduler of this family. */
interface PopulationKind {
  readonly name: string;
  readonly type: string;
}

export class PopulationBasedTraining implements TrialScheduler {
  /** Trials that wait are trained in turn: without them the first ones would train to their end. */
  readonly asksAhead: boolean = true;
  readonly definition: Definition | undefined;
  protected readonly random: Random;
  protected readonly objective: Objective;
  readonly #settings: ReturnType<typeof readSettings>;
  readonly #interval: number;
  readonly #members = new Map<string, Member>();
  /** Synchronously: the time at which the population is looked at next. */
  #nextSync: number;

  /** @throws TypeError, RangeError */
  constructor(options: PopulationBasedTrainingOptions = {}, kind: PopulationKind = { name: "PopulationBasedTraining", type: "pbt" }) {
    this.#settings = readSettings(options, kind.name);
    const { hyperparamMutations, customExploreFn, timeAttr } = this.#settings;
    if (Object.keys(hyperparamMutations ?? {}).length === 0 && customExploreFn === undefined)
      throw new TypeError(`Cannot make a ${kind.name}: nothing would change: give hyperparamMutations, customExploreFn, or both`);
    checkMutations(hyperparamMutations ?? {}, kind.name);
    this.definition = definitionOf(kind.type, options);
    this.#interval = this.#settings.perturbationInterval ?? minuteOf(timeAttr);
    this.random = new Random(this.#settings.seed);
    this.objective = new Objective(kind.name, this.#settings);
    this.#nextSync = Math.max(this.#interval, this.#settings.burnInPeriod);
  }

  setSearchProperties(metric: string | undefined, mode: Mode | undefined): void {
    this.objective.set(metric, mode);
  }

  onTrialAdd(trial: Trial): Config | void {
    this.#members.set(trial.id, { score: null, isDonor: false, lastPerturbation: 0, lastTrainTime: 0, exploits: 0 });
    return this.fill(trial.config);
  }

  /** A configuration completed by values for missing mutated places; undefined if none is missing. */
  protected fill(config: Config): Config | undefined {
    const missing = Object.entries(this.#settings.hyperparamMutations ?? {}).filter(([name]) => !Object.hasOwn(config, name));
    if (missing.length === 0) return undefined;
    return { ...config, ...Object.fromEntries(missing.map(([name, mutation]) => [name, drawMutation(mutation, this.random)])) };
  }

  onTrialResult(trial: Trial, result: TrialResult, view: SchedulerView): Decision {
    const time = this.objective.timeOf(result);
    const score = this.objective.scoreOf(result);
    if (time === undefined || score === undefined) {
      if (this.#settings.requireAttrs) this.objective.require(trial.id, result);
      return "continue";
    }
    const member = this.#members.get(trial.id);
    if (member === undefined || time < this.#settings.burnInPeriod) return "continue";
    if (time - member.lastPerturbation < this.#interval) return "continue";
    member.score = score;
    member.lastTrainTime = time;
    this.observe?.(trial, { time, score });
    return this.#settings.synch ? this.#lookAtAll(trial, time, view) : this.#lookAt(trial, time, view);
  }

  /** Told of each result at which a trial is looked at. */
  protected observe?(trial: Trial, at: { time: number; score: number }): void;

  onTrialComplete(): void {}
  onTrialError(): void {}
  onTrialRemove(): void {}

  chooseTrialToRun(view: SchedulerView): string | undefined {
    let chosen: { id: string; lastTrainTime: number; exploits: number } | undefined;
    for (const trial of view.liveTrials.values()) {
      if ((trial.status !== "pending" && trial.status !== "paused") || !view.fits(trial)) continue;
      const { lastTrainTime = 0, exploits = 0 } = this.#members.get(trial.id) ?? {};
      if (this.#settings.synch && lastTrainTime >= this.#nextSync) continue;
      // The first of equally old trials runs, as in Ray, unless it only takes over checkpoints: in Ray it would come first for ever.
      const isEarlier = chosen === undefined || lastTrainTime < chosen.lastTrainTime;
      if (
        isEarlier ||
        (lastTrainTime === chosen?.lastTrainTime &&
          !this.#settings.synch &&
          chosen.exploits >= EXPLOITS_IN_A_ROW &&
          exploits < chosen.exploits)
      )
        chosen = { id: trial.id, lastTrainTime, exploits };
    }
    return chosen?.id;
  }

  /** Synchronously: all remaining trials wait, as those that were behind have ended. The population continues without a look. */
  onIdle(view: SchedulerView): readonly SchedulerAction[] {
    if (!this.#settings.synch || view.liveTrials.size === 0) return [];
    return this.#perturbAll(view, this.#nextSync);
  }

  save(): JsonValue {
    return {
      random: this.random.save(),
      members: [...this.#members].map(([trialId, member]) => [trialId, { ...member }]),
      nextSync: this.#nextSync,
    };
  }

  restore(state: JsonValue): void {
    const saved = state as unknown as { random: RandomState; members: [string, Member][]; nextSync: number };
    this.random.restore(saved.random);
    this.#members.clear();
    // An earlier version did not count exploits.
    for (const [trialId, member] of saved.members) this.#members.set(trialId, { ...member, exploits: member.exploits ?? 0 });
    this.#nextSync = saved.nextSync;
  }

  /** Without `synch`: looks at a single trial. */
  #lookAt(trial: Trial, time: number, view: SchedulerView): Decision {
    (this.#members.get(trial.id) as Member).lastPerturbation = time;
    const othersWait = [...view.liveTrials.values()].some(({ status }) => status === "pending" || status === "paused");
    const actions = this.#checkpointOrExploit(trial, { quantiles: this.#quantiles(view), time });
    return { verdict: othersWait ? "pause" : "continue", actions };
  }

  /** All trials together, once the last of them is here. */
  #lookAtAll(trial: Trial, time: number, view: SchedulerView): Decision {
    const isSomeoneBehind = [...view.liveTrials.keys()].some(
      (trialId) => trialId !== trial.id && (this.#members.get(trialId)?.lastTrainTime ?? 0) < this.#nextSync,
    );
    return isSomeoneBehind ? "pause" : { verdict: "pause", actions: this.#perturbAll(view, time) };
  }

  #perturbAll(view: SchedulerView, time: number): SchedulerAction[] {
    const quantiles = this.#quantiles(view);
    const { lower, upper } = quantiles;
    const between = [...view.liveTrials.values()].filter((trial) => !lower.includes(trial) && !upper.includes(trial));
    // The best come first, so that their checkpoints exist for the worst.
    const actions = [...upper, ...between, ...lower].flatMap((trial) => {
      const member = this.#members.get(trial.id);
      if (member !== undefined) member.lastPerturbation = time;
      return this.#checkpointOrExploit(trial, { quantiles, time });
    });
    const trainTimes = [...this.#members.values()].map(({ lastTrainTime }) => lastTrainTime);
    this.#nextSync = Math.max(this.#nextSync + this.#interval, ...trainTimes);
    return actions;
  }

  #checkpointOrExploit(trial: Trial, { quantiles: { lower, upper }, time }: { quantiles: Quantiles; time: number }): SchedulerAction[] {
    const member = this.#members.get(trial.id);
    if (member === undefined) return [];
    member.isDonor = upper.includes(trial);
    // A paused trial was saved when it was paused.
    if (member.isDonor) return trial.status === "paused" ? [] : [{ type: "checkpoint", trialId: trial.id }];
    const { exploits } = member;
    member.exploits = 0;
    if (!lower.includes(trial)) return [];
    const donor = this.random.pick(upper);
    const donorMember = this.#members.get(donor.id) as Member;
    // A trial that rose into the best part since its last look has saved nothing yet.
    if (!donorMember.isDonor) return [];
    if (!donor.hasCheckpoint) return [{ type: "lacksCheckpoint", trialId: donor.id }];
    const config = this.newConfig({ trial, donor, time });
    member.lastPerturbation = donorMember.lastPerturbation;
    member.lastTrainTime = donorMember.lastTrainTime;
    member.exploits = exploits + 1;
    return [{ type: "exploit", trialId: trial.id, donorId: donor.id, config, ...(this.#settings.logConfig && { isLogged: true }) }];
  }

  /** The configuration with which a trial continues from its donor's checkpoint. */
  protected newConfig({ donor }: Exploit): Config {
    const { hyperparamMutations, resampleProbability, perturbationFactors } = this.#settings;
    const explored = explore(donor.config, hyperparamMutations ?? {}, { random: this.random, resampleProbability, perturbationFactors });
    return this.customized(explored);
  }

  /** @throws TypeError where `customExploreFn` gives no configuration */
  protected customized(config: Config): Config {
    const change = this.#settings.customExploreFn;
    if (change === undefined) return config;
    const changed = change(config);
    if (typeof changed !== "object" || changed === null)
      throw new TypeError("Cannot explore: customExploreFn is to return the configuration that it was given, or another one");
    return changed;
  }

  /** The worst and the best of the live trials with a score; empty for fewer than two. */
  #quantiles(view: SchedulerView): Quantiles {
    const scoreOf = (trial: Trial) => this.#members.get(trial.id)?.score ?? Number.NaN;
    const ranked = [...view.liveTrials.values()]
      .filter((trial) => !Number.isNaN(scoreOf(trial)))
      .sort((first, second) => scoreOf(first) - scoreOf(second) || 0);
    if (ranked.length <= 1) return { lower: [], upper: [] };
    const wanted = Math.ceil(ranked.length * this.#settings.quantileFraction);
    const size = wanted > ranked.length / 2 ? Math.floor(ranked.length / 2) : wanted;
    return { lower: ranked.slice(0, size), upper: ranked.slice(ranked.length - size) };
  }
}

function readSettings(options: PopulationBasedTrainingOptions, name: string) {
  return readOptions(options, { of: `a ${name}`, options: OPTIONS });
}
