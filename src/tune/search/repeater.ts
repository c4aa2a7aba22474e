/**
 * `Repeater`: runs each configuration of a searcher several times, and tells the searcher the mean of the results.
 *
 * For trainables whose results depend on chance. Trials that fail or report nothing do not count; if none in a group counts, the searcher
 * is told of a failure. Each trial finds its place in the group in its configuration's `__trial_index__`.
 */
import { count, flag, readOptions } from "../../core/internal.ts";
import type { Searcher, Suggestion } from "../searcher.ts";
import type { SearchSpace } from "../spaces/space.ts";
import type { Config, Definition, JsonValue, Mode, TrialResult } from "../trials/trial.ts";

export interface RepeaterOptions {
  /** How often. Default: 1. */
  repeat?: number | undefined;
  /** Whether configurations have `__trial_index__`. Default: true. */
  setIndex?: boolean | undefined;
}

const TRIAL_INDEX = "__trial_index__";

/** The trials of one configuration. */
interface Group {
  /** The trial under whose id the searcher knows the group. */
  readonly leader: string;
  readonly config: Config;
  begun: number;
  readonly results: (TrialResult | null)[];
}

export class Repeater implements Searcher {
  readonly definition: Definition | undefined;
  readonly #searcher: Searcher;
  readonly #options: { readonly repeat: number; readonly setIndex: boolean };
  #groups = new Map<string, Group>();
  #groupOf = new Map<string, string>();
  /** The group that is not complete yet. */
  #filling: string | undefined;

  /** @throws TypeError, RangeError */
  constructor(searcher: Searcher, options: RepeaterOptions = {}) {
    this.#searcher = searcher;
    this.#options = readOptions(options, { of: "a Repeater", options: { repeat: count({ min: 1 }, 1), setIndex: flag(true) } });
    const { definition } = searcher;
    this.definition = definition && { type: "repeater", options: { searcher: { ...definition }, ...this.#options } };
  }

  async setSearchProperties(metric: string | readonly string[], mode: Mode | readonly Mode[], space: SearchSpace): Promise<void> {
    await this.#searcher.setSearchProperties(metric, mode, space);
  }

  async suggest(trialId: string): Promise<Suggestion> {
    let group = this.#filling === undefined ? undefined : this.#groups.get(this.#filling);
    if (group === undefined) {
      const suggestion = await this.#searcher.suggest(trialId);
      if (suggestion === "later" || suggestion === "finished") return suggestion;
      group = { leader: trialId, config: suggestion, begun: 0, results: [] };
      this.#groups.set(trialId, group);
      this.#filling = trialId;
    }
    const index = group.begun;
    group.begun += 1;
    this.#groupOf.set(trialId, group.leader);
    if (group.begun === this.#options.repeat) this.#filling = undefined;
    return this.#options.setIndex ? { ...group.config, [TRIAL_INDEX]: index } : { ...group.config };
  }

  async onTrialComplete(trialId: string, result?: TrialResult, error = false): Promise<void> {
    const leader = this.#groupOf.get(trialId);
    const group = leader === undefined ? undefined : this.#groups.get(leader);
    this.#groupOf.delete(trialId);
    if (group === undefined) return;
    group.results.push(error ? null : (result ?? null));
    if (group.results.length < this.#options.repeat) return;
    this.#groups.delete(group.leader);
    const counted = group.results.filter((each) => each !== null);
    await this.#searcher.onTrialComplete(group.leader, counted.length === 0 ? undefined : meanOf(counted), counted.length === 0);
  }

  async save(): Promise<JsonValue> {
    const own = { groups: [...this.#groups], groupOf: [...this.#groupOf], filling: this.#filling ?? null };
    return { ...(structuredClone(own) as unknown as Record<string, JsonValue>), searcher: await this.#searcher.save() };
  }

  async restore(state: JsonValue): Promise<void> {
    const saved = structuredClone(state) as unknown as {
      groups: [string, Group][];
      groupOf: [string, string][];
      filling: string | null;
      searcher: JsonValue;
    };
    this.#groups = new Map(saved.groups);
    this.#groupOf = new Map(saved.groupOf);
    this.#filling = saved.filling ?? undefined;
    await this.#searcher.restore(saved.searcher);
  }

  async close(): Promise<void> {
    await this.#searcher.close?.();
  }
}

/** The last result, with the means of all its numbers, as the searcher picks its metrics itself. NaN does not count. */
function meanOf(results: readonly TrialResult[]): TrialResult {
  const last = results.at(-1) as TrialResult;
  const means = Object.entries(last).flatMap(([name, value]) => {
    if (typeof value !== "number") return [];
    const values = results
      .map((each) => (each as Record<string, unknown>)[name])
      .filter((each) => typeof each === "number" && !Number.isNaN(each));
    return [[name, values.reduce((sum: number, each) => sum + (each as number), 0) / values.length] as const];
  });
  return { ...last, ...Object.fromEntries(means) };
}
