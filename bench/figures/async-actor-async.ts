/**
 * The throughput of an actor whose methods are async: 1,000 calls in a row, then one get.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { AsyncSmallValueActorClass, BATCH_SIZE } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "async-actor-async",
  title: "async actor, pipelined",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(100),
  floor: ratioAtLeast(40),
  async run(plan) {
    const actor = AsyncSmallValueActorClass.remote();
    const batch = () => get(Array.from({ length: BATCH_SIZE }, () => actor.smallValue.remote()));
    return operationsPerSecond(batch, plan, { operationsPerCall: BATCH_SIZE });
  },
};
