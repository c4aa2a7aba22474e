/**
 * Tests schedulers by events alone: a saved one continues the same sequence, bad options are refused, and draws stay inside their bounds.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Random } from "../spaces/random.ts";
import type { SchedulerAction, SchedulerView, TrialScheduler } from "../scheduler.ts";
import { optionsOf } from "../spaces/definition.ts";
import { choice, loguniform, qrandint, randint, uniform } from "../spaces/space.ts";
import type { Config, Definition, JsonValue, Trial, TrialResult, TrialStatus } from "../trials/trial.ts";
import { ASHAScheduler } from "./asha-scheduler.ts";
import { createScheduler } from "./create-scheduler.ts";
import { explore } from "./population/explore.ts";
import { FIFOScheduler } from "./fifo-scheduler.ts";
import { HyperBandBracket } from "./hyperband/hyperband-bracket.ts";
import { HyperBandForBOHB } from "./hyperband/hyperband-for-bohb.ts";
import { HyperBandScheduler } from "./hyperband/hyperband-scheduler.ts";
import { MedianStoppingRule } from "./median-stopping-rule.ts";
import { PB2 } from "./population/pb2.ts";
import { PopulationBasedTrainingReplay } from "./population/population-based-training-replay.ts";
import { PopulationBasedTraining } from "./population/population-based-training.ts";
import { ResourceChangingScheduler } from "./resource-changing-scheduler.ts";
import { naturalLog, roundHalfEven } from "./rounding.ts";

type MutableTrial = { -readonly [K in keyof Trial]: Trial[K] };

/** A loop over trials that applies decisions at once. */
class Loop implements SchedulerView {
  readonly all = new Map<string, MutableTrial>();
  readonly steps = new Map<string, number>();
  readonly isSearching = true;
  readonly clusterResources = { CPU: 16 };
  readonly decisions: unknown[] = [];
  scheduler: TrialScheduler;

  constructor(scheduler: TrialScheduler) {
    this.scheduler = scheduler;
    scheduler.setSearchProperties("score", "max");
  }

  get liveTrials(): ReadonlyMap<string, Trial> {
    return new Map([...this.all].filter(([, { status }]) => status !== "terminated" && status !== "errored"));
  }

  fits(): boolean {
    return true;
  }

  add(config: Config): void {
    const id = `t${this.all.size}`;
    const resources = { bundles: [{ CPU: 1 }], strategy: "PACK" } as const;
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
    trial.config = this.scheduler.onTrialAdd(trial, this) ?? config;
    this.decisions.push(trial.config);
  }

  start(): void {
    const chosen = this.scheduler.chooseTrialToRun(this);
    this.decisions.push(chosen);
    if (chosen !== undefined) (this.all.get(chosen) as MutableTrial).status = "running";
    else if (![...this.all.values()].some(({ status }) => status === "running")) this.#apply(this.scheduler.onIdle?.(this) ?? []);
  }

  report(which: number, score: number): void {
    const running = [...this.all.values()].filter(({ status }) => status === "running");
    const trial = running[which % Math.max(1, running.length)];
    if (trial === undefined) return;
    const step = (this.steps.get(trial.id) ?? 0) + 1;
    this.steps.set(trial.id, step);
    const result = { score, trainingIteration: step, timeTotalMs: step * 60_000, trialId: trial.id } as unknown as TrialResult;
    const decision = this.scheduler.onTrialResult(trial, result, this);
    trial.lastResult = result;
    this.decisions.push(decision);
    if (typeof decision !== "string") this.#apply(decision.actions);
    const verdict = typeof decision === "string" ? decision : decision.verdict;
    trial.status = ({ stop: "terminated", pause: "paused", continue: "running" } as Record<string, TrialStatus>)[verdict] as TrialStatus;
  }

  end(which: number, outcome: "complete" | "error"): void {
    const running = [...this.all.values()].filter(({ status }) => status === "running");
    const trial = running[which % Math.max(1, running.length)];
    if (trial === undefined) return;
    const actions =
      outcome === "error" ? this.scheduler.onTrialError(trial, this) : this.scheduler.onTrialComplete(trial, trial.lastResult, this);
    trial.status = outcome === "error" ? "errored" : "terminated";
    this.decisions.push(actions ?? []);
    this.#apply(actions ?? []);
  }

  #apply(actions: readonly SchedulerAction[]): void {
    for (const action of actions) {
      const trial = this.all.get(action.trialId) as MutableTrial;
      if (action.type === "stop" && trial.status !== "terminated" && trial.status !== "errored") {
        trial.status = "terminated";
        this.#apply(this.scheduler.onTrialRemove(trial, this) ?? []);
      } else if (action.type === "exploit") trial.config = action.config;
      else if (action.type === "resources") trial.resources = action.resources;
    }
  }
}

const CONFIG = { lr: 0.1, width: 16 };

test("a population in which nobody saves is told so, and nobody begins anew", () => {
  const loop = new Loop(
    new PopulationBasedTraining({ timeAttr: "trainingIteration", perturbationInterval: 1, hyperparamMutations: { lr: [1, 2] } }),
  );
  for (let n = 0; n < 2; n += 1) {
    loop.add({ lr: n });
    loop.start();
  }
  for (const trial of loop.all.values()) trial.hasCheckpoint = false;
  for (const which of [0, 1, 1, 0]) loop.report(which, which);
  expect(loop.decisions.at(-1)).toEqual({ verdict: "continue", actions: [{ type: "lacksCheckpoint", trialId: "t1" }] });
  expect(Array.from(loop.all.values(), ({ config }) => config["lr"])).toEqual([0, 1]);
});
const lists = { lr: [0.01, 0.1, 1], width: randint(8, 65) };

const SCHEDULERS: readonly (readonly [string, (seed: number) => TrialScheduler])[] = [
  ["FIFOScheduler", () => new FIFOScheduler()],
  ["ASHAScheduler", (seed) => new ASHAScheduler({ seed, maxT: 9, reductionFactor: 3, brackets: 2 })],
  ["HyperBandScheduler", () => new HyperBandScheduler({ maxT: 9 })],
  ["HyperBandForBOHB", () => new HyperBandForBOHB({ maxT: 9 })],
  ["MedianStoppingRule", () => new MedianStoppingRule({ gracePeriod: 120_000, minSamplesRequired: 2 })],
  ["PopulationBasedTraining", (seed) => new PopulationBasedTraining({ seed, perturbationInterval: 120_000, hyperparamMutations: lists })],
  [
    "PopulationBasedTraining, synchronously",
    (seed) => new PopulationBasedTraining({ seed, perturbationInterval: 120_000, hyperparamMutations: lists, synch: true }),
  ],
  ["PB2", (seed) => new PB2({ seed, perturbationInterval: 60_000, hyperparamBounds: { lr: [0.001, 1], width: [8, 64] } })],
  ["ResourceChangingScheduler", () => new ResourceChangingScheduler()],
];

type Step = readonly ["add" | "start"] | readonly ["report", number, number] | readonly ["end", number, "complete" | "error"];

const steps = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.constant<Step>(["add"]) },
    { weight: 4, arbitrary: fc.constant<Step>(["start"]) },
    { weight: 10, arbitrary: fc.tuple(fc.constant<"report">("report"), fc.nat(20), fc.double({ min: 0, max: 1, noNaN: true })) },
    { weight: 1, arbitrary: fc.tuple(fc.constant<"end">("end"), fc.nat(20), fc.constantFrom<"complete" | "error">("complete", "error")) },
  ),
  { minLength: 20, maxLength: 120 },
);

function drive(scheduler: TrialScheduler, events: readonly Step[], restart?: { at: number; with: () => TrialScheduler }): unknown[] {
  const loop = new Loop(scheduler);
  for (const [index, [type, which, value]] of events.entries()) {
    if (restart?.at === index) {
      const state = JSON.parse(JSON.stringify(loop.scheduler.save())) as JsonValue;
      loop.scheduler = restart.with();
      loop.scheduler.setSearchProperties("score", "max");
      loop.scheduler.restore(state);
    }
    if (type === "add") loop.add({ ...CONFIG });
    else if (type === "start") loop.start();
    else if (type === "report") loop.report(which, value);
    else loop.end(which as number, value as "complete" | "error");
  }
  return loop.decisions;
}

describe.each(SCHEDULERS)("%s", (_, make) => {
  test("that is restored at any point decides as one that was never interrupted", () => {
    fc.assert(
      fc.property(fc.nat(1_000), steps, fc.double({ min: 0, max: 1, noNaN: true }), (seed, events, part) => {
        const expected = drive(make(seed), events);
        const at = Math.floor(part * events.length);
        expect(drive(make(seed), events, { at, with: () => make(seed + 1) })).toEqual(expected);
      }),
      { numRuns: 25 },
    );
  });

  test("never chooses a trial that runs or has ended", () => {
    fc.assert(
      fc.property(steps, (events) => {
        const loop = new Loop(make(1));
        for (const [type, which, value] of events) {
          const chosen = loop.scheduler.chooseTrialToRun(loop);
          if (chosen !== undefined) expect(["pending", "paused"]).toContain(loop.all.get(chosen)?.status);
          if (type === "add") loop.add({ ...CONFIG });
          else if (type === "start") loop.start();
          else if (type === "report") loop.report(which, value);
          else loop.end(which as number, value as "complete" | "error");
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe("options", () => {
  test.each([
    ["asha", { maxt: 3 }, /maxT/],
    ["asha", { maxT: 2, gracePeriod: 3 }, /gracePeriod is at most maxT/],
    ["asha", { reductionFactor: 1 }, /above 1/],
    ["hyperband", { maxT: 0 }, /from 1/],
    ["median_stopping_rule", { minSamplesRequired: 0 }, /from 1/],
    ["pbt", {}, /hyperparamMutations/],
    ["pbt", { hyperparamMutations: { lr: 3 } }, /"lr" is to be a list/],
    ["pbt", { hyperparamMutations: { lr: [] } }, /empty/],
    ["pbt", { hyperparamMutations: { lr: [1] }, quantileFraction: 0.6 }, /0 to 0.5/],
    ["pb2", {}, /hyperparamBounds/],
    ["pb2", { hyperparamBounds: { lr: [2, 1] } }, /lr begin above their end/],
    ["pbt_replay", { policy: "no json" }, /line 1/],
    ["bogus", {}, /asha, median_stopping_rule/],
  ])("of %s that are wrong are refused: %j", (name, options, message) => {
    expect(() => createScheduler(name, options)).toThrow(message);
  });

  test("a scheduler without a metric names where to set it", () => {
    expect(() => new ASHAScheduler().setSearchProperties(undefined, "max")).toThrow(/tuneConfig.metric/);
    expect(() => new HyperBandScheduler({ metric: "a" }).setSearchProperties("b", undefined)).toThrow(/tuneConfig.mode/);
  });

  test("a result without what decides is an error that names it, where the scheduler cannot do without", () => {
    const loop = new Loop(new PopulationBasedTraining({ timeAttr: "epoch", hyperparamMutations: lists }));
    loop.add({ ...CONFIG });
    loop.start();
    expect(() => loop.report(0, 1)).toThrow(/trial t0.*"epoch"/);
  });

  test("times have Ray's names, too", () => {
    const rule = new MedianStoppingRule({ timeAttr: "time_total_s", gracePeriod: 1, minSamplesRequired: 1 });
    const loop = new Loop(rule);
    for (const score of [1, 1, 0]) {
      loop.add({ ...CONFIG });
      loop.start();
      loop.report(loop.all.size - 1, score);
    }
    expect(loop.decisions.at(-1)).toBe("stop");
  });

  test("definitions make equal schedulers again, where options are JSON", () => {
    const { type, options } = new ASHAScheduler({ maxT: 20 }).definition as { type: string; options: Record<string, unknown> };
    expect(createScheduler(type, options).definition).toEqual({ type: "asha", options: { maxT: 20 } });
    const mutations = { lr: loguniform(0.1, 1), layers: randint(1, 5), act: choice(["a", { inner: uniform(0, 1) }]), list: [1, 2] };
    const population = new PopulationBasedTraining({ hyperparamMutations: mutations, seed: 3 }).definition as Definition;
    const again = createScheduler("pbt", optionsOf(JSON.parse(JSON.stringify(population)) as Definition));
    expect(again.definition).toEqual(population);
    expect(optionsOf(population)).toEqual({ hyperparamMutations: mutations, seed: 3 });
    expect(new PopulationBasedTraining({ hyperparamMutations: { lr: () => 1 } }).definition).toBeUndefined();
    expect(new PB2({ hyperparamBounds: { lr: [0, 1] } }).definition?.type).toBe("pb2");
  });
});

describe("what PBT changes", () => {
  test("moves to a neighbour in a list, multiplies a number, and keeps whole numbers whole", () => {
    const random = new Random(1);
    const options = { random, resampleProbability: 0, perturbationFactors: [1.2, 0.8] };
    const mutations = { lr: uniform(0, 1), width: randint(1, 100), act: choice(["a", "b", "c"]), inner: { x: [1, 2, 3] } };
    for (let repeat = 0; repeat < 50; repeat += 1) {
      const config = { lr: 0.5, width: 7, act: "b", inner: { x: 2, kept: true }, other: 1 };
      const next = explore(config, mutations, options) as typeof config;
      expect([0.6, 0.4]).toContain(next.lr);
      expect([8, 6]).toContain(next.width);
      expect(["a", "c"]).toContain(next.act);
      expect([1, 3]).toContain(next.inner.x);
      expect(next.inner.kept).toBe(true);
      expect(config).toEqual({ lr: 0.5, width: 7, act: "b", inner: { x: 2, kept: true }, other: 1 });
    }
  });

  test("stays within the domain, on its steps", () => {
    const options = { random: new Random(3), resampleProbability: 0, perturbationFactors: [1.2, 0.8, 5] };
    let config: Record<string, unknown> = { layers: 4, lr: 0.9, size: 64, noise: 3 };
    for (let repeat = 0; repeat < 300; repeat += 1) {
      config = explore(
        config,
        { layers: randint(1, 5), lr: loguniform(1e-3, 1), size: qrandint(32, 128, 32), noise: uniform(-1, 4) },
        options,
      );
      const { layers, lr, size, noise } = config as { layers: number; lr: number; size: number; noise: number };
      expect([1, 2, 3, 4]).toContain(layers);
      expect([32, 64, 96, 128]).toContain(size);
      expect(lr >= 1e-3 && lr <= 1 && noise >= -1 && noise <= 4).toBe(true);
    }
  });

  test("is drawn within the domain where it is drawn anew", () => {
    const options = { random: new Random(2), resampleProbability: 1, perturbationFactors: [2] };
    for (let repeat = 0; repeat < 50; repeat += 1) {
      const { lr, width } = explore({ lr: 5, width: 5 }, { lr: loguniform(1e-3, 1), width: randint(1, 4) }, options) as {
        lr: number;
        width: number;
      };
      expect(lr).toBeGreaterThanOrEqual(1e-3);
      expect(lr).toBeLessThanOrEqual(1);
      expect([1, 2, 3]).toContain(width);
    }
  });

  test("is filled into configurations that lack it", () => {
    const loop = new Loop(new PopulationBasedTraining({ seed: 1, hyperparamMutations: { lr: [1, 2], deep: { x: [3] } } }));
    loop.add({ other: 1 });
    expect(loop.all.get("t0")?.config).toEqual({ other: 1, lr: expect.any(Number) as number, deep: { x: 3 } });
    const bounded = new Loop(new PB2({ seed: 1, hyperparamBounds: { deep: { x: [3, 4] } } }));
    bounded.add({ deep: { y: 1 } });
    const { deep } = (bounded.all.get("t0") as Trial).config as { deep: { x: number; y: number } };
    expect(deep.x).toBeGreaterThanOrEqual(3);
    expect(deep.y).toBe(1);
  });
});

test("a trial of PBT that takes over checkpoints again and again lets others of its age go first", () => {
  const scheduler = new PopulationBasedTraining({
    timeAttr: "trainingIteration",
    perturbationInterval: 1,
    hyperparamMutations: { lr: [1, 2] },
    seed: 1,
  });
  scheduler.setSearchProperties("score", "max");
  const trials = ["a", "b", "c"].map(
    (id, index) => ({ id, index, name: id, status: "paused", config: { lr: 1 }, hasCheckpoint: true }) as unknown as Trial,
  );
  const [first, second, third] = trials as [Trial, Trial, Trial];
  const view = { liveTrials: new Map(trials.map((trial) => [trial.id, trial])), fits: () => true } as unknown as SchedulerView;
  const report = (trial: Trial, trainingIteration: number, score: number) =>
    scheduler.onTrialResult(trial, { trainingIteration, score } as never, view);
  for (const trial of trials) scheduler.onTrialAdd(trial);
  report(second, 1, 3);
  report(third, 1, 5);
  const turns = Array.from({ length: 30 }, () => {
    report(first, 2, 1);
    return scheduler.chooseTrialToRun(view);
  });
  expect(turns.slice(0, 15)).toEqual(Array(15).fill("a"));
  expect(turns.at(-1)).toBe("b");
});

test("PB2 leads a population to what gains most", () => {
  const scheduler = new PB2({ seed: 1, perturbationInterval: 60_000, quantileFraction: 0.5, hyperparamBounds: { lr: [0, 1] } });
  const loop = new Loop(scheduler);
  for (let trial = 0; trial < 4; trial += 1) loop.add({ lr: 0.05 + trial * 0.15 });
  for (let trial = 0; trial < 4; trial += 1) loop.start();
  const gainOf = (trial: Trial) => 1 - Math.abs((trial.config["lr"] as number) - 0.85);
  const scores = new Map<string, number>();
  for (let round = 0; round < 12; round += 1)
    for (let which = 0; which < 4; which += 1) {
      const trial = loop.all.get(`t${which}`) as Trial;
      scores.set(trial.id, (scores.get(trial.id) ?? 0) + gainOf(trial));
      loop.report(which, scores.get(trial.id) as number);
      // A trial that exploits another continues from that one's place.
      const { actions } = loop.decisions.at(-1) as { actions: SchedulerAction[] };
      for (const action of actions) if (action.type === "exploit") scores.set(action.trialId, scores.get(action.donorId) as number);
    }
  const best = [...loop.all.values()].sort(
    (first, second) => (scores.get(second.id) as number) - (scores.get(first.id) as number),
  )[0] as Trial;
  expect(gainOf(best)).toBeGreaterThan(0.85);
});

test("PB2 learns from the newest gains, and whole numbers stay whole", () => {
  const scheduler = new PB2({
    seed: 1,
    perturbationInterval: 60_000,
    quantileFraction: 0.5,
    hyperparamBounds: { lr: [0, 1], width: [8, 64] },
  });
  const loop = new Loop(scheduler);
  const rates = [0.1, 0.35, 0.65, 0.9];
  for (const lr of rates) loop.add({ lr, width: 16 });
  for (const _ of rates) loop.start();
  // Small rates gain most in the first 200 records, large ones in the last 200.
  const rewards = rates.map(() => 0);
  const records = Array.from({ length: 101 }, (_, step) =>
    rates.map((lr, index) => {
      rewards[index] = (rewards[index] as number) + (step <= 50 ? 1 - lr : lr);
      return { trialId: `t${index}`, time: step * 60_000, reward: rewards[index], values: [lr, 16] };
    }),
  ).flat();
  scheduler.restore({ ...(scheduler.save() as Record<string, JsonValue>), records: records as unknown as JsonValue });
  for (const [index] of rates.entries()) loop.steps.set(`t${index}`, 101);
  // In the second round the best two have saved, and the worst exploits one of them.
  for (const round of [1, 2])
    for (const which of [3, 2, 1, 0]) loop.report(which, (rewards[which] as number) + round * (rates[which] as number));
  const { lr, width } = (loop.all.get("t0") as Trial).config as { lr: number; width: number };
  expect(lr).toBeGreaterThan(0.5);
  expect(width).toSatisfy(Number.isInteger);
  expect(loop.decisions.at(-1)).toMatchObject({ actions: [expect.objectContaining({ type: "exploit", trialId: "t0" })] });
});

test("ASHA without a last stop decides once at the highest rung, and not at those below", () => {
  const loop = new Loop(new ASHAScheduler({ maxT: 9, gracePeriod: 1, reductionFactor: 3, stopLastTrials: false }));
  const report = (id: string, step: number, score: number): unknown => {
    loop.steps.set(id, step - 1);
    loop.report([...loop.all.keys()].indexOf(id), score);
    return loop.decisions.at(-1);
  };
  for (let trial = 0; trial < 4; trial += 1) loop.add({});
  for (let trial = 0; trial < 4; trial += 1) loop.start();
  for (const id of ["t0", "t1", "t2"]) expect(report(id, 3, 10)).toBe("continue");
  expect([report("t3", 9, 5), report("t3", 10, 5), report("t3", 11, 5)]).toEqual(["continue", "continue", "continue"]);
});

test("a bracket of HyperBand has no milestone beyond maxT, and ends trials without a score first", () => {
  const bracket = new HyperBandBracket({
    trialsMax: 9,
    firstMilestone: 1,
    maxT: 8,
    reductionFactor: 3,
    halvings: 2,
    stopLastTrials: true,
  });
  for (let trial = 0; trial < 4; trial += 1) bracket.add(`t${trial}`);
  for (const [trial, score] of [0.1, Number.NaN, 0.3, 0.2].entries()) bracket.update(`t${trial}`, { time: 1, score });
  expect(bracket.halve()).toEqual({ bad: ["t1"], good: ["t0", "t3", "t2"] });
  expect(bracket.milestone).toBe(3);
  bracket.halve();
  expect(bracket.milestone).toBe(8);
});

test("a replay goes through the configurations of one trial, without those that an exploit replaced", () => {
  const policy = [
    ["t1", "t2", 4, 4, { lr: 9 }, { lr: 8 }],
    ["t3", "t0", 4, 5, { lr: 1 }, { lr: 2 }],
    ["t5", "t3", 9, 10, { lr: 2 }, { lr: 3 }],
  ];
  const scheduler = new PopulationBasedTrainingReplay({ policy: policy.map((line) => JSON.stringify(line)).join("\n") });
  const loop = new Loop(scheduler);
  loop.add({});
  loop.start();
  expect(loop.all.get("t0")?.config).toEqual({ lr: 1 });
  const configs: unknown[] = [];
  for (let step = 1; step <= 11; step += 1) {
    loop.report(0, 1);
    configs.push(loop.all.get("t0")?.config["lr"]);
  }
  expect(configs).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3]);
  expect(() => loop.add({})).toThrow(/numSamples/);
});

test("numbers are rounded as Python rounds them", () => {
  expect([0.5, 1.5, 2.5, -0.5, -1.5, 2.4999].map(roundHalfEven)).toEqual([0, 2, 2, -0, -2, 2]);
  fc.assert(
    fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (value) => {
      expect(Math.abs(naturalLog(value) - Math.log(value))).toBeLessThanOrEqual(2e-15 * Math.max(1, Math.abs(Math.log(value))));
    }),
  );
  // CPython's quotient, where V8 gives 5.
  expect(naturalLog(243) / naturalLog(3)).toBe(4.999999999999999);
});
