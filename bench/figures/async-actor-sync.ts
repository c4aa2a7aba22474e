/**
 * The latency of a call to an actor whose methods are async.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { AsyncSmallValueActorClass } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "async-actor-sync",
  title: "async actor, one at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(30),
  floor: ratioAtLeast(10),
  async run(plan) {
    const actor = AsyncSmallValueActorClass.remote();
    return operationsPerSecond(() => get(actor.smallValue.remote()), plan);
  },
};
