/**
 * The throughput of one driver: 1,000 tasks submitted in a row, then one get of them all. Bound by the driver's time for a task.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { BATCH_SIZE, smallValue } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "tasks-async",
  title: "tasks, 1,000 in flight, and get",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(150),
  floor: ratioAtLeast(40),
  async run(plan) {
    const batch = () => get(Array.from({ length: BATCH_SIZE }, () => smallValue.remote()));
    return operationsPerSecond(batch, plan, { operationsPerCall: BATCH_SIZE });
  },
};
