/**
 * The shortest control operation of a cluster: a named actor is looked up at the head.
 */
import { getActor, ready } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { SmallValueActorClass } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";
import { ON_SECOND } from "../two-nodes.ts";

export const figure: DriverFigure = {
  where: "driver",
  nodes: 2,
  name: "cluster-actor-lookup",
  title: "two nodes: actors found by their names",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(5),
  floor: null,
  async run(plan) {
    await ready(SmallValueActorClass.options(ON_SECOND).options({ name: "found" }).remote());
    return operationsPerSecond(() => getActor("found"), plan);
  },
};
