/**
 * A compiled graph in which a value goes through three actors: 1,000 executions under way at a time.
 */
import { measureGraph } from "../compiled-graphs.ts";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "graph-chain-pipelined",
  title: "compiled chain of three, 1,000 in flight",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(10),
  floor: ratioAtLeast(3),
  note: "the times are against the same by ordinary calls, in the same process and minute; processor time is of all processes.",
  run: (plan) => measureGraph({ stages: 3, inFlight: 1000 }, plan),
};
