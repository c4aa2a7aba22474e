import { expect, test } from "vitest";
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
