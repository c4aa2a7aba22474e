import { expect, test } from "vitest";
import { ConfigCodec } from "./config-codec.ts";
import { decodeSpace, encodeSpace, requireGivenAgain, type SavedExperiment } from "./saved-experiment.ts";
import { choice, gridSearch, loguniform, placesOf, randint, sampleFrom, uniform } from "./space.ts";
import type { TrialEvent } from "./trial-events.ts";

const suggested = (config: Record<string, unknown>): TrialEvent => ({
  type: "suggested",
  trialId: "t",
  name: "t",
  dirname: "t",
  config,
  resources: { bundles: [{}], strategy: "PACK" },
});

test("configurations come back from JSON, with values of the space that JSON has no form for", () => {
  const relu = (x: number): number => Math.max(0, x);
  const when = new Date(5);
  const space = { act: choice([relu, Math.tanh]), when, nested: { list: [uniform(0, 1)] } };
  const config = { act: Math.tanh, when, nested: { list: [0.5] }, $shoal: "mine" };
  const record = JSON.parse(JSON.stringify(new ConfigCodec(space).eventRecord(suggested(config))));
  const read = new ConfigCodec(space).readEvent(record);
  expect(read).toEqual(suggested(config));
  expect((read as unknown as { config: { act: unknown } }).config.act).toBe(Math.tanh);
  const lost = new ConfigCodec({}).readEvent(new ConfigCodec({}).eventRecord(suggested({ made: new Map() })));
  expect((lost as { config: unknown }).config).toEqual({ made: undefined });
  expect(ConfigCodec.shown({ act: relu, n: 1n })).toEqual({ act: "relu", n: "1n" });
});

test("a space comes back from JSON; one with code is not whole", () => {
  const space = {
    a: loguniform(1e-3, 1),
    b: choice([1, "x", { c: randint(1, 5) }]),
    d: gridSearch([{ e: uniform(0, 1) }, null]),
    f: { g: 3 },
  };
  const { encoded, isWhole } = encodeSpace(space);
  expect(isWhole).toBe(true);
  expect(placesOf(decodeSpace(JSON.parse(JSON.stringify(encoded))))).toEqual(placesOf(space));
  expect(encodeSpace({ a: sampleFrom(() => 1) }).isWhole).toBe(false);
  expect(encodeSpace({ a: () => 1 }).isWhole).toBe(false);
});

test("what a folder cannot hold is asked for", () => {
  const saved = { unsaved: ["paramSpace", "searchAlg"] } as unknown as SavedExperiment;
  expect(() => requireGivenAgain(saved, new Set(["paramSpace"]), "/runs/a")).toThrow(
    "Cannot restore the run /runs/a: its searchAlg cannot be read from a folder",
  );
  expect(() => requireGivenAgain(saved, new Set(["paramSpace", "searchAlg"]), "/runs/a")).not.toThrow();
});
