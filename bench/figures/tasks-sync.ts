/**
 * The latency of a task, as a rate: submit one that answers with two bytes, wait for the answer, repeat.
 * Bound by the two wake-ups between driver and worker rather than by work.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { smallValue } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "tasks-sync",
  title: "tasks, one at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(40),
  floor: ratioAtLeast(15),
  async run(plan) {
    return operationsPerSecond(() => get(smallValue.remote()), plan);
  },
};
