/** Searchers of Python libraries, with the real libraries: they search, honour conditions, and go on in another process as if nothing had been. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, shutdown } from "shoal";
import {
  BayesianOptimizationSearch,
  choice,
  ConcurrencyLimiter,
  HyperOptSearch,
  lograndint,
  loguniform,
  NevergradSearch,
  OptunaSearch,
  type OptunaSearchOptions,
  quniform,
  randint,
  type Searcher,
  type SpaceFunction,
  Tuner,
  uniform,
} from "shoal/tune";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shoalProcesses, until } from "../integration/session.ts";
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
  [
    "BayesianOptimizationSearch by expected improvement",
    () => new BayesianOptimizationSearch({ seed: 1, randomSearchSteps: 5, acquisition: "ei", xi: 0.01, runtimeEnv }),
    NUMBERS,
    14,
  ],
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
    const workers = () => shoalProcesses({ kind: "worker" }).length;
    // The process that others are forked from comes with the first run, and a worker may be on its way.
    const most = workers() + 2;
    for (const name of ["one", "two", "three"]) {
      const search = new OptunaSearch({ seed: 1, runtimeEnv });
      const searchAlg = name === "two" ? new ConcurrencyLimiter(search, { maxConcurrent: 1 }) : search;
      const tuneConfig = { searchAlg, metric: "x", mode: "max", numSamples: 2 } as const;
      await new Tuner(({ x }) => ({ x }), { paramSpace: { x: uniform(0, 1) }, tuneConfig, runConfig: { storagePath, name } }).fit();
    }
    await until(() => workers() <= most, "the processes of the library to end");
  } finally {
    rmSync(storagePath, { recursive: true });
  }
});

/** Optuna by itself, asked by a function in Python for the same as `SPACE_FUNCTION` asks. Prints a line of JSON for each of 30 trials. */
const OPTUNA_ALONE = `
import json, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=7))
for _ in range(30):
    trial = study.ask()
    if trial.suggest_categorical("kind", [0, 1]) == 0:
        loss = sum(abs(trial.suggest_int(f"width{i}", 1, 64, log=True) - 8) for i in range(trial.suggest_int("layers", 1, 3)))
    else:
        loss = 20 * trial.suggest_float("penalty", 0, 1, step=0.25) + 5
    print(json.dumps(list(trial.params.values())))
    study.tell(trial, loss)
`;

const SPACE_FUNCTION: SpaceFunction = async (trial) => {
  if ((await trial.suggest("kind", choice(["tree", "linear"]))) === "linear") {
    const penalty = await trial.suggest("penalty", quniform(0, 1, 0.25));
    return { loss: 20 * penalty + 5 };
  }
  const layers = await trial.suggest("layers", randint(1, 4));
  let sum = 0;
  for (let layer = 0; layer < layers; layer += 1) sum += Math.abs((await trial.suggest(`width${layer}`, lograndint(1, 65))) - 8);
  return { loss: sum };
};

describe("OptunaSearch with a space function", () => {
  const make = (options: OptunaSearchOptions = {}) => {
    const searcher = new OptunaSearch({ seed: 7, space: SPACE_FUNCTION, runtimeEnv, ...options });
    searcher.setSearchProperties("loss", "min", {});
    return searcher;
  };
  const go = async (searcher: Searcher, from: number, to: number) => {
    const configs: Config[] = [];
    for (let index = from; index < to; index += 1) {
      const config = await ask(searcher, `t${index}`);
      configs.push(config);
      await tell(searcher, `t${index}`, config["loss"] as number);
    }
    return configs;
  };

  test("proposes what Optuna proposes by itself, also where it goes on in another process", async () => {
    const alone = execFileSync(runtimeEnv.python, ["-c", OPTUNA_ALONE], { encoding: "utf8" });
    const expected = alone
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as number[]);
    const first = make();
    const configs = await go(first, 0, 15);
    const state = JSON.parse(JSON.stringify(first.save()));
    await close(first);
    const second = make();
    await second.restore(state);
    configs.push(...(await go(second, 15, 30)));
    await close(second);
    const valuesOf = (config: object) =>
      Object.entries(config)
        .filter(([name]) => name !== "loss")
        .map(([name, value]) => (name === "kind" ? ["tree", "linear"].indexOf(value as string) : value));
    expect(configs.map(valuesOf)).toEqual(expected);
    expect(new Set(configs.map((config) => Object.keys(config).length)).size).toBeGreaterThan(2);
  });

  test("finds a trial in its storage that was cut off between two suggestions", async () => {
    const folder = mkdtempSync(join(tmpdir(), "test-shoal-optuna-"));
    const stored = { storage: `sqlite:///${folder}/study.db`, studyName: "study" };
    let seen: number | undefined;
    const cutOff = make({
      ...stored,
      space: async (trial) => {
        seen = await trial.suggest("x", uniform(0, 1));
        await new Promise(() => {});
      },
    });
    void cutOff.suggest("t0");
    await expect.poll(() => seen, { timeout: 60_000 }).toBeDefined();
    await close(cutOff);
    const again = make({
      ...stored,
      seed: 8,
      space: async (trial) => ({ sum: (await trial.suggest("x", uniform(0, 1))) + (await trial.suggest("y", uniform(2, 3))) }),
    });
    const { x, y, sum } = await ask(again, "t0");
    expect([x, sum]).toEqual([seen, (x as number) + (y as number)]);
    await tell(again, "t0", 1);
    await close(again);
    rmSync(folder, { recursive: true });
  });

  test("runs the user's points first, and goes on after a function that throws", async () => {
    let fails = true;
    const searcher = make({
      pointsToEvaluate: [
        { kind: "linear", penalty: 0.5 },
        { kind: "tree", layers: 2, width0: 8 },
        { penalty: 7, kind: "linear" },
      ],
      space: async (trial) => {
        const returned = await SPACE_FUNCTION(trial);
        if (trial.trialId === "t3" && fails) throw new Error("no such data set");
        return returned;
      },
    });
    expect(await go(searcher, 0, 2)).toEqual([
      { kind: "linear", penalty: 0.5, loss: 15 },
      { kind: "tree", layers: 2, width0: 8, width1: 8, loss: 0 },
    ]);
    await expect(ask(searcher, "t2")).rejects.toThrow('"penalty" does not take 7');
    await expect(ask(searcher, "t3")).rejects.toThrow("no such data set");
    fails = false;
    const state = JSON.parse(JSON.stringify(searcher.save()));
    const expected = await go(searcher, 4, 7);
    await close(searcher);
    const other = make({ space: SPACE_FUNCTION });
    await other.restore(state);
    expect(await go(other, 4, 7)).toEqual(expected);
    await close(other);
  });

  test("is the search of a Tuner", async () => {
    const folder = mkdtempSync(join(tmpdir(), "test-shoal-optuna-"));
    const searchAlg = new OptunaSearch({ seed: 7, space: SPACE_FUNCTION, runtimeEnv });
    const tuner = new Tuner((config: { kind: string; loss: number }) => ({ loss: config.loss + 1 }), {
      tuneConfig: { metric: "loss", mode: "min", numSamples: 8, searchAlg },
      runConfig: { storagePath: folder, name: "run" },
    });
    const results = [...(await tuner.fit())];
    expect(results).toHaveLength(8);
    for (const { config, metrics } of results) expect(metrics?.loss).toBe(config.loss + 1);
    rmSync(folder, { recursive: true });
  });
});

test("a library that is not there is named with the command that installs it", async () => {
  const searcher = new OptunaSearch();
  searcher.setSearchProperties("loss", "min", NUMBERS);
  await expect(searcher.suggest("t0")).rejects.toThrow(/no optuna: .*-m pip install "optuna>=4"/s);
});
