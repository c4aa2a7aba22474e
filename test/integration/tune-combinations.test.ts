/** Searchers and schedulers that other tests know from recorded decisions alone, each over real trials that step, save and load. */
import {
  BasicVariantGenerator,
  BayesOptSearch,
  BOHBSearch,
  CmaEsSearch,
  ConcurrencyLimiter,
  type ExperimentInfo,
  gridSearch,
  HyperBandForBOHB,
  MedianStoppingRule,
  PB2,
  PopulationBasedTraining,
  Repeater,
  type Searcher,
  TPESearch,
  type TrialScheduler,
  Tuner,
  uniform,
  withResources,
} from "shoal/tune";
import { beforeEach, describe, expect, test } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 2 });
const folder = useFolder();
let runs = 0;
beforeEach(() => (runs += 1));
const runConfig = (more: object = {}) => ({ storagePath: folder, name: `run-${runs}`, ...more });

/** Comes nearer to its `x` with each step, and never quite there: the loss is least where `x` is 3. */
class Nearing {
  x = 0;
  steps = 0;
  setup({ x }: { x: number }): void {
    this.x = x;
  }
  async step(): Promise<{ loss: number; steps: number }> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    this.steps += 1;
    return { loss: (this.x - 3) ** 2 + 1 / this.steps, steps: this.steps };
  }
  saveCheckpoint(path: string): void {
    process.getBuiltinModule("node:fs").writeFileSync(`${path}/steps`, String(this.steps));
  }
  loadCheckpoint(path: string): void {
    this.steps = Number(process.getBuiltinModule("node:fs").readFileSync(`${path}/steps`, "utf8"));
  }
}

/** Answers after a pause, as one would over a network. */
class Slow implements Searcher {
  readonly #pauseMs: number;
  readonly #left = [2.5, 3, 3.5];
  readonly told: [string, number | undefined][] = [];
  constructor(pauseMs = 5) {
    this.#pauseMs = pauseMs;
  }
  setSearchProperties(): void {}
  async suggest() {
    await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
    const x = this.#left.shift();
    return x === undefined ? ("finished" as const) : { x };
  }
  async onTrialComplete(trialId: string, result?: Parameters<Searcher["onTrialComplete"]>[1]): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
    this.told.push([trialId.slice(-1), result?.["loss"] as number | undefined]);
  }
  save() {
    return { left: this.#left };
  }
  restore(): void {}
}

interface Case {
  readonly scheduler?: () => TrialScheduler;
  readonly searchAlg?: () => Searcher;
  readonly numSamples?: number;
  /** The numbers of steps, by trial. */
  readonly steps?: (steps: number[]) => boolean;
}

const seed = 7;
const CASES: Record<string, Case> = {
  "median stopping": {
    scheduler: () => new MedianStoppingRule({ timeAttr: "steps", gracePeriod: 2 }),
    // With this seed the last trial is the worst. One run of 25 without a seed draws values of which each is better than the median of those before.
    searchAlg: () => new BasicVariantGenerator({ seed: 8 }),
    numSamples: 8,
    steps: (steps) => steps.includes(9) && steps.some((count) => count < 9),
  },
  "BOHB with its HyperBand": {
    scheduler: () => new HyperBandForBOHB({ maxT: 9 }),
    searchAlg: () => new BOHBSearch({ seed }),
    numSamples: 8,
    steps: (steps) => steps.includes(9) && steps.some((count) => count < 9),
  },
  "a Gaussian process": { searchAlg: () => new BayesOptSearch({ seed }), numSamples: 12 },
  "CMA-ES": { searchAlg: () => new CmaEsSearch({ seed }), numSamples: 20 },
  "a limit of trials at once": { searchAlg: () => new ConcurrencyLimiter(new TPESearch({ seed }), { maxConcurrent: 1 }), numSamples: 12 },
  "each configuration twice": { searchAlg: () => new Repeater(new TPESearch({ seed }), { repeat: 2 }), numSamples: 12 },
  "an own searcher": { searchAlg: () => new Slow(), numSamples: 9 },
};

test.each(Object.entries(CASES))("%s", async (_, { scheduler, searchAlg, numSamples = 4, steps }) => {
  const results = await new Tuner(Nearing, {
    paramSpace: { x: uniform(0, 10) },
    tuneConfig: { metric: "loss", mode: "min", numSamples, scheduler: scheduler?.(), searchAlg: searchAlg?.() },
    runConfig: runConfig({ stop: { steps: 9 } }),
  }).fit();
  expect(results.errors).toEqual([]);
  const own = searchAlg?.() instanceof Slow;
  expect(results).toHaveLength(own ? 3 : numSamples);
  const counts = Array.from(results, ({ metrics }) => metrics?.steps as number);
  if (steps === undefined) expect(new Set(counts)).toEqual(new Set([9]));
  else expect([steps(counts), counts]).toEqual([true, counts]);
  const configs = Array.from(results, ({ config }) => JSON.stringify({ x: config.x }));
  if (searchAlg?.() instanceof Repeater) expect(new Set(configs).size).toBe(6);
  // Seeds are fixed. Twelve draws at random would all lie farther away than 1.5 in one run of seventy.
  if (searchAlg !== undefined) expect(results.getBestResult().metrics?.loss).toBeLessThan(1.5 ** 2 + 1);
});

test.each([5, 100])("an own searcher that answers after %i ms hears of all ends", async (pauseMs) => {
  const searchAlg = new Slow(pauseMs);
  const tuner = new Tuner(Nearing, {
    paramSpace: { x: uniform(0, 10) },
    tuneConfig: { metric: "loss", mode: "min", numSamples: 9, searchAlg },
    runConfig: runConfig({ stop: { steps: 2 } }),
  });
  await tuner.fit();
  expect(searchAlg.told.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
    ["0", 0.75],
    ["1", 0.5],
    ["2", 0.75],
  ]);
});

test("fit throws what a searcher throws at the last trial's end", async () => {
  class Failing extends Slow {
    override async onTrialComplete(trialId: string): Promise<void> {
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (trialId.endsWith("2")) throw new Error("the search has no room for more");
    }
  }
  const tuner = new Tuner(Nearing, {
    paramSpace: { x: uniform(0, 10) },
    tuneConfig: { metric: "loss", mode: "min", numSamples: 3, searchAlg: new Failing() },
    runConfig: runConfig({ stop: { steps: 2 } }),
  });
  await expect(tuner.fit()).rejects.toThrow("the search has no room for more");
});

test("PB2 explores within its bounds, from the checkpoints of better trials", async () => {
  const results = await new Tuner(Nearing, {
    paramSpace: { x: uniform(0, 10) },
    tuneConfig: {
      metric: "loss",
      mode: "min",
      numSamples: 4,
      // Draws two values that are near to 3 and two that are not.
      seed: 4,
      scheduler: new PB2({ timeAttr: "steps", perturbationInterval: 3, hyperparamBounds: { x: [0, 10] }, seed }),
    },
    runConfig: runConfig({ stop: { steps: 12 } }),
  }).fit();
  expect(results.errors).toEqual([]);
  for (const { config, metrics } of results) {
    expect(config.x).toBeGreaterThanOrEqual(0);
    expect(config.x).toBeLessThanOrEqual(10);
    expect(metrics?.steps).toBe(12);
  }
  expect(results.getBestResult().metrics?.loss).toBeLessThan(2);
});

describe("options", () => {
  test("a grid is run for each sample, after the points that were asked for, and callbacks are told how many trials that makes", async () => {
    const totals: number[] = [];
    const results = await new Tuner(({ x, y, z }: { x: number; y: number; z: number }) => ({ sum: x + y + z }), {
      paramSpace: { x: gridSearch([1, 2]), y: gridSearch([10, 20]), z: uniform(0, 1) },
      tuneConfig: { numSamples: 2, searchAlg: new BasicVariantGenerator({ pointsToEvaluate: [{ x: 2, y: 20, z: 0.5 }], seed }) },
      runConfig: runConfig({ callbacks: [{ setup: ({ totalNumSamples }: ExperimentInfo) => totals.push(totalNumSamples) }] }),
    }).fit();
    expect(totals).toEqual([5]);
    const seen = Array.from(results, ({ config: { x, y } }) => `${x} ${y}`);
    expect(results.at(0)?.config).toEqual({ x: 2, y: 20, z: 0.5 });
    expect(seen).toEqual(["2 20", "1 10", "1 20", "2 10", "2 20"]);
  });

  test("resources may follow the configuration, and the best of two metrics are found", async () => {
    const trainable = withResources(
      ({ x }: { x: number }) => ({ cost: x, error: 10 - x ** 2 }),
      ({ x }) => ({ numCpus: x === 2 ? 2 : 1 }),
    );
    const results = await new Tuner(trainable, {
      paramSpace: { x: gridSearch([0, 1, 2, 3]) },
      tuneConfig: { metric: ["cost", "error"], mode: ["min", "min"], searchAlg: new BasicVariantGenerator() },
      runConfig: runConfig(),
    }).fit();
    expect(results.errors).toEqual([]);
    expect(new Set(results.getParetoFront().map(({ config }) => config.x))).toEqual(new Set([0, 1, 2, 3]));
    const { cost, error } = (await results.toColumns()) as unknown as { cost: ArrayLike<number>; error: ArrayLike<number> };
    expect([Array.from(cost), Array.from(error)]).toEqual([
      [0, 1, 2, 3],
      [10, 9, 6, 1],
    ]);
  });

  test("an own function explores, whatever was drawn", async () => {
    const results = await new Tuner(Nearing, {
      paramSpace: { x: gridSearch([3, 9]) },
      tuneConfig: {
        metric: "loss",
        mode: "min",
        scheduler: new PopulationBasedTraining({
          timeAttr: "steps",
          perturbationInterval: 2,
          // Otherwise a trial whose process begins late may find that the other has ended.
          synch: true,
          quantileFraction: 0.5,
          hyperparamMutations: { x: uniform(0, 10) },
          customExploreFn: (config) => ({ ...config, x: 3.5 }),
        }),
      },
      runConfig: runConfig({ stop: { steps: 6 } }),
    }).fit();
    expect(results.errors).toEqual([]);
    expect(new Set(Array.from(results, ({ config }) => config.x))).toEqual(new Set([3, 3.5]));
  });

  test('failFast: "raise" rejects with the error of the user', async () => {
    const failing = ({ x }: { x: number }): { x: number } => {
      if (x === 1) throw new RangeError("no 1");
      return { x };
    };
    const tuner = new Tuner(failing, {
      paramSpace: { x: gridSearch([0, 1, 2]) },
      runConfig: runConfig({ failureConfig: { failFast: "raise" } }),
    });
    const error = await failureOf(tuner.fit());
    expect(error).toBeInstanceOf(RangeError);
    expect((error as Error).message).toBe("no 1");
  });
});
