/**
 * The latency of a call to an actor on another node, as a rate: one driver, one actor, one call outstanding.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { SmallValueActorClass } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";
import { ON_SECOND } from "../two-nodes.ts";

export const figure: DriverFigure = {
  where: "driver",
  nodes: 2,
  name: "cluster-actor-sync",
  title: "two nodes: actor calls, one at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(5),
  floor: null,
  async run(plan) {
    const actor = SmallValueActorClass.options(ON_SECOND).remote();
    return operationsPerSecond(() => get(actor.smallValue.remote()), plan);
  },
};
