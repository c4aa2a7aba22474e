/**
 * A compiled graph in which three actors take the same input, and all three answers are awaited: one execution outstanding.
 */
import { measureGraph } from "../compiled-graphs.ts";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "graph-fan-out",
  title: "compiled graph, input to three actors",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(1),
  floor: null,
  note: "the times are against the same by ordinary calls, in the same process and minute; processor time is of all processes.",
  run: (plan) => measureGraph({ stages: 1, lanes: 3, inFlight: 1 }, plan),
};
