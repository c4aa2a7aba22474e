/**
 * Calls of an actor of Python, one at a time: from TypeScript here, from Python on Ray.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { PythonSmallValueActorClass } from "../python-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "python-actor-sync",
  title: "Python actor calls, one at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(1),
  floor: ratioAtLeast(1),
  async run(plan) {
    const actor = PythonSmallValueActorClass.remote();
    return operationsPerSecond(() => get(actor.small_value.remote()), plan);
  },
};
