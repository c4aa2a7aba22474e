/**
 * Calls to an actor on another node with 1,000 in flight.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { BATCH_SIZE, SmallValueActorClass } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";
import { ON_SECOND } from "../two-nodes.ts";

export const figure: DriverFigure = {
  where: "driver",
  nodes: 2,
  name: "cluster-actor-async",
  title: "two nodes: actor calls, pipelined",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(5),
  floor: null,
  async run(plan) {
    const actor = SmallValueActorClass.options(ON_SECOND).remote();
    const batch = () => get(Array.from({ length: BATCH_SIZE }, () => actor.smallValue.remote()));
    return operationsPerSecond(batch, plan, { operationsPerCall: BATCH_SIZE });
  },
};
