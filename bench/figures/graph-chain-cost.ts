/**
 * Processor time of all processes for an execution of a compiled graph of three actors, one at a time, in percent of the same by ordinary
 * calls.
 */
import { measureGraphCost } from "../compiled-graphs.ts";
import { type DriverFigure, valueAtMost } from "../figure.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "graph-chain-cost",
  title: "processor time: graph of three / three calls",
  unit: "%",
  higherIsBetter: false,
  goal: valueAtMost(10),
  floor: null,
  run: (plan) => measureGraphCost({ stages: 3, inFlight: 1 }, plan),
};
