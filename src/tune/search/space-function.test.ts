/** Space functions by their suggestions alone, without a library. */
import { describe, expect, test } from "vitest";
import { choice, gridSearch, loguniform, randint, randn, sampleFrom, uniform } from "../spaces/space.ts";
import type { Axis } from "./numbers/axes.ts";
import { OptunaSearch } from "./python/python-searchers.ts";
import { type SpaceFunction, type SuggestingTrial, Suggestions } from "./space-function.ts";

const LOWEST = async ({ domain }: Axis) => (domain.kind === "float" ? domain.lower : domain.kind === "integer" ? domain.first : 0);

async function run(define: SpaceFunction, { decide = LOWEST, constants = {} }: { decide?: typeof LOWEST; constants?: object } = {}) {
  const suggestions = new Suggestions("OptunaSearch", decide);
  const config = await suggestions.configBy(define, { trialId: "t0", constants: constants as Record<string, unknown> });
  return { config, point: suggestions.point, names: suggestions.axes.map(({ name }) => name) };
}

test("asks for what the values before call for, in their order", async () => {
  const define: SpaceFunction = async (trial) => {
    const model = await trial.suggest("model", choice([{ kind: "tree" }, { kind: "linear" }]));
    if (model.kind === "linear") await trial.suggest("penalty", loguniform(0.1, 1));
    else for (let index = 0; index < 2; index += 1) await trial.suggest(`depth${index}`, randint(1, 9));
  };
  expect(await run(define)).toEqual({
    config: { model: { kind: "tree" }, depth0: 1, depth1: 1 },
    point: { model: 0, depth0: 1, depth1: 1 },
    names: ["model", "depth0", "depth1"],
  });
  const { config } = await run(define, { decide: async ({ domain }) => (domain.kind === "choice" ? 1 : 0.5) });
  expect(config).toEqual({ model: { kind: "linear" }, penalty: 0.5 });
});

test("puts what it returns over the suggested values, and these over constants; functions of the rest see all", async () => {
  const constants = { epochs: 3, x: -1, sum: sampleFrom(({ x, y, epochs }) => x + y + epochs) };
  const { config } = await run(
    async (trial) => ({ y: 2 * (await trial.suggest("x", uniform(1, 2))), nested: { part: await trial.suggest("part", randint(4, 9)) } }),
    { constants },
  );
  expect(config).toEqual({ epochs: 3, x: 1, y: 2, nested: { part: 4 }, part: 4, sum: 6 });
});

test("takes suggestions side by side", async () => {
  const { names } = await run(async (trial) => {
    await Promise.all([trial.suggest("x", uniform(0, 1)), trial.suggest("y", uniform(0, 1))]);
  });
  expect(names).toEqual(["x", "y"]);
});

describe("refuses", () => {
  test.each<[string, SpaceFunction, RegExp]>([
    ["a name that is none", async (trial) => void (await trial.suggest("", uniform(0, 1))), /its name is needed: received ""/],
    [
      "what is no domain",
      async (trial) => void (await trial.suggest("x", 3 as never)),
      /"x" .*a domain is needed, such as uniform\(0, 1\): received 3/,
    ],
    ["a grid", async (trial) => void (await trial.suggest("x", gridSearch([1, 2]))), /"x" with OptunaSearch: a gridSearch/],
    ["a normal distribution", async (trial) => void (await trial.suggest("x", randn())), /"x" .*no normal distributions: use uniform/],
    [
      "a function of the rest",
      async (trial) =>
        void (await trial.suggest(
          "x",
          sampleFrom(() => 1),
        )),
      /"x" .*compute the value, and return it/,
    ],
    [
      "options with domains in them",
      async (trial) => void (await trial.suggest("x", choice([{ depth: randint(1, 3) }, 1]))),
      /"x" .*suggest these by themselves, once the option is chosen/,
    ],
    [
      "a name twice",
      async (trial) => {
        await trial.suggest("x", uniform(0, 1));
        await trial.suggest("x", uniform(0, 2));
      },
      /"x" .*this trial has a value of that name/,
    ],
    ["a value that nobody awaits", (trial) => ({ x: trial.suggest("x", uniform(0, 1)) }), /"x" is a promise: write await before/],
    ["a returned list", async () => [1], /an object of values for the configuration, or nothing, is needed: received \[1\]/],
    ["a returned domain", async () => ({ x: uniform(0, 1) }), /"x" is a domain: take its value from await trial.suggest/],
  ])("%s", async (_, define, message) => {
    await expect(run(define)).rejects.toThrow(message);
  });

  test("to end before a suggestion has", async () => {
    const never = () => new Promise<number>(() => {});
    const define: SpaceFunction = (trial) => void trial.suggest("x", uniform(0, 1));
    await expect(run(define, { decide: never })).rejects.toThrow(
      /"x" .*ended before it had the value: write await trial.suggest\("x", ...\)/,
    );
  });

  test("suggestions after the end", async () => {
    let ended: SuggestingTrial | undefined;
    await run((trial) => void (ended = trial));
    await expect(ended?.suggest("x", uniform(0, 1))).rejects.toThrow(/"x" .*the space function has ended: await each suggestion in it/);
  });

  test("what does not go with a function: known results, and domains of paramSpace", () => {
    const space: SpaceFunction = async (trial) => void (await trial.suggest("x", uniform(0, 1)));
    expect(() => new OptunaSearch({ space, pointsToEvaluate: [{ x: 0 }], evaluatedRewards: [1] })).toThrow(/leave out evaluatedRewards/);
    expect(() => new OptunaSearch({ space: "x" as never })).toThrow(
      /space of an OptunaSearch: a function of the trial is needed: received "x"/,
    );
    const searcher = new OptunaSearch({ space });
    expect(searcher.definition).toBeUndefined();
    expect(() => searcher.setSearchProperties("loss", "min", { lr: uniform(0, 1) })).toThrow(
      /"lr" with OptunaSearch: its space function says what is searched/,
    );
    searcher.setSearchProperties("loss", "min", { epochs: 3 });
  });
});
