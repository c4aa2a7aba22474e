/**
 * The latency of an actor call, as a rate: one driver, one actor, one call outstanding.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { SmallValueActorClass } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "actor-sync",
  title: "actor calls, one at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(20),
  floor: ratioAtLeast(8),
  async run(plan) {
    const actor = SmallValueActorClass.remote();
    return operationsPerSecond(() => get(actor.smallValue.remote()), plan);
  },
};
