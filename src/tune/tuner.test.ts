import { expect, test } from "vitest";
import { readTuneConfig } from "./options/tune-config.ts";
import { Tuner } from "./tuner.ts";

test.each([
  ["param_space", "it is spelled paramSpace"],
  ["config", "it is paramSpace"],
  ["resources_per_trial", "it is withResources(trainable, { numCpus: 2 })"],
  ["num_samples", "it is tuneConfig: { numSamples }"],
  ["searchAlg", "it is tuneConfig: { searchAlg }"],
  ["local_dir", "it is runConfig: { storagePath }"],
  ["stop", "it is runConfig: { stop }"],
  ["checkpoint_freq", "it is runConfig: { checkpointConfig: { checkpointFrequency } }"],
  ["resume", "it is Tuner.restore(path, trainable)"],
  ["constructor", "there are paramSpace, tuneConfig, runConfig"],
])("the option %s, which Ray has or has elsewhere, is refused with its place", (name, remedy) => {
  expect(() => new Tuner(() => ({ a: 1 }), { [name]: 1 })).toThrow(
    `Cannot make a Tuner: there is no option ${JSON.stringify(name)}: ${remedy}`,
  );
});

test.each([
  [{ signal: "soon" }, 'Cannot set signal of fit: an AbortSignal is needed: received "soon"'],
  [{ timeout: 1 }, 'Cannot set options of fit: there is no option "timeout": there are signal'],
])("what cannot be an option of fit is refused: %j", async (options, message) => {
  await expect(new Tuner(() => ({ a: 1 })).fit(options as never)).rejects.toThrow(message);
});

test("a mode without a metric is that of a metric named elsewhere; a list belongs to metrics", () => {
  expect(readTuneConfig({ mode: "max" })).toMatchObject({ metrics: [], modes: ["max"] });
  expect(readTuneConfig({ metric: ["a", "b"], mode: "min" })).toMatchObject({ modes: ["min", "min"] });
  expect(readTuneConfig(undefined)).toMatchObject({ metrics: [], modes: [] });
  expect(() => readTuneConfig({ mode: ["min"] })).toThrow('each metric needs one: received ["min"] for no metric');
  expect(() => readTuneConfig({ mode: [] })).toThrow('"min" or "max", or a list of them, is needed');
  expect(() => readTuneConfig({ metric: "a" })).toThrow('mode: "min" or "max" is needed besides');
});
