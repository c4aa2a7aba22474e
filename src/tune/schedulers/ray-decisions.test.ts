/**
 * Compares our schedulers with Ray's: each table of `test/vectors/tune/schedulers.json` is a run of a scheduler of Ray 2.60, event by
 * event, with its decisions.
 *
 * `test/systems/ray_schedulers.py` records the tables, and `test/systems/tune-schedulers.test.ts` records them anew and compares. Draws of
 * population based training come from the table, after a check of their candidates.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { SchedulerAction, SchedulerView, TrialScheduler } from "../scheduler.ts";
import type { Config, Trial, TrialBundle, TrialResult, TrialStatus } from "../trials/trial.ts";
import { rungsOf } from "./asha-scheduler.ts";
import { createScheduler } from "./create-scheduler.ts";
import { distributeResources, distributeResourcesToTopJob } from "./distribute-resources.ts";
import type { SavedBracket } from "./hyperband/hyperband-bracket.ts";
import { ResourceChangingScheduler } from "./resource-changing-scheduler.ts";

type Draw = number | { index: number; of?: number; donors?: string[] };

interface Event {
  type: "add" | "choose" | "result" | "complete" | "error";
  trial: string | null;
  config?: Config;
  bracket?: number;
  result?: Record<string, number | string>;
  decision?: "continue" | "pause" | "stop" | "noop";
  stops?: string[];
  checkpoints?: string[];
  draws?: Draw[];
  exploits?: { trial: string; donor: string; config: Config }[];
  resources?: TrialBundle[];
}

interface Table {
  name: string;
  scheduler: string;
  options: Record<string, unknown>;
  events: Event[];
  cluster?: Record<string, number>;
  resources?: TrialBundle[];
}

interface Recorded {
  ray: string;
  rungs: { maxT: number; gracePeriod: number; reductionFactor: number; skipped: number; milestones: number[] }[];
  brackets: { scheduler: string; maxT: number; reductionFactor: number; trials: number; brackets: [number, number, number][] }[];
  tables: Table[];
}

const RECORDED = JSON.parse(readFileSync(new URL("../../../test/vectors/tune/schedulers.json", import.meta.url), "utf8")) as Recorded;

type MutableTrial = { -readonly [K in keyof Trial]: Trial[K] };

/** The trials of a table, as schedulers see them. */
class Population implements SchedulerView {
  readonly all = new Map<string, MutableTrial>();
  readonly isSearching = true;
  readonly clusterResources: Readonly<Record<string, number>>;

  constructor(cluster: Record<string, number> = {}) {
    this.clusterResources = cluster;
  }

  get liveTrials(): ReadonlyMap<string, Trial> {
    return new Map([...this.all].filter(([, { status }]) => status !== "terminated" && status !== "errored"));
  }

  fits(): boolean {
    return true;
  }

  get(id: string): MutableTrial {
    return this.all.get(id) as MutableTrial;
  }

  add(id: string, config: Config, bundles: readonly TrialBundle[]): Trial {
    const resources = { bundles: structuredClone(bundles), strategy: "PACK" } as const;
    const trial: MutableTrial = {
      id,
      name: id,
      index: this.all.size,
      status: "pending",
      config,
      resources,
      lastResult: undefined,
      hasCheckpoint: true,
    };
    this.all.set(id, trial);
    return trial;
  }
}

/** Options as a table writes them, with functions where it has constants. */
function optionsOf(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as Record<string, unknown>);
  const constant = entries.find(([key]) => key === "constant");
  return constant === undefined ? Object.fromEntries(entries.map(([key, inner]) => [key, optionsOf(inner)])) : () => constant[1];
}

function make({ scheduler, options }: Table): TrialScheduler {
  if (scheduler !== "resource_changing") return createScheduler(scheduler, optionsOf(options) as Record<string, unknown>);
  const allocate = options["function"] === "distributeResources" ? distributeResources : distributeResourcesToTopJob;
  return new ResourceChangingScheduler({ resourcesAllocationFunction: allocate(options["options"] as object) });
}

/** Replaces the draws of a scheduler by those of a table. */
function steer(scheduler: TrialScheduler, draws: () => Draw | undefined): void {
  const random = Reflect.get(scheduler, "random") as { next(): number; pick(items: readonly unknown[]): unknown };
  // The model of PB2 draws for itself.
  if (Reflect.get(scheduler, "definition")?.type !== "pb2") random.next = () => draws() as number;
  random.pick = (items) => {
    const draw = draws() as { index: number; of?: number; donors?: string[] };
    if (draw.donors !== undefined) expect((items as Trial[]).map(({ id }) => id)).toEqual(draw.donors);
    else expect(items.length).toBe(draw.of);
    return items[draw.index];
  };
}

/** Puts a trial into the bracket that Ray drew for it. */
function place(scheduler: TrialScheduler, trialId: string, bracket: number): void {
  const state = structuredClone(scheduler.save()) as unknown as { bracketOf: [string, number][] };
  state.bracketOf = state.bracketOf.map(([id, own]) => [id, id === trialId ? bracket : own]);
  scheduler.restore(state);
}

/** A result with the keys that Tune adds, and with NaN for the table's "NaN". */
function resultOf(trialId: string, given: Record<string, number | string>): TrialResult {
  const values = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, value === "NaN" ? Number.NaN : value]));
  const automatic = {
    trialId,
    trainingIteration: values["training_iteration"] as number,
    timeThisIterMs: 1,
    timeTotalMs: 1,
    timestampMs: 0,
    pid: 7,
    hostname: "node",
    nodeIp: "10.0.0.7",
    done: false,
    config: {},
  };
  return { ...values, ...automatic };
}

/** Tells a scheduler of removals, as Ray's controller told its own. */
function applyStops(scheduler: TrialScheduler, trials: Population, stops: readonly string[]): void {
  for (const id of stops) {
    const trial = trials.get(id);
    const was = trial.status;
    trial.status = "terminated";
    if (was === "pending" || was === "paused") expect(scheduler.onTrialRemove(trial, trials) ?? []).toEqual([]);
  }
}

/** Asserts that two values are equal, with their event in the message. */
function same(actual: unknown, expected: unknown, where: string): void {
  expect({ where, is: actual }).toEqual({ where, is: expected });
}

const AFTER: Readonly<Record<string, TrialStatus>> = { stop: "terminated", pause: "paused", noop: "paused", continue: "running" };

function replay(table: Table): void {
  const trials = new Population(table.cluster);
  const scheduler = make(table);
  let draws: Draw[] = [];
  const isPopulation = table.scheduler === "pbt" || table.scheduler === "pb2";
  if (isPopulation) steer(scheduler, () => draws.shift());
  scheduler.setSearchProperties("score", "max");
  for (const [number, event] of table.events.entries()) {
    draws = structuredClone(event.draws ?? []);
    const where = `event ${number}: ${JSON.stringify(event)}`;
    const id = event.trial as string;
    if (event.type === "add") {
      const trial = trials.add(id, event.config as Config, table.resources ?? [{ CPU: 1 }]);
      scheduler.onTrialAdd(trial, trials);
      if (event.bracket !== undefined) place(scheduler, id, event.bracket);
    } else if (event.type === "choose") {
      let chosen = scheduler.chooseTrialToRun(trials);
      // Ray's BOHB halves brackets while it chooses; ours does so when there is nothing to choose.
      const idles = chosen === undefined && ![...trials.liveTrials.values()].some(({ status }) => status === "running");
      if (idles && (event.stops !== undefined || event.trial !== null)) {
        const actions = scheduler.onIdle?.(trials) ?? [];
        same(stopsOf(actions), event.stops ?? [], where);
        applyStops(scheduler, trials, event.stops ?? []);
        chosen = scheduler.chooseTrialToRun(trials);
      }
      same(chosen ?? null, event.trial, where);
      if (chosen !== undefined) trials.get(chosen).status = "running";
    } else if (event.type === "result") replayResult({ scheduler, trials, event, where });
    else {
      const trial = trials.get(id);
      const actions =
        event.type === "error"
          ? scheduler.onTrialError(trial, trials)
          : scheduler.onTrialComplete(trial, resultOf(id, event.result ?? {}), trials);
      trial.status = event.type === "error" ? "errored" : "terminated";
      same(stopsOf(actions ?? []), event.stops ?? [], where);
      applyStops(scheduler, trials, event.stops ?? []);
    }
    if (isPopulation) same(draws, [], where);
  }
}

function replayResult({
  scheduler,
  trials,
  event,
  where,
}: {
  scheduler: TrialScheduler;
  trials: Population;
  event: Event;
  where: string;
}): void {
  const trial = trials.get(event.trial as string);
  const result = resultOf(trial.id, event.result ?? {});
  const decision = scheduler.onTrialResult(trial, result, trials);
  const { verdict, actions } = typeof decision === "string" ? { verdict: decision, actions: [] } : decision;
  trial.lastResult = result;
  same(stopsOf(actions), event.stops ?? [], where);
  same(
    actions.filter(({ type }) => type === "checkpoint").map(({ trialId }) => trialId),
    event.checkpoints ?? [],
    where,
  );
  const exploits = actions.flatMap((action) => (action.type === "exploit" ? [action] : []));
  same(
    exploits.map(({ trialId, donorId }) => [trialId, donorId]),
    (event.exploits ?? []).map(({ trial: exploiting, donor }) => [exploiting, donor]),
    where,
  );
  for (const [index, { trialId, config }] of exploits.entries()) {
    const recorded = (event.exploits as { config: Config }[])[index] as { config: Config };
    if (Reflect.get(scheduler, "definition")?.type === "pb2") expectWithin(config);
    else same(config, recorded.config, where);
    trials.get(trialId).config = recorded.config;
  }
  const resources = actions.find((action) => action.type === "resources");
  same(
    resources?.type === "resources" ? amounts(resources.resources.bundles) : undefined,
    event.resources && amounts(event.resources),
    where,
  );
  if (event.resources !== undefined) trial.resources = { bundles: event.resources, strategy: "PACK" };
  applyStops(scheduler, trials, event.stops ?? []);
  // Ray decides NOOP for a trial that it has paused to exploit another; here the exploit action interrupts the trial. Ray pauses a trial to give it new resources.
  const ownVerdict = event.decision === "noop" ? "noop" : event.resources === undefined ? verdict : "pause";
  same(ownVerdict, event.decision, where);
  trial.status = AFTER[event.decision as string] as TrialStatus;
}

function stopsOf(actions: readonly SchedulerAction[]): string[] {
  return actions.filter(({ type }) => type === "stop").map(({ trialId }) => trialId);
}

function amounts(bundles: readonly TrialBundle[]): number[][] {
  return bundles.map((bundle) => [bundle["CPU"] ?? 0, bundle["GPU"] ?? 0]);
}

/** The bounds of PB2's tables. */
function expectWithin(config: Config): void {
  const { lr, model } = config as { lr: number; model: { width: number } };
  expect(lr).toBeGreaterThanOrEqual(0.001);
  expect(lr).toBeLessThanOrEqual(0.1);
  expect(model.width).toBeGreaterThanOrEqual(8);
  expect(model.width).toBeLessThanOrEqual(64);
}

describe("a scheduler decides as that of Ray", () => {
  test.each(RECORDED.tables.map((table) => [table.name, table] as const))("%s", (_, table) => {
    replay(table);
  });

  test("at the same rungs", () => {
    for (const { milestones, ...shape } of RECORDED.rungs) {
      const own = rungsOf(shape).map(({ milestone }) => milestone);
      same(own.length, milestones.length, JSON.stringify(shape));
      for (const [index, milestone] of milestones.entries()) expect(own[index]).toBeCloseTo(milestone, 9);
    }
  });

  test("with brackets of the same sizes", () => {
    for (const { scheduler: name, trials: count, brackets, ...options } of RECORDED.brackets) {
      const scheduler = createScheduler(name, { metric: "score", mode: "max", ...options });
      scheduler.setSearchProperties("score", "max");
      const trials = new Population();
      for (let index = 0; index < count; index += 1) scheduler.onTrialAdd(trials.add(`t${index}`, {}, [{ CPU: 1 }]), trials);
      const { bands } = scheduler.save() as unknown as { bands: (SavedBracket | null)[][] };
      const sizes = bands
        .flat()
        .flatMap((bracket) => (bracket === null ? [] : [[bracket.shape.trialsMax, bracket.shape.firstMilestone, bracket.shape.halvings]]));
      same(sizes.slice(0, brackets.length), brackets, `${name} ${JSON.stringify(options)}`);
    }
  });
});
