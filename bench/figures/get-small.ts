/**
 * Reading one small object that this process has put, again and again: look-up and decoding, no transfer.
 */
import { get, put } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "get-small",
  title: "small get of a local ref",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(50),
  floor: ratioAtLeast(20),
  async run(plan) {
    const ref = put(0);
    return operationsPerSecond(() => get(ref), plan);
  },
};
