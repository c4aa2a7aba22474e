/** The lines of `shoal status`, from made-up facts. */
import { expect, test } from "vitest";
import { type StatusFacts, statusText } from "./status-text.ts";

const NODE = { hostname: "here", address: "", pid: 1, labels: {} };

const FACTS: StatusFacts = {
  address: "10.0.0.7:6380",
  thisNodeId: "a".repeat(32),
  startedMs: 0,
  nodes: [
    { ...NODE, nodeId: "a".repeat(32), state: "alive", total: { CPU: 4, memory: 16e9 }, free: { CPU: 1.5, memory: 16e9 } },
    {
      ...NODE,
      nodeId: "b".repeat(32),
      hostname: "b",
      state: "draining",
      total: { license: 2, CPU: 2, memory: 8e9 },
      free: { license: 2, CPU: 2, memory: 7.5e9 },
    },
  ] as unknown as StatusFacts["nodes"],
  gone: [{ nodeId: "c".repeat(32), hostname: "c", reason: "it was drained", goneMs: 3_590_000 }] as unknown as StatusFacts["gone"],
  waiting: [
    { resources: { CPU: 2 }, count: 3, isInfeasible: false },
    { resources: { GPU: 1 }, count: 1, isInfeasible: true },
  ],
  actors: { alive: 2, dead: 1 },
  groups: { created: 1 },
};

test("a node whose time of death no head has kept is not said to have gone in 1970", () => {
  const gone = [{ nodeId: "c".repeat(32), hostname: "c", reason: "its head ended", goneMs: undefined }] as unknown as StatusFacts["gone"];
  expect(statusText({ ...FACTS, gone }, 3_600_000)).toContain("  cccccccccccc  c  at an unknown time  its head ended");
});

test("everything is shown", () => {
  expect(statusText(FACTS, 3_600_000)).toBe(
    [
      "Cluster at 10.0.0.7:6380, whose head has run for 60 min",
      "",
      "Nodes",
      "  aaaaaaaaaaaa  here  alive     CPU 2.5/4, memory 0 B/16 GB               (this machine)",
      "  bbbbbbbbbbbb  b     draining  CPU 0/2, memory 500 MB/8 GB, license 0/2",
      "",
      "In use",
      "  CPU 2.5/6, memory 500 MB/24 GB, license 0/2",
      "",
      "Waiting for room",
      "  3 × CPU 2",
      "  1 × GPU 1: no node can ever hold it",
      "",
      "Actors",
      "  2 alive, 1 dead",
      "",
      "Placement groups",
      "  1 created",
      "",
      "Nodes that have gone",
      "  cccccccccccc  c  10 s ago  it was drained",
    ].join("\n"),
  );
});

test("what there is nothing of is left out", () => {
  const [node] = FACTS.nodes;
  const text = statusText({ ...FACTS, nodes: node === undefined ? [] : [node], gone: [], waiting: [], actors: {}, groups: {} }, 1000);
  expect(text).toBe(
    "Cluster at 10.0.0.7:6380, whose head has run for 1 s\n\nNodes\n  aaaaaaaaaaaa  here  alive  CPU 2.5/4, memory 0 B/16 GB  (this machine)",
  );
});
