/**
 * A control operation of a cluster: an actor is made on the other node, answers one call, and is killed.
 */
import { get, kill } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { SmallValueActorClass } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";
import { ON_SECOND } from "../two-nodes.ts";

export const figure: DriverFigure = {
  where: "driver",
  nodes: 2,
  name: "cluster-actor-create",
  title: "two nodes: actors created, called, killed",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(5),
  floor: null,
  async run(plan) {
    const live = async () => {
      const actor = SmallValueActorClass.options(ON_SECOND).remote();
      await get(actor.smallValue.remote());
      void kill(actor);
    };
    return operationsPerSecond(live, plan);
  },
};
