/** All rows in random order. */
import { dataFigure } from "../data-figures.ts";

import { type HarnessFigure, ratioAtLeast } from "../figure.ts";

export const figure: HarnessFigure = dataFigure({
  name: "data-shuffle",
  title: "random shuffle",
  goal: ratioAtLeast(2),
  floor: ratioAtLeast(1),
  note: "the floor asks for 0.7 of the processor time of Ray too",
});
