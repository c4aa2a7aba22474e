import { describe, expect, test } from "vitest";
import { type DeploymentOptions, resolveDeploymentOptions } from "./deployment-options.ts";

const configOf = (options: DeploymentOptions) => resolveDeploymentOptions("Model", options).config;

describe("placement groups of replicas", () => {
  const bundles = [{ CPU: 1 }, { GPU: 1 }];

  test("one selector is for all bundles, more are for one each", () => {
    const gpu = { "gpu-type": "H100" };
    expect(configOf({ placementGroupBundles: bundles, placementGroupBundleLabelSelector: [gpu] })).toMatchObject({
      placementGroupBundles: bundles,
      placementGroupBundleLabelSelector: [gpu, gpu],
    });
    const each = configOf({ placementGroupBundles: bundles, placementGroupBundleLabelSelector: [{}, gpu] });
    expect(each.placementGroupBundleLabelSelector).toEqual([{}, gpu]);
  });

  test.each<[DeploymentOptions, string]>([
    [
      { placementGroupBundleLabelSelector: [{ zone: "a" }] },
      "placementGroupBundleLabelSelector is for placementGroupBundles, and there are none",
    ],
    [
      { placementGroupBundles: bundles, placementGroupBundleLabelSelector: [{}, {}, {}] },
      "one for each of the 2 bundles is needed: received 3",
    ],
    [{ placementGroupBundles: bundles, placementGroupBundleLabelSelector: [{ zone: 1 as never }] }, "Cannot set bundleLabelSelector"],
    [{ placementGroupBundles: [{ CPU: -1 }] }, "bundle 0:"],
    [{ placementGroupBundles: bundles, actorOptions: { labelSelector: { zone: "a" } } }, "give placementGroupBundleLabelSelector instead"],
    [{ placementGroupBundles: bundles, maxReplicasPerNode: 1 }, "leave maxReplicasPerNode out"],
    [{ placementGroupBundles: bundles, actorOptions: { numCpus: 2 } }, "which has less CPU than actorOptions ask for: received 1 and 2"],
    [{ placementGroupBundles: bundles, actorOptions: { numGpus: 1 } }, "which has less GPU than actorOptions ask for: received 0 and 1"],
    [
      { numReplicas: 2, gangConfig: { gangSize: 2 }, actorOptions: { fallbackStrategy: [{ labelSelector: {} }] } },
      "replicas of a gang run in a placement group, which has no fallbackStrategy",
    ],
    [
      { numReplicas: 2, gangConfig: { gangSize: 2 }, actorOptions: { numCpus: 0, resources: { slot: 0 } } },
      "which reserves resources, and actorOptions ask for none: give numCpus or another amount above 0, or placementGroupBundles: received { numCpus: 0",
    ],
    [{ numReplicas: 20_000, gangConfig: { gangSize: 20_000 } }, "10000 bundles at most: received 20000 replicas of 1 bundles"],
  ])("%j is refused", (options, message) => {
    expect(() => configOf(options)).toThrow(message);
  });
});

test("gangs whose actors ask for nothing are taken where bundles or other resources are named", () => {
  const gang = { numReplicas: 2, gangConfig: { gangSize: 2 } };
  expect(() => configOf({ ...gang, actorOptions: { numCpus: 0 }, placementGroupBundles: [{ CPU: 1 }] })).not.toThrow();
  expect(() => configOf({ ...gang, actorOptions: { numCpus: 0, acceleratorType: "H100" } })).not.toThrow();
  expect(() => configOf({ ...gang, actorOptions: { numCpus: 0, memoryBytes: 1 } })).not.toThrow();
});

test("arguments of a router need a router", () => {
  expect(() => configOf({ requestRouterArgs: { least: 2 } })).toThrow("requestRouterArgs are for a requestRouter, and there is none");
});

test.each([{ limit: Number.NaN }, { pick: () => 1 }, new Map([["a", 1]]), { bytes: new Uint8Array(2) }])(
  "a userConfig that would arrive as something else is refused: %j",
  (userConfig) => {
    expect(() => configOf({ userConfig })).toThrow("a value for JSON is needed");
  },
);
