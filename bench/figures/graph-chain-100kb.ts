/**
 * A compiled graph in which 100 kB go through three actors: one execution outstanding. By calls they go through the object store.
 */
import { measureGraph } from "../compiled-graphs.ts";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "graph-chain-100kb",
  title: "compiled chain of three, 100 kB",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(1),
  floor: null,
  note: "the times are against the same by ordinary calls, in the same process and minute; processor time is of all processes.",
  run: (plan) => measureGraph({ stages: 3, inFlight: 1, input: new Uint8Array(100_000) }, plan),
};
