/** Tests searchers by asks and tells alone: proposals, refusals, and that a restored search continues the same sequence. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Searcher } from "../searcher.ts";
import { choice, gridSearch, loguniform, quniform, randint, randn, sampleFrom, uniform } from "../spaces/space.ts";
import type { Config, JsonValue, TrialResult } from "../trials/trial.ts";
import { BasicVariantGenerator } from "./basic-variant-generator.ts";
import { BayesOptSearch } from "./gaussian/bayes-opt-search.ts";
import { BOHBSearch } from "./bohb-search.ts";
import { CmaEsSearch } from "./evolution/cma-es-search.ts";
import { ConcurrencyLimiter } from "./concurrency-limiter.ts";
import { createSearcher } from "./create-searcher.ts";
import type { ModelSearch } from "./model-search.ts";
import { AxSearch, BayesianOptimizationSearch } from "./python/python-searchers.ts";
import { Repeater } from "./repeater.ts";
import { TPESearch } from "./density/tpe-search.ts";

const SPACE = {
  x: uniform(-5, 5),
  lr: loguniform(1e-5, 1),
  width: randint(1, 65),
  part: quniform(0, 1, 0.25),
  noise: randn(),
  model: choice([
    { kind: "tree", depth: randint(1, 9) },
    { kind: "linear", penalty: loguniform(1e-4, 1) },
  ]),
  twice: sampleFrom((config) => 2 * (config["x"] as number)),
};
const SIMPLE = { x: uniform(-5, 5), y: uniform(-5, 5) };

interface Sampled {
  x: number;
  lr: number;
  width: number;
  part: number;
  noise: number;
  model: { kind: "tree"; depth: number } | { kind: "linear"; penalty: number };
  twice: number;
}

function lossOf({ x, lr, width, model }: Sampled): number {
  return (x - 2) ** 2 + (Math.log10(lr) + 3) ** 2 + (width - 20) ** 2 / 100 + (model.kind === "tree" ? 0 : 1);
}

const result = (values: Record<string, number>) => values as unknown as TrialResult;

const MODELS: readonly (readonly [string, (seed: number) => ModelSearch])[] = [
  ["TPESearch", (seed) => new TPESearch({ seed, nStartupTrials: 4 })],
  ["TPESearch, each place for itself", (seed) => new TPESearch({ seed, nStartupTrials: 4, multivariate: false })],
  ["BayesOptSearch", (seed) => new BayesOptSearch({ seed, nInitialPoints: 4 })],
  ["BayesOptSearch by its bound", (seed) => new BayesOptSearch({ seed, nInitialPoints: 4, acquisition: "ucb" })],
  ["CmaEsSearch", (seed) => new CmaEsSearch({ seed, populationSize: 4 })],
  ["BOHBSearch", (seed) => new BOHBSearch({ seed, minPointsInModel: 3, randomFraction: 0.2 })],
];
const WRAPPED: readonly (readonly [string, (seed: number) => Searcher])[] = [
  ["ConcurrencyLimiter", (seed) => new ConcurrencyLimiter(new TPESearch({ seed, nStartupTrials: 2 }), { maxConcurrent: 2 })],
  [
    "ConcurrencyLimiter in batches",
    (seed) => new ConcurrencyLimiter(new TPESearch({ seed, nStartupTrials: 2 }), { maxConcurrent: 3, batch: true }),
  ],
  ["BasicVariantGenerator with a limit", (seed) => new BasicVariantGenerator({ seed, numSamples: -1, maxConcurrent: 2 })],
  ["Repeater", (seed) => new Repeater(new TPESearch({ seed, nStartupTrials: 2 }), { repeat: 2 })],
];

/** A call of the loop: an ask for a trial, or a tell about a running one. */
type Step = { readonly ask: true } | { readonly ask: false; readonly which: number; readonly outcome: "end" | "fail" | "report" };

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Step>({ ask: true }) },
    {
      weight: 3,
      arbitrary: fc.record({
        ask: fc.constant<false>(false),
        which: fc.nat(9),
        outcome: fc.constantFrom("end", "end", "end", "fail", "report"),
      }),
    },
  ),
  { minLength: 10, maxLength: 45 },
);

/** Makes calls on a searcher, and returns the answers. `restart` is called before one of them and gives the searcher to continue with. */
async function drive(
  first: Searcher,
  calls: readonly Step[],
  restart?: { at: number; with: (searcher: Searcher) => Promise<Searcher> },
): Promise<unknown[]> {
  let searcher = first;
  await searcher.setSearchProperties("loss", "min", SPACE);
  const running: { id: string; config: Sampled; reports: number }[] = [];
  const answers: unknown[] = [];
  for (const [index, step] of calls.entries()) {
    if (restart?.at === index) searcher = await restart.with(searcher);
    if (step.ask) {
      const id = `t${index}`;
      const answer = await searcher.suggest(id);
      answers.push(answer);
      if (typeof answer !== "string") running.push({ id, config: answer as unknown as Sampled, reports: 0 });
      continue;
    }
    const trial = running[step.which % Math.max(1, running.length)];
    if (trial === undefined) continue;
    trial.reports += 1;
    const values = result({ loss: lossOf(trial.config), trainingIteration: trial.reports });
    if (step.outcome === "report") await searcher.onTrialResult?.(trial.id, values);
    else {
      await searcher.onTrialComplete(trial.id, step.outcome === "fail" ? undefined : values, step.outcome === "fail");
      running.splice(running.indexOf(trial), 1);
    }
  }
  return answers;
}

describe.each([...MODELS, ...WRAPPED])("%s", (_, make) => {
  test("that is restored at any point gives the same configurations as one that was never interrupted", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000), steps, fc.double({ min: 0, max: 1, noNaN: true }), async (seed, calls, part) => {
        const expected = await drive(make(seed), calls);
        const restored = await drive(make(seed), calls, {
          at: Math.floor(part * calls.length),
          with: async (searcher) => {
            const state = JSON.parse(JSON.stringify(await searcher.save())) as JsonValue;
            // A different seed: the saved state includes the generator.
            const next = make(seed + 1);
            await next.setSearchProperties("loss", "min", SPACE);
            await next.restore(state);
            return next;
          },
        });
        expect(restored).toEqual(expected);
      }),
      { numRuns: 12 },
    );
  });
});

describe.each(MODELS)("%s", (title, make) => {
  // A Gaussian process needs fewer trials, and more time for each.
  const trials = title.startsWith("BayesOpt") ? 22 : 60;

  test("stays within the space, and gives places of options that are not chosen no value", () => {
    const searcher = make(3);
    searcher.setSearchProperties("loss", "min", SPACE);
    for (let trial = 0; trial < 30; trial += 1) {
      const config = searcher.suggest(`t${trial}`) as unknown as Sampled;
      expect(Math.abs(config.x)).toBeLessThanOrEqual(5);
      expect(config.lr).toBeGreaterThanOrEqual(1e-5);
      expect(config.lr).toBeLessThanOrEqual(1);
      expect(Number.isInteger(config.width) && config.width >= 1 && config.width <= 64).toBe(true);
      expect([0, 0.25, 0.5, 0.75, 1]).toContain(config.part);
      expect(Object.keys(config.model)).toEqual(config.model.kind === "tree" ? ["kind", "depth"] : ["kind", "penalty"]);
      expect(config.twice).toBe(2 * config.x);
      searcher.onTrialComplete(`t${trial}`, result({ loss: lossOf(config) }));
    }
  });

  test("finds better configurations than random search, in either mode", () => {
    const best = (searcher: ModelSearch, mode: "min" | "max") => {
      searcher.setSearchProperties("loss", mode, SIMPLE);
      let least = Number.POSITIVE_INFINITY;
      for (let trial = 0; trial < trials; trial += 1) {
        const { x, y } = searcher.suggest(`t${trial}`) as unknown as { x: number; y: number };
        const loss = (x - 2) ** 2 + (y + 1) ** 2;
        least = Math.min(least, loss);
        searcher.onTrialResult(`t${trial}`, result({ loss: mode === "min" ? loss : -loss, trainingIteration: 1 }));
        searcher.onTrialComplete(`t${trial}`, result({ loss: mode === "min" ? loss : -loss, trainingIteration: 1 }));
      }
      return least;
    };
    const median = (values: number[]) => values.sort((a, b) => a - b)[2] as number;
    const seeds = [1, 2, 3, 4, 5];
    const random = median(seeds.map((seed) => best(new TPESearch({ seed, nStartupTrials: 1_000 }), "min")));
    expect(median(seeds.map((seed) => best(make(seed), "min")))).toBeLessThan(random);
    expect(median(seeds.map((seed) => best(make(seed), "max")))).toBeLessThan(random);
  });

  test("runs the user's points first, fills in what they leave out, and learns from known results", () => {
    const name = make(0).definition?.type as string;
    const pointsToEvaluate = [{ x: 1, y: 1 }, { x: 2 }];
    const searcher = createSearcher(name, { seed: 1, pointsToEvaluate, evaluatedRewards: [3] }) as ModelSearch;
    searcher.setSearchProperties("loss", "min", SIMPLE);
    const config = searcher.suggest("t0") as Config;
    expect(config["x"]).toBe(2);
    expect(Math.abs(config["y"] as number)).toBeLessThanOrEqual(5);
    expect((searcher.save() as { observations: unknown[] }).observations).toHaveLength(1);
  });

  test("runs the user's points with all their digits", () => {
    const name = make(0).definition?.type as string;
    const values = [0.5, 0.1, 0.3, 1e-3, 1 / 3, 0.7000000000000001];
    const pointsToEvaluate = values.map((lr) => ({ lr, x: lr }));
    const searcher = createSearcher(name, { seed: 1, pointsToEvaluate }) as ModelSearch;
    searcher.setSearchProperties("loss", "min", { lr: loguniform(1e-4, 1), x: uniform(0, 1) });
    expect(values.map((_, index) => searcher.suggest(`t${index}`))).toEqual(pointsToEvaluate);
  });

  test("has no place for a grid, and a space of nothing gives an empty configuration", () => {
    expect(() => make(1).setSearchProperties("loss", "min", { lr: gridSearch([1, 2]) })).toThrow(/"lr".*gridSearch/);
    const searcher = make(1);
    searcher.setSearchProperties("loss", "min", { fixed: 1 });
    expect(searcher.suggest("t0")).toEqual({ fixed: 1 });
  });

  test("learns nothing from results without a finite metric", () => {
    const searcher = make(1);
    searcher.setSearchProperties("loss", "min", SIMPLE);
    for (const [trial, values] of [{ loss: Number.NaN }, { loss: Number.POSITIVE_INFINITY }, { other: 1 }].entries()) {
      searcher.suggest(`t${trial}`);
      searcher.onTrialComplete(`t${trial}`, result(values));
    }
    expect((searcher.save() as { observations: unknown[] }).observations).toEqual([]);
  });
});

describe("TPESearch", () => {
  test("spreads parallel asks more with running trials as bad ones than without", () => {
    const spread = (constantLiar: boolean) => {
      const searcher = new TPESearch({ seed: 5, constantLiar });
      searcher.setSearchProperties("loss", "min", SIMPLE);
      const ask = (id: string) => searcher.suggest(id) as unknown as { x: number; y: number };
      for (let trial = 0; trial < 40; trial += 1) {
        const { x, y } = ask(`t${trial}`);
        searcher.onTrialComplete(`t${trial}`, result({ loss: x ** 2 + y ** 2 }));
      }
      const asked = Array.from({ length: 20 }, (_, index) => ask(`p${index}`));
      const nearest = asked.map((one) =>
        Math.min(...asked.filter((other) => other !== one).map((other) => Math.hypot(one.x - other.x, one.y - other.y))),
      );
      return nearest.reduce((sum, distance) => sum + distance, 0);
    };
    expect(spread(true)).toBeGreaterThan(spread(false));
  });

  test("covers the front of two metrics", () => {
    const searcher = new TPESearch({ seed: 2 });
    searcher.setSearchProperties(["a", "b"], ["min", "max"], SIMPLE);
    const late: number[] = [];
    for (let trial = 0; trial < 120; trial += 1) {
      const { x, y } = searcher.suggest(`t${trial}`) as unknown as { x: number; y: number };
      searcher.onTrialComplete(`t${trial}`, result({ a: x ** 2 + y ** 2, b: -((x - 2) ** 2) - y ** 2 }));
      // The front is at y = 0 with x from 0 to 2.
      if (trial >= 80) late.push(Math.abs(y) + Math.max(0, -x, x - 2));
    }
    late.sort((a, b) => a - b);
    expect(late[20]).toBeLessThan(1.5);
  });

  // A change that only makes asks faster proposes the same.
  test.each([
    [["a"], true, 3.8767162469685843, -2.0212525221428934],
    [["a", "b"], true, 1.7470054896383846, -0.08204459207379866],
    [["a", "b", "c"], true, -0.42025018787406676, 1.8477078493195744],
    [["a"], false, -0.0031918826024535107, -0.07102977227304841],
    [["a", "b"], false, 1.4599968575125004, 0.03356501200938222],
    [["a", "b", "c"], false, 0.30370079165980357, 0.20515545389726686],
  ] as const)("proposes what it always did: %j, multivariate %j", (metrics, multivariate, lastX, lastY) => {
    const searcher = new TPESearch({ seed: 7, multivariate });
    const modes = metrics.map(() => "min" as const);
    searcher.setSearchProperties(metrics, modes, SIMPLE);
    const ask = (id: string) => searcher.suggest(id) as unknown as { x: number; y: number };
    for (let trial = 0; trial < 300; trial += 1) {
      const { x, y } = ask(`t${trial}`);
      searcher.onTrialComplete(`t${trial}`, result({ a: x ** 2 + y ** 2, b: (x - 2) ** 2 + y ** 2, c: x ** 2 + (y - 2) ** 2 }));
    }
    const { x, y } = ask("last");
    expect(x).toBeCloseTo(lastX, 12);
    expect(y).toBeCloseTo(lastY, 12);
  });

  test("refuses options that do not exist, and several metrics with one mode", () => {
    expect(() => new TPESearch({ nStartup: 3 } as never)).toThrow(/nStartupTrials/);
    expect(() => new TPESearch().setSearchProperties([], [], SIMPLE)).toThrow("Cannot search with TPESearch: it learns from a metric");
    expect(() => new TPESearch({ metric: "a" }).setSearchProperties([], [], SIMPLE)).toThrow(
      /less or more of "a" is better is needed: set mode/,
    );
    expect(() => new TPESearch({ metric: "a" }).setSearchProperties([], "max", SIMPLE)).not.toThrow();
    expect(() => new TPESearch({ metric: ["a", "b"] }).setSearchProperties("a", "min", SIMPLE)).toThrow(/each of 2 metrics needs a mode/);
    expect(() => new CmaEsSearch({ metric: ["a", "b"] }).setSearchProperties("a", "min", SIMPLE)).toThrow(/TPESearch/);
    expect(() => new TPESearch({ evaluatedRewards: [1] })).toThrow(/pointsToEvaluate/);
  });
});

// The limits are of processor time, in the best of some batches: other work of the machine must not count.
describe("asks within milliseconds", () => {
  const space = Object.fromEntries(Array.from({ length: 6 }, (_, axis) => [`x${axis}`, uniform(0, 1)]));
  const sphereOf = (config: object) => Object.values(config).reduce<number>((sum, each: number) => sum + (each - 0.3) ** 2, 0);

  /** The model's process at all the points that it keeps, without the seconds in which it would propose them. */
  const gaussianProcess = () => {
    const random = new BasicVariantGenerator({ numSamples: 300, seed: 1 });
    random.setSearchProperties("loss", "min", space);
    const points = Array.from({ length: 300 }, (_, index) => random.suggest(`t${index}`) as Config);
    return new BayesOptSearch({ seed: 1, pointsToEvaluate: points, evaluatedRewards: points.map(sphereOf) });
  };

  const processorMs = (work: () => void, times: number): number => {
    const began = process.cpuUsage();
    for (let each = 0; each < times; each += 1) work();
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1_000;
  };

  let sink = 0;
  /** Takes a millisecond on a quiet core of the machines that the bounds were measured on. */
  const yardstick = (): void => {
    for (let each = 0; each < 50_000; each += 1) sink += Math.exp(-(each % 7)) * Math.log(1 + (each % 11));
    expect(sink).toBeGreaterThan(0);
  };

  test.each<readonly [string, () => ModelSearch, { metrics?: readonly string[]; trials?: number; batch?: number; msMax: number }]>([
    ["TPE, places together", () => new TPESearch({ seed: 1 }), { msMax: 2 }],
    ["TPE, each place for itself", () => new TPESearch({ seed: 1, multivariate: false }), { msMax: 2 }],
    ["TPE with two metrics", () => new TPESearch({ seed: 1 }), { metrics: ["loss", "other"], msMax: 3 }],
    ["TPE with three metrics", () => new TPESearch({ seed: 1 }), { metrics: ["loss", "other", "third"], msMax: 3 }],
    ["BOHB", () => new BOHBSearch({ seed: 1 }), { msMax: 3 }],
    ["CMA-ES", () => new CmaEsSearch({ seed: 1 }), { msMax: 2 }],
    ["a Gaussian process of 300 points", gaussianProcess, { trials: 0, batch: 2, msMax: 100 }],
  ])("at 1,000 trials, or as many as are kept: %s", (_title, make, { metrics = ["loss"], trials = 1_000, batch = 10, msMax }) => {
    const searcher = make();
    searcher.setSearchProperties(
      metrics,
      metrics.map(() => "min" as const),
      space,
    );
    let asked = 0;
    const round = () => {
      const config = searcher.suggest(`t${asked}`) as Record<string, number>;
      const report = result({ loss: sphereOf(config), other: config["x0"] as number, third: config["x1"] as number });
      searcher.onTrialComplete(`t${asked}`, report);
      asked += 1;
    };
    for (let trial = 0; trial < trials; trial += 1) round();
    const times: number[] = [];
    const yards: number[] = [];
    for (let block = 0; block < 16; block += 1) {
      times.push(processorMs(round, batch) / batch);
      yards.push(processorMs(yardstick, 10) / 10);
    }
    // Neighbours on the same core slow both down, and the bound is for a machine that has the core to itself.
    expect(Math.min(...times) / Math.min(...yards)).toBeLessThan(msMax);
  });
});

describe("CmaEsSearch", () => {
  test("learns which option of a choice is good", () => {
    const searcher = new CmaEsSearch({ seed: 1 });
    searcher.setSearchProperties("loss", "min", { x: uniform(0, 1), c: choice(["a", "b", "c", "d"]) });
    let good = 0;
    for (let trial = 0; trial < 200; trial += 1) {
      const { x, c } = searcher.suggest(`t${trial}`) as unknown as { x: number; c: string };
      if (trial >= 150 && c === "c") good += 1;
      searcher.onTrialComplete(`t${trial}`, result({ loss: (x - 0.3) ** 2 + (c === "c" ? 0 : 1) }));
    }
    expect(good).toBeGreaterThan(35);
  });

  test("starts elsewhere with twice the population when it has converged", () => {
    const searcher = new CmaEsSearch({ seed: 1 });
    searcher.setSearchProperties("loss", "min", SIMPLE);
    for (let trial = 0; trial < 900; trial += 1) {
      const { x, y } = searcher.suggest(`t${trial}`) as unknown as { x: number; y: number };
      searcher.onTrialComplete(`t${trial}`, result({ loss: x ** 2 + y ** 2 }));
    }
    expect((searcher.save() as { model: { restarts: number } }).model.restarts).toBeGreaterThan(0);
  });
});

describe("BOHBSearch", () => {
  test("learns from trials that have not ended, at the largest budget with enough of them", () => {
    const searcher = new BOHBSearch({ seed: 1, randomFraction: 0 });
    searcher.setSearchProperties("loss", "min", SIMPLE);
    for (let trial = 0; trial < 60; trial += 1) {
      const { x, y } = searcher.suggest(`t${trial}`) as unknown as { x: number; y: number };
      searcher.onTrialResult(`t${trial}`, result({ loss: (x - 2) ** 2 + (y - 2) ** 2, trainingIteration: 1 }));
    }
    const late = Array.from({ length: 10 }, (_, index) => searcher.suggest(`p${index}`) as unknown as { x: number; y: number });
    const distances = late.map(({ x, y }) => Math.hypot(x - 2, y - 2)).sort((a, b) => a - b);
    expect(distances[5]).toBeLessThan(2.5);
  });
});

test("BOHBSearch keeps known results apart from trials that were stopped early, also in a state that was JSON", () => {
  const pointsToEvaluate = Array.from({ length: 5 }, (_, index) => ({ x: index, y: 0 }));
  const options = { seed: 1, randomFraction: 0, pointsToEvaluate, evaluatedRewards: [4, 3, 2, 1, 0] };
  const [first, second] = [new BOHBSearch(options), new BOHBSearch(options)];
  for (const each of [first, second]) each.setSearchProperties("loss", "min", SIMPLE);
  second.restore(JSON.parse(JSON.stringify(first.save())) as JsonValue);
  expect(second.save()).toEqual(first.save());
  expect(Array.from({ length: 5 }, (_, index) => second.suggest(`t${index}`))).toEqual(
    Array.from({ length: 5 }, (_, index) => first.suggest(`t${index}`)),
  );
});

describe("BayesOptSearch, of what it has proposed before,", () => {
  /** Configurations of three points, until the search ends. */
  const run = (options: object) => {
    const searcher = new BayesOptSearch({ seed: 1, nInitialPoints: 2, ...options });
    searcher.setSearchProperties("loss", "min", { x: randint(0, 3) });
    const asked: number[] = [];
    while (asked.length < 30) {
      const config = searcher.suggest(`t${asked.length}`);
      if (typeof config === "string") return { asked, end: config };
      asked.push(config["x"] as number);
      searcher.onTrialComplete(`t${asked.length - 1}`, result({ loss: ((config["x"] as number) - 1) ** 2 }));
    }
    return { asked, end: undefined };
  };

  test("tries random points instead, and ends where its patience does", () => {
    expect(run({}).end).toBeUndefined();
    const short = run({ patience: 2 });
    expect(short.end).toBe("finished");
    expect(new Set(short.asked)).toEqual(new Set([0, 1, 2]));
    expect(run({ patience: 6 }).asked.length).toBe(short.asked.length + 4);
  });

  test("runs it again where it may", () => {
    const greedy = { acquisition: "ucb", kappa: 0 };
    expect(new Set(run({ ...greedy, skipDuplicate: false }).asked.slice(-15))).toEqual(new Set([1]));
    expect(new Set(run(greedy).asked.slice(-15)).size).toBe(3);
  });

  test("refuses names and values that it does not take", () => {
    expect(() => new BayesOptSearch({ patience: 0 })).toThrow(/patience/);
    expect(() => new BayesOptSearch({ randomSearchSteps: 3 } as never)).toThrow(/it is nInitialPoints/);
  });
});

test("BasicVariantGenerator lets so many trials run as it is told", () => {
  const searcher = new BasicVariantGenerator({ numSamples: 3, seed: 1, maxConcurrent: 2 });
  searcher.setSearchProperties([], [], SIMPLE);
  const ask = (id: string) => {
    const suggestion = searcher.suggest(id);
    return typeof suggestion === "string" ? suggestion : "given";
  };
  expect([ask("a"), ask("b"), ask("c")]).toEqual(["given", "given", "later"]);
  searcher.onTrialComplete("b");
  expect([ask("c"), ask("d")]).toEqual(["given", "finished"]);
  expect(() => new BasicVariantGenerator({ maxConcurrent: -1 })).toThrow(/maxConcurrent/);
});

test("BasicVariantGenerator counts the trials that it gives, fewer for points that fix axes of a grid", () => {
  const searcher = new BasicVariantGenerator({ numSamples: 3, seed: 1, pointsToEvaluate: [{ a: 1, b: 10 }, { a: 2 }] });
  searcher.setSearchProperties([], [], { a: gridSearch([1, 2]), b: gridSearch([10, 20, 30]) });
  let given = 0;
  while (searcher.suggest(`t${given}`) !== "finished") given += 1;
  expect([given, searcher.trialsMax]).toEqual([1 + 3 + 6, given]);
  searcher.setDefaults({ numSamples: -1, seed: undefined });
  expect(searcher.trialsMax).toBe(10);
});

describe("ConcurrencyLimiter", () => {
  test("asks for no more trials than may run, and in batches waits for all of one", async () => {
    const limiter = new ConcurrencyLimiter(new TPESearch({ seed: 1 }), { maxConcurrent: 2, batch: true });
    await limiter.setSearchProperties("loss", "min", SIMPLE);
    await limiter.suggest("a");
    await limiter.suggest("b");
    expect(await limiter.suggest("c")).toBe("later");
    await limiter.onTrialComplete("a", result({ loss: 1 }));
    expect(await limiter.suggest("c")).toBe("later");
    await limiter.onTrialComplete("b", result({ loss: 1 }));
    expect(await limiter.suggest("c")).not.toBe("later");
    expect(() => new ConcurrencyLimiter(new TPESearch(), {} as never)).toThrow(/maxConcurrent/);
  });
});

describe("Repeater", () => {
  test("gives a configuration several times, and the searcher the mean of those that count", async () => {
    const inner = new TPESearch({ seed: 1 });
    const repeater = new Repeater(inner, { repeat: 3 });
    await repeater.setSearchProperties("loss", "min", SIMPLE);
    const configs = [await repeater.suggest("a"), await repeater.suggest("b"), await repeater.suggest("c")] as Config[];
    expect(configs.map((config) => config["__trial_index__"])).toEqual([0, 1, 2]);
    expect(new Set(configs.map((config) => config["x"])).size).toBe(1);
    await repeater.onTrialComplete("b", result({ loss: 4 }));
    await repeater.onTrialComplete("a", undefined, true);
    await repeater.onTrialComplete("c", result({ loss: 2 }));
    expect((inner.save() as { observations: { losses: number[] }[] }).observations.map(({ losses }) => losses)).toEqual([[3]]);
  });
});

test.each([
  ["ConcurrencyLimiter", (inner: Searcher) => new ConcurrencyLimiter(inner, { maxConcurrent: 2 })],
  ["Repeater", (inner: Searcher) => new Repeater(inner, { repeat: 2 })],
])("%s closes its searcher", async (_, around) => {
  let closed = 0;
  const inner = Object.assign(new TPESearch({ seed: 1 }), { close: () => void (closed += 1) });
  await around(inner).close();
  expect(closed).toBe(1);
  await expect(around(new TPESearch({ seed: 1 })).close()).resolves.toBeUndefined();
});

test("Repeater takes the mean of the metric that its searcher was made with", async () => {
  const inner = new TPESearch({ seed: 1, metric: "other", mode: "max" });
  const repeater = new Repeater(inner, { repeat: 2 });
  await repeater.setSearchProperties("loss", "min", SIMPLE);
  await repeater.suggest("a");
  await repeater.suggest("b");
  await repeater.onTrialComplete("a", result({ loss: 1, other: 4 }));
  await repeater.onTrialComplete("b", result({ loss: 3, other: 8 }));
  expect((inner.save() as { observations: { losses: number[] }[] }).observations.map(({ losses }) => losses)).toEqual([[-6]]);
});

test("searchers are made by name, with others inside by their definitions", () => {
  const searcher = new Repeater(new ConcurrencyLimiter(new TPESearch({ seed: 1 }), { maxConcurrent: 2 }), { repeat: 2 });
  const { type, options } = searcher.definition as { type: string; options: Record<string, unknown> };
  const again = createSearcher(type, JSON.parse(JSON.stringify(options)) as Record<string, unknown>);
  expect(again).toBeInstanceOf(Repeater);
  expect(again.definition).toEqual(searcher.definition);
  expect(new TPESearch({ gamma: () => 3 }).definition).toBeUndefined();
  expect(() => createSearcher("tpee")).toThrow(/tpe, bayesopt/);
});

test("options of Python libraries are refused before their process starts", () => {
  expect(() => new AxSearch({ outcomeConstraints: ["size < 3"] })).toThrow('such as "size <= 3": received "size < 3"');
  expect(() => new AxSearch({ parameterConstraints: "x <= y" as never })).toThrow("a list of texts is needed");
  const known = { pointsToEvaluate: [{ x: 1 }], evaluatedRewards: [1] };
  expect(() => new AxSearch({ outcomeConstraints: ["size <= 3"], ...known })).toThrow("leave out evaluatedRewards");
  const constrained = new AxSearch({ outcomeConstraints: ["loss <= 3"] });
  expect(() => constrained.setSearchProperties("loss", "min", SIMPLE)).toThrow('the metric "loss" is searched for');
  expect(() => new BayesianOptimizationSearch({ acquisition: "pi" as never })).toThrow("acquisition");
  expect(() => new BayesianOptimizationSearch({ utilityKwargs: {} } as never)).toThrow("acquisition, kappa and xi");
  expect(() => new BayesianOptimizationSearch({ xi: -1 })).toThrow("xi");
});
