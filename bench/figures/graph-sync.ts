/**
 * A compiled graph of one method of one actor: one execution outstanding.
 */
import { measureGraph } from "../compiled-graphs.ts";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "graph-sync",
  title: "compiled graph of one actor, one at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(10),
  floor: ratioAtLeast(3),
  note: "the times are against the same by ordinary calls, in the same process and minute; processor time is of all processes.",
  run: (plan) => measureGraph({ stages: 1, inFlight: 1 }, plan),
};
