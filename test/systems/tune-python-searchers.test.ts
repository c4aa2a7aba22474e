/** Searchers of Python libraries, with the real libraries: they search, honour conditions, and go on in another process as if nothing had been. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, shutdown } from "shoal";
import {
  BayesianOptimizationSearch,
  choice,
  ConcurrencyLimiter,
  HyperOptSearch,
  loguniform,
  NevergradSearch,
  OptunaSearch,
  quniform,
  randint,
  type Searcher,
  Tuner,
  uniform,
} from "shoal/tune";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shoalProcesses } from "../integration/session.ts";
import { pythonWithSearchers } from "./python-searchers.ts";

const NUMBERS = { x: uniform(-5, 5), lr: loguniform(1e-5, 1) };
const MIXED = { ...NUMBERS, width: randint(1, 65), step: quniform(0, 1, 0.25), act: choice(["relu", "tanh"]) };
const CONDITIONAL = {
  x: uniform(0, 1),
  model: choice([
    { kind: "tree", depth: randint(1, 9) },
    { kind: "linear", penalty: loguniform(1e-4, 1) },
  ]),
};

type Config = Record<string, number>;
const loss = ({ x, lr }: Config) => ((x ?? 0) - 2) ** 2 + (Math.log10(lr ?? 1e-3) + 3) ** 2;

let runtimeEnv: { python: string };

beforeAll(async () => {
  runtimeEnv = { python: pythonWithSearchers() };
  await init({ numCpus: 1 });
});

afterAll(shutdown);

async function ask(searcher: Searcher, id: string): Promise<Config> {
  const config = await searcher.suggest(id);
  if (typeof config === "string") throw new Error(`no configuration: ${config}`);
  return config as Config;
}

async function tell(searcher: Searcher, id: string, value: number): Promise<void> {
  await searcher.onTrialComplete(id, { loss: value } as never);
}

/** Asks and tells in turn, with one trial running all the while. */
async function run(searcher: Searcher, from: number, to: number): Promise<Config[]> {
  const configs: Config[] = [];
  for (let index = from; index < to; index += 1) {
    const config = await ask(searcher, `t${index}`);
    configs.push(config);
    if (index > 0) await tell(searcher, `t${index}`, loss(config));
  }
  return configs;
}

async function close(searcher: { close(): Promise<void> }): Promise<void> {
  await searcher.close();
}

describe.each([
  ["OptunaSearch", () => new OptunaSearch({ seed: 1, runtimeEnv }), MIXED, 40],
  ["HyperOptSearch", () => new HyperOptSearch({ seed: 1, nInitialPoints: 5, runtimeEnv }), MIXED, 40],
  ["BayesianOptimizationSearch", () => new BayesianOptimizationSearch({ seed: 1, randomSearchSteps: 5, runtimeEnv }), NUMBERS, 14],
  ["NevergradSearch", () => new NevergradSearch({ seed: 1, optimizer: "TwoPointsDE", budget: 40, runtimeEnv }), MIXED, 40],
] as const)("%s", (_, make, space, asks) => {
  test("finds better configurations than the first ones, within the space", async () => {
    const searcher = make();
    searcher.setSearchProperties("loss", "min", space);
    const configs = await run(searcher, 0, asks);
    for (const { x, lr } of configs) {
      expect(x).toBeGreaterThanOrEqual(-5);
      expect(x).toBeLessThanOrEqual(5);
      expect(lr).toBeGreaterThanOrEqual(1e-5);
      expect(lr).toBeLessThanOrEqual(1);
    }
    const best = (some: Config[]) => Math.min(...some.map(loss));
    expect(best(configs)).toBeLessThan(best(configs.slice(0, 5)));
    await close(searcher);
  });

  test("goes on in another process as if nothing had been", async () => {
    const whole = make();
    whole.setSearchProperties("loss", "min", space);
    const expected = await run(whole, 0, 11);
    await close(whole);
    const first = make();
    first.setSearchProperties("loss", "min", space);
    await run(first, 0, 7);
    const state = JSON.parse(JSON.stringify(first.save()));
    await close(first);
    const second = make();
    second.setSearchProperties("loss", "min", space);
    await second.restore(state);
    expect(await run(second, 7, 11)).toEqual(expected.slice(7));
    await close(second);
  });
});

describe("OptunaSearch", () => {
  test.each([
    ["OptunaSearch", () => new OptunaSearch({ seed: 1, runtimeEnv })],
    ["HyperOptSearch", () => new HyperOptSearch({ seed: 1, runtimeEnv })],
  ] as const)("searches conditional places where they count: %s", async (_, make) => {
    const searcher = make();
    searcher.setSearchProperties("loss", "min", CONDITIONAL);
    const kinds = new Set<string>();
    for (let index = 0; index < 12; index += 1) {
      const { model } = (await ask(searcher, `t${index}`)) as unknown as { model: { kind: string; depth?: number; penalty?: number } };
      kinds.add(model.kind);
      expect(Object.keys(model).sort()).toEqual(model.kind === "tree" ? ["depth", "kind"] : ["kind", "penalty"]);
      await tell(searcher, `t${index}`, index);
    }
    expect([...kinds].sort()).toEqual(["linear", "tree"]);
    await close(searcher);
  });

  test("keeps a study in a storage, and finds trials there that ran when the driver died", async () => {
    const folder = mkdtempSync(join(tmpdir(), "test-shoal-optuna-"));
    const make = () => new OptunaSearch({ seed: 1, storage: `sqlite:///${folder}/study.db`, studyName: "study", runtimeEnv });
    const first = make();
    first.setSearchProperties("loss", "min", NUMBERS);
    await run(first, 0, 3);
    const state = JSON.parse(JSON.stringify(first.save()));
    const running = await ask(first, "t3");
    await close(first);
    const second = make();
    second.setSearchProperties("loss", "min", NUMBERS);
    await second.restore(state);
    // The log of the run says that it was asked for; it is asked for again.
    expect(await ask(second, "t3")).toEqual(running);
    await tell(second, "t3", 1);
    await close(second);
    rmSync(folder, { recursive: true });
  });

  test("takes several metrics, points to begin with and known results", async () => {
    const points = [
      { x: 1, lr: 0.1 },
      { x: 2, lr: 0.01 },
    ];
    const searcher = new OptunaSearch({ seed: 1, pointsToEvaluate: points, evaluatedRewards: [[1, 2]], runtimeEnv });
    searcher.setSearchProperties(["a", "b"], ["min", "max"], NUMBERS);
    expect(await ask(searcher, "t0")).toEqual(points[1]);
    await searcher.onTrialComplete("t0", { a: 1, b: 2 } as never);
    await ask(searcher, "t1");
    await searcher.onTrialComplete("t1", undefined, true);
    expect(Object.keys(await ask(searcher, "t2"))).toEqual(["x", "lr"]);
    await close(searcher);
  });
});

test("a run ends its library's process, also where a limiter is around it", async () => {
  const storagePath = mkdtempSync(join(tmpdir(), "test-shoal-searchers-"));
  try {
    const processes: number[] = [];
    for (const name of ["one", "two", "three"]) {
      const search = new OptunaSearch({ seed: 1, runtimeEnv });
      const searchAlg = name === "two" ? new ConcurrencyLimiter(search, { maxConcurrent: 1 }) : search;
      const tuneConfig = { searchAlg, metric: "x", mode: "max", numSamples: 2 } as const;
      await new Tuner(({ x }) => ({ x }), { paramSpace: { x: uniform(0, 1) }, tuneConfig, runConfig: { storagePath, name } }).fit();
      processes.push(shoalProcesses({ kind: "worker" }).length);
    }
    expect(processes).toEqual([processes[0], processes[0], processes[0]]);
  } finally {
    rmSync(storagePath, { recursive: true });
  }
});

test("a library that is not there is named with the command that installs it", async () => {
  const searcher = new OptunaSearch();
  searcher.setSearchProperties("loss", "min", NUMBERS);
  await expect(searcher.suggest("t0")).rejects.toThrow(/no optuna: .*-m pip install "optuna>=4"/s);
});
