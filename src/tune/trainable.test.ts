import { expect, test } from "vitest";
import { type TrialResourceOptions, readTrainable, withResources } from "./trainable.ts";

const train = (): void => {};
const bundleOf = (resources: TrialResourceOptions): unknown => readTrainable(withResources(train, resources)).resourcesOf({}).bundles[0];

test.each([
  [
    { numCpus: 2, numGpus: 0.5 },
    { CPU: 2, GPU: 0.5 },
  ],
  [
    { cpu: 2, gpu: 0.5 },
    { CPU: 2, GPU: 0.5 },
  ],
  [
    { CPU: 2, GPU: 1, resources: { tpu: 1 } },
    { CPU: 2, GPU: 1, tpu: 1 },
  ],
  [{ gpu: 1 }, { CPU: 1, GPU: 1 }],
  [{ cpu: 0, numCpus: undefined }, {}],
])("resources of a trial, %j", (given, bundle) => {
  expect(bundleOf(given)).toEqual(bundle);
});

test.each([
  [{ cpu: 1, numCpus: 2 }, "numCpus has two spellings"],
  [{ cpu: -1 }, "CPU must be a number from 0"],
  [{ cpus: 1 }, 'there is no option "cpus"'],
  [{ constructor: 1 }, 'there is no option "constructor"'],
])("resources of a trial that are refused, %j", (given, message) => {
  expect(() => bundleOf(given as TrialResourceOptions)).toThrow(message);
});
