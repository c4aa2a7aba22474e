/**
 * The base class of searchers with a model of the space. It suggests the points given by the user first, keeps the history of trials, and saves its state as JSON.
 *
 * A subclass proposes points and learns from results. The base class turns configurations into points of `axes.ts` and results into losses
 * (smaller is better, in either mode), and tracks the running trials. Its decisions depend only on the calls and on the seed.
 */
import { describeValue } from "../../core/internal.ts";
import { definitionOf } from "../spaces/definition.ts";
import { Random, type RandomState } from "../spaces/random.ts";
import type { Searcher, Suggestion } from "../searcher.ts";
import { readPoint, type SearchSpace } from "../spaces/space.ts";
import type { Definition, JsonValue, Mode, TrialResult } from "../trials/trial.ts";
import { type Axis, axesOf, configAt, counts, toUnit, type UnitPoint } from "./numbers/axes.ts";
import { lossesOf, type Objectives, readObjectives } from "./numbers/losses.ts";
import type { ModelSearchOptions } from "../options/shared-options.ts";

/** A trial that has ended with a result. */
export interface Observation {
  /** Counts the proposals from 0. */
  readonly number: number;
  readonly point: UnitPoint;
  /** A loss for each objective; smaller is better. */
  readonly losses: readonly number[];
}

/** A trial that is running. */
interface PendingTrial {
  readonly number: number;
  readonly point: UnitPoint;
}

/** A user's point: its place, and the given values. */
interface GivenPoint {
  readonly point: UnitPoint;
  readonly values: ReadonlyMap<string, number>;
}

interface SavedSearch {
  random: RandomState;
  asked: number;
  given: number;
  observations: Observation[];
  pending: [string, PendingTrial][];
  model: JsonValue;
}

export abstract class ModelSearch implements Searcher {
  readonly definition: Definition | undefined;
  readonly #options: ModelSearchOptions;
  readonly #name: string;
  readonly #objectivesMax: number;
  #space: SearchSpace = {};
  #objectives: Objectives = { metrics: [], signs: [] };
  #asked = 0;
  /** How many of `pointsToEvaluate` are used up. */
  #given = 0;
  protected readonly random: Random;
  protected axes: readonly Axis[] = [];
  protected observations: Observation[] = [];
  protected readonly pending = new Map<string, PendingTrial>();

  constructor({ name, type, objectivesMax = 1 }: { name: string; type: string; objectivesMax?: number }, options: ModelSearchOptions) {
    this.#name = name;
    this.#objectivesMax = objectivesMax;
    this.#options = options;
    this.definition = definitionOf(type, options);
    this.random = new Random(options.seed);
    const rewards = options.evaluatedRewards?.length ?? 0;
    if (rewards > (options.pointsToEvaluate?.length ?? 0))
      throw new RangeError(`Cannot make a ${name}: evaluatedRewards belong to the first of pointsToEvaluate: received ${rewards} of them`);
  }

  /**
   * The next point, for axes that count; others are null. Called with at least one axis, and the number that its observation will have.
   * Undefined where the search is over.
   */
  protected abstract propose(number: number): UnitPoint | undefined;
  /** A trial has ended with losses. It is in `observations` already. */
  protected learn?(observation: Observation): void;
  /** A trial has ended without losses. */
  protected forget?(number: number): void;
  /** Called when the axes are known, and before a saved state is taken over: the model begins anew. */
  protected prepare?(): void;
  /** State of the model that does not follow from the observations. */
  protected saveModel?(): JsonValue;
  protected restoreModel?(state: JsonValue): void;

  protected get objectiveCount(): number {
    return this.#objectives.metrics.length;
  }

  setSearchProperties(metric: string | readonly string[], mode: Mode | readonly Mode[], space: SearchSpace): void {
    this.#objectives = readObjectives({
      searcher: this.#name,
      objectivesMax: this.#objectivesMax,
      metric: this.#options.metric ?? metric,
      mode: this.#options.mode ?? mode,
    });
    const { metrics, signs } = this.#objectives;
    this.#space = space;
    this.axes = axesOf(space, this.#name);
    this.prepare?.();
    for (const reward of this.#options.evaluatedRewards ?? []) {
      const { point } = this.#nextGiven() as GivenPoint;
      const losses = (typeof reward === "number" ? [reward] : reward).map((value, index) => value * (signs[index] ?? 1));
      if (losses.length !== metrics.length || !losses.every(Number.isFinite))
        throw new TypeError(
          `Cannot use evaluatedRewards: a finite number for each of ${metrics.length} metrics is needed: received ${describeValue(reward)}`,
        );
      this.#observe({ number: this.#asked++, point, losses });
    }
  }

  suggest(trialId: string): Suggestion {
    const given = this.#nextGiven();
    const point = given?.point ?? (this.axes.length === 0 ? [] : this.propose(this.#asked));
    if (point === undefined) return "finished";
    this.pending.set(trialId, { number: this.#asked++, point });
    return configAt(this.#space, { axes: this.axes, point, exact: given?.values });
  }

  /** Models learn from the ends of trials, unless they say otherwise. */
  onTrialResult(_trialId: string, _result: TrialResult): void {}

  onTrialComplete(trialId: string, result?: TrialResult, error = false): void {
    const trial = this.pending.get(trialId);
    if (trial === undefined) return;
    this.pending.delete(trialId);
    const losses = error ? undefined : this.lossesOf(result);
    if (losses === undefined) this.forget?.(trial.number);
    else this.#observe({ ...trial, losses });
  }

  /** Losses of a result, or undefined if it lacks a finite metric. */
  protected lossesOf(result: TrialResult | undefined): number[] | undefined {
    return lossesOf(this.#objectives, result);
  }

  save(): JsonValue {
    const saved: SavedSearch = {
      random: this.random.save(),
      asked: this.#asked,
      given: this.#given,
      observations: this.observations,
      pending: [...this.pending],
      model: this.saveModel?.() ?? null,
    };
    return structuredClone(saved) as unknown as JsonValue;
  }

  restore(state: JsonValue): void {
    const saved = structuredClone(state) as unknown as SavedSearch;
    this.prepare?.();
    this.random.restore(saved.random);
    this.#asked = saved.asked;
    this.#given = saved.given;
    this.observations = [];
    this.pending.clear();
    for (const [trialId, trial] of saved.pending) this.pending.set(trialId, trial);
    if (saved.model === null) {
      for (const observation of saved.observations) this.#observe(observation);
    } else {
      // The saved model has learnt from these observations already.
      this.observations = saved.observations;
      this.restoreModel?.(saved.model);
    }
  }

  #observe(observation: Observation): void {
    this.observations.push(observation);
    this.learn?.(observation);
  }

  /** A random point. */
  protected randomPoint(): UnitPoint {
    const point: UnitPoint = [];
    for (const axis of this.axes) {
      if (!counts(axis, point)) point.push(null);
      else point.push(axis.choiceCount > 0 ? this.random.integer(axis.choiceCount) : this.random.next());
    }
    return point;
  }

  #nextGiven(): GivenPoint | undefined {
    const config = this.#options.pointsToEvaluate?.[this.#given];
    if (config === undefined) return undefined;
    this.#given += 1;
    const values = readPoint(this.#space, config);
    const point: UnitPoint = [];
    for (const axis of this.axes) {
      const value = values.get(axis.name);
      if (!counts(axis, point)) point.push(null);
      else if (value !== undefined) point.push(toUnit(axis, value));
      else point.push(axis.choiceCount > 0 ? this.random.integer(axis.choiceCount) : this.random.next());
    }
    return { point, values };
  }
}
