/**
 * The throughput of one driver and one actor: 1,000 calls in a row, then one get of them all.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { BATCH_SIZE, SmallValueActorClass } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "actor-async",
  title: "actor calls, pipelined, 1:1",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(70),
  floor: ratioAtLeast(25),
  async run(plan) {
    const actor = SmallValueActorClass.remote();
    const batch = () => get(Array.from({ length: BATCH_SIZE }, () => actor.smallValue.remote()));
    return operationsPerSecond(batch, plan, { operationsPerCall: BATCH_SIZE });
  },
};
