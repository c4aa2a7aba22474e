/**
 * Processor time of all processes for an execution of a compiled graph of one actor, one at a time, in percent of an ordinary actor call.
 */
import { measureGraphCost } from "../compiled-graphs.ts";
import { type DriverFigure, valueAtMost } from "../figure.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "graph-sync-cost",
  title: "processor time: graph of one actor / a call",
  unit: "%",
  higherIsBetter: false,
  goal: valueAtMost(10),
  floor: null,
  run: (plan) => measureGraphCost({ stages: 1, inFlight: 1 }, plan),
};
