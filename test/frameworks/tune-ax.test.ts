/** `AxSearch` with the real Ax: it searches, honours conditions, takes several metrics and known results, and goes on in another process as if nothing had been. Its models take seconds an ask. */
import { init, shutdown } from "shoal";
import { AxSearch, choice, loguniform, quniform, randint, type Searcher, uniform } from "shoal/tune";
import { afterAll, beforeAll, expect, test } from "vitest";
import { environment } from "./environments.ts";

type Config = Record<string, number>;

const NUMBERS = { x: uniform(-5, 5), lr: loguniform(1e-5, 1) };
const MIXED = { ...NUMBERS, width: randint(1, 65), step: quniform(0, 1, 0.25), act: choice(["relu", "tanh"]) };
const CONDITIONAL = {
  x: uniform(0, 1),
  model: choice([
    { kind: "tree", depth: randint(1, 9) },
    { kind: "linear", penalty: loguniform(1e-4, 1) },
  ]),
};
/** Ax begins with so many spread points, which take no time. */
const SPREAD = 5;

let runtimeEnv: { python: string };

beforeAll(async () => {
  const built = environment("searchers");
  if ("problem" in built) throw new Error(built.problem);
  runtimeEnv = { python: built.venv };
  await init({ numCpus: 1 });
}, 900_000);

afterAll(shutdown);

const loss = ({ x, lr }: Config) => ((x as number) - 2) ** 2 + (Math.log10(lr as number) + 3) ** 2;

/** Asks and tells in turn. */
async function run(searcher: Searcher, from: number, to: number): Promise<Config[]> {
  const configs: Config[] = [];
  for (let index = from; index < to; index += 1) {
    const config = (await searcher.suggest(`t${index}`)) as Config;
    configs.push(config);
    await searcher.onTrialComplete(`t${index}`, { loss: loss(config) } as never);
  }
  return configs;
}

test("finds better configurations than the first ones", { timeout: 900_000 }, async () => {
  const searcher = new AxSearch({ seed: 1, runtimeEnv });
  searcher.setSearchProperties("loss", "min", NUMBERS);
  const losses = (await run(searcher, 0, SPREAD + 5)).map(loss);
  expect(Math.min(...losses.slice(SPREAD))).toBeLessThan(Math.min(...losses.slice(0, SPREAD)));
  await searcher.close();
});

test("goes on in another process as if nothing had been", { timeout: 900_000 }, async () => {
  const make = () => {
    const searcher = new AxSearch({ seed: 1, runtimeEnv });
    searcher.setSearchProperties("loss", "min", MIXED);
    return searcher;
  };
  const [whole, first, second] = [make(), make(), make()];
  const expected = await run(whole, 0, SPREAD + 2);
  for (const { width, step, act } of expected) {
    expect(Number.isInteger(width) && (width as number) >= 1 && (width as number) <= 64).toBe(true);
    expect([0, 0.25, 0.5, 0.75, 1]).toContain(step);
    expect(["relu", "tanh"]).toContain(act);
  }
  await whole.close();
  await run(first, 0, SPREAD);
  const state = JSON.parse(JSON.stringify(first.save()));
  await first.close();
  await second.restore(state);
  expect(await run(second, SPREAD, SPREAD + 2)).toEqual(expected.slice(SPREAD));
  await second.close();
});

test("searches conditional places where they count, with several metrics, points to begin with, known results and failures", {
  timeout: 600_000,
}, async () => {
  const pointsToEvaluate = [
    { x: 0.5, model: { kind: "linear", penalty: 0.01 } },
    { x: 0.25, model: { kind: "tree", depth: 3 } },
  ];
  const searcher = new AxSearch({ seed: 1, pointsToEvaluate, evaluatedRewards: [[1, 2]], runtimeEnv });
  searcher.setSearchProperties(["a", "b"], ["min", "max"], CONDITIONAL);
  expect(await searcher.suggest("t0")).toEqual(pointsToEvaluate[1]);
  await searcher.onTrialComplete("t0", undefined, true);
  for (let index = 1; index < 4; index += 1) {
    const { model } = (await searcher.suggest(`t${index}`)) as unknown as { model: { kind: string } };
    expect(Object.keys(model).sort()).toEqual(model.kind === "tree" ? ["depth", "kind"] : ["kind", "penalty"]);
    await searcher.onTrialComplete(`t${index}`, { a: index, b: -index } as never);
  }
  await searcher.close();
});

test("keeps to constraints of parameters, and learns those of outcomes", { timeout: 900_000 }, async () => {
  const searcher = new AxSearch({ seed: 1, parameterConstraints: ["x + y >= 1"], outcomeConstraints: ["sizes/bytes <= 0.4"], runtimeEnv });
  searcher.setSearchProperties("loss", "min", { x: uniform(0, 1), y: uniform(0, 1) });
  const configs: Config[] = [];
  for (let index = 0; index < SPREAD + 4; index += 1) {
    const config = (await searcher.suggest(`t${index}`)) as Config;
    configs.push(config);
    // The loss alone would lead to x = 1, which the outcome forbids.
    await searcher.onTrialComplete(`t${index}`, { loss: 1 - (config["x"] as number), sizes: { bytes: config["x"] } } as never);
  }
  for (const { x = 0, y = 0 } of configs) expect(x + y).toBeGreaterThan(1 - 1e-6);
  expect(Math.min(...configs.slice(-2).map(({ x = 0 }) => Math.abs(x - 0.4)))).toBeLessThan(0.1);
  await searcher.close();
});

test("a Python without Ax is named with the command that installs it", async () => {
  const searcher = new AxSearch();
  searcher.setSearchProperties("loss", "min", NUMBERS);
  await expect(searcher.suggest("t0")).rejects.toThrow(/no ax: .*-m pip install "ax-platform>=1"/s);
});
