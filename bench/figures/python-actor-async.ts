/**
 * Calls of an actor of Python, 1,000 in flight: from TypeScript here, from Python on Ray.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { PythonSmallValueActorClass } from "../python-calls.ts";
import { BATCH_SIZE } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "python-actor-async",
  title: "Python actor calls, 1,000 in flight",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(1),
  floor: ratioAtLeast(1),
  async run(plan) {
    const actor = PythonSmallValueActorClass.remote();
    const batch = () => get(Array.from({ length: BATCH_SIZE }, () => actor.small_value.remote()));
    return operationsPerSecond(batch, plan, { operationsPerCall: BATCH_SIZE });
  },
};
