import { expect, test } from "vitest";
import { RunPaths } from "../../runs/folder/run-paths.ts";
import { ConfigCodec } from "./config-codec.ts";
import { requireGivenAgain, type SavedExperiment } from "../experiment/saved-experiment.ts";
import { decodeSpace, encodeSpace } from "./space-codec.ts";
import { choice, gridSearch, loguniform, placesOf, randint, sampleFrom, type SearchSpace, uniform } from "./space.ts";
import type { TrialEvent } from "../experiment/trial-events.ts";

const codecOf = (space: SearchSpace, folder = "/runs/a"): ConfigCodec => new ConfigCodec(space, new RunPaths(folder));

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
  const record = JSON.parse(JSON.stringify(codecOf(space).eventRecord(suggested(config))));
  const read = codecOf(space).readEvent(record);
  expect(read).toEqual(suggested(config));
  expect((read as unknown as { config: { act: unknown } }).config.act).toBe(Math.tanh);
  const lost = codecOf({}).readEvent(codecOf({}).eventRecord(suggested({ made: new Map() })));
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

test("checkpoints of a copied run are those of the copy", () => {
  const saved = { type: "saved", trialId: "t", checkpoint: "/runs/a/t/checkpoint_000001" } as const;
  const record = JSON.parse(JSON.stringify(codecOf({}).eventRecord(saved)));
  expect(record.checkpoint).toBe("t/checkpoint_000001");
  expect(codecOf({}, "/runs/copy").readEvent(record)).toEqual({ ...saved, checkpoint: "/runs/copy/t/checkpoint_000001" });
  const outside = { ...saved, checkpoint: "s3://bucket/elsewhere/c" };
  expect(codecOf({}, "/runs/copy").readEvent(codecOf({}).eventRecord(outside))).toEqual(outside);
});

test.each(["../b/checkpoint", "t/../../b", "", null, 5])("the path %j in a log is refused", (checkpoint) => {
  expect(() => codecOf({}).readEvent({ type: "saved", trialId: "t", checkpoint })).toThrow(
    /^Cannot read the run \/runs\/a: its log has no path inside of the run: received /,
  );
});

test.each(["../../home", "/home", "..", ""])("the trial folder %j in a log is refused", (dirname) => {
  expect(() => codecOf({}).readEvent({ ...suggested({}), dirname } as never)).toThrow("Cannot read the run's log: the folder of trial t");
  expect(() => codecOf({}).readEvent({ ...suggested({}), trialId: dirname } as never)).toThrow(
    "Cannot read the run's log: the id of a trial",
  );
});
