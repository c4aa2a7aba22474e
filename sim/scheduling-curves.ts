/**
 * `node sim/scheduling-curves.ts [--nodes 100,1000,10000] [--task-ms 1000] [--load 0.8] [--seconds 3]`: how scheduling grows with the number of nodes.
 *
 * Measures first the cost of one decision at several loads, then whole clusters in virtual time (`scheduling.ts`). All figures but the cost
 * of a decision come from the model and are the same in each run.
 */
import { parseArgs } from "node:util";
import type { NodeId, ProcessId } from "../src/runtime/base/ids.ts";
import { resourceVector } from "../src/runtime/base/resources.ts";
import { ClusterScheduler } from "../src/runtime/head/placement/cluster-scheduler.ts";
import { SchedulingSimulation } from "./scheduling.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "100,1000,10000" },
    "task-ms": { type: "string", default: "1000" },
    load: { type: "string", default: "0.8" },
    seconds: { type: "string", default: "3" },
    slots: { type: "string", default: "16" },
  },
});
const sizes = values.nodes.split(",").map(Number);
const slots = Number(values.slots);

process.stdout.write("one decision (a lease for one CPU), real time\n  nodes   in use   us each   decisions/s\n");
for (const nodes of sizes) for (const use of [0.1, 0.5, 0.9, 0.99]) decisionCost(nodes, use);

process.stdout.write(
  `\ntasks of ${values["task-ms"]} ms, ${slots} slots a node, load ${values.load}, a driver on each tenth node, virtual time\n` +
    "  nodes   tasks/s  wait p50    p99 ms  remote  drops/remote  asks/task  head use  us/message  never begun\n",
);
for (const nodes of sizes) {
  const options = { nodes, slots, drivers: Math.ceil(nodes / 10), taskMs: Number(values["task-ms"]), load: Number(values.load) };
  const result = new SchedulingSimulation({ ...options, durationMs: Number(values.seconds) * 1000, seed: 1 }).run();
  const cells = [
    nodes.toString().padStart(7),
    result.tasksPerSecond.toFixed(0).padStart(9),
    result.waitP50Ms.toFixed(2).padStart(9),
    result.waitP99Ms.toFixed(2).padStart(9),
    result.remotePart.toFixed(2).padStart(7),
    result.dropsPerRemoteLease.toFixed(3).padStart(13),
    result.asksPerTask.toFixed(3).padStart(10),
    result.headUse.toFixed(3).padStart(9),
    result.decisionUs.toFixed(2).padStart(11),
    result.left.toString().padStart(12),
  ];
  process.stdout.write(`${cells.join(" ")}\n`);
}

function decisionCost(nodes: number, use: number): void {
  const scheduler = new ClusterScheduler(new Map(), 7);
  const total = resourceVector({ CPU: slots }).amounts;
  const id = (index: number) => index.toString(16).padStart(16, "0") as NodeId;
  for (let index = 0; index < nodes; index += 1) {
    const free = resourceVector({ CPU: index % 100 < use * 100 ? 0 : slots }).amounts;
    scheduler.handle({ kind: "nodeJoined", node: { id: id(index), labels: {}, total, free } });
  }
  const { key: shape } = resourceVector({ CPU: 1 });
  const rounds = 50_000;
  let placed = 0;
  const begun = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    const ask = { id: round, from: id(round % nodes), owner: "driver" as ProcessId, shape, count: 1, isFromFull: false };
    for (const effect of scheduler.handle({ kind: "leasesWanted", ask, nowMs: 0 })) {
      if (effect.kind !== "answer" || effect.answer.kind !== "nodes") continue;
      placed += 1;
      for (const { placement } of effect.answer.nodes) scheduler.handle({ kind: "undone", placement });
    }
  }
  const us = ((performance.now() - begun) * 1000) / rounds;
  if (placed !== rounds) throw new Error(`only ${placed} of ${rounds} were placed`);
  const cells = [nodes.toString().padStart(7), use.toFixed(2).padStart(8), us.toFixed(2).padStart(9), (1e6 / us).toFixed(0).padStart(13)];
  process.stdout.write(`${cells.join(" ")}\n`);
}
