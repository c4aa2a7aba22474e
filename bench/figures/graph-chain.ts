/**
 * A compiled graph in which a value goes through three actors: one execution outstanding.
 */
import { measureGraph } from "../compiled-graphs.ts";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "graph-chain",
  title: "compiled graph of three actors, one at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(10),
  floor: ratioAtLeast(3),
  note: "the times are against the same by ordinary calls, in the same process and minute; processor time is of all processes.",
  run: (plan) => measureGraph({ stages: 3, inFlight: 1 }, plan),
};
