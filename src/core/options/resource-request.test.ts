/** Requests for resources: which bundles they mean, and which are refused before anything is sent. */
import { expect, test } from "vitest";
import { resolveResourceRequest } from "./group-options.ts";

test("CPUs and bundles become bundles with their selectors", () => {
  expect(resolveResourceRequest({ numCpus: 2, bundles: [{ GPU: 1 }, { CPU: 0.5 }], bundleLabelSelectors: [{ zone: "a" }, {}] })).toEqual([
    { resources: { CPU: 1 } },
    { resources: { CPU: 1 } },
    { resources: { GPU: 1 }, labels: { zone: "a" } },
    { resources: { CPU: 0.5 }, labels: {} },
  ]);
  expect(resolveResourceRequest({ bundles: [] })).toEqual([]);
});

test.each([
  [{ numCpus: -1 }, "numCpus"],
  [{ numCpus: 10_001 }, "numCpus"],
  [{ numCpus: 10_000, bundles: [{ CPU: 1 }] }, "at most 10000 CPUs and bundles are taken: received 10001"],
  [{ bundles: [{}] }, "bundles"],
  [{ bundles: [{ CPU: -1 }] }, "bundles"],
  [{ bundles: [{ CPU: 1 }], bundleLabelSelectors: [] }, "one for each of the 1 bundles: received 0"],
  [{ bundles: [{ CPU: 1 }], bundleLabelSelectors: [{ zone: "in(" }] }, "bundleLabelSelectors"],
  [{ num_cpus: 1 }, "it is numCpus"],
])("%j is refused", (request, message) => {
  expect(() => resolveResourceRequest(request as never)).toThrow(message);
});
