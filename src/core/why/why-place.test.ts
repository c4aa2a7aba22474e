/** The text for a demand that waits in a cluster, for each kind of wait. */
import { expect, test } from "vitest";
import type { LeaseReportHeader, PlaceNodeHeader, PlaceReportHeader } from "../../runtime/wire/calls/why-messages.ts";
import { placeReason } from "./why-place.ts";

const OWN = "a".repeat(32);
const OTHER = "b".repeat(32);
const here: LeaseReportHeader = {
  refusal: undefined,
  obstacle: undefined,
  pendingGroup: undefined,
  lacking: [{ name: "CPU", wanted: 2, free: 0 }],
  holders: [],
  workersStarting: 0,
  isClustered: true,
};
const node = (nodeId: string, free: number, state: PlaceNodeHeader["state"] = "alive"): PlaceNodeHeader => ({
  nodeId,
  hostname: "h",
  state,
  total: { CPU: 4 },
  free: { CPU: free },
});
const cluster = (...nodes: PlaceNodeHeader[]): PlaceReportHeader => ({
  needs: { CPU: 2 },
  infeasible: undefined,
  nodes,
  nodeCount: nodes.length,
});

test("room on none, on another, on none that takes new work", () => {
  expect(placeReason(here, cluster(node(OWN, 4), node(OTHER, 1)), OWN)).toMatchObject({
    state: "waits for resources",
    reason: `no node has room for it: node ${"a".repeat(12)}, this one, has 0 of 4 CPU free; node ${"b".repeat(12)} has 1 of 4 CPU free`,
  });
  expect(placeReason(here, cluster(node(OWN, 0), node(OTHER, 3)), OWN).reason).toBe(
    `it is on its way to node ${"b".repeat(12)}, which has room`,
  );
  expect(placeReason(here, cluster(node(OTHER, 4, "draining")), OWN).reason).toBe(
    `no node that could have it takes new work: node ${"b".repeat(12)} is being drained, with 4 of 4 CPU free`,
  );
});

test("the head that is away holds up what finds no room here, and nothing else", () => {
  expect(placeReason(here, "away", OWN).reason).toContain("the head of the cluster does not answer");
  expect(placeReason({ ...here, lacking: [], workersStarting: 1 }, "away", OWN).reason).toBe("1 worker is starting");
});

test("a runtime environment that is not ready", () => {
  const building: LeaseReportHeader = { ...here, lacking: [], environment: "building" };
  expect(placeReason(building, cluster(node(OWN, 4)), OWN)).toMatchObject({
    state: "waits for a worker",
    reason: expect.stringContaining("its runtime environment is being set up") as string,
  });
});
