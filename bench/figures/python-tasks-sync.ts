/**
 * Tasks of Python, one at a time: from TypeScript here, from Python on Ray.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { pythonSmallValue } from "../python-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "python-tasks-sync",
  title: "Python tasks, one at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(1),
  floor: ratioAtLeast(1),
  async run(plan) {
    return operationsPerSecond(() => get(pythonSmallValue.remote()), plan);
  },
};
