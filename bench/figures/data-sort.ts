/** All rows in the order of a column of floats. */
import { dataFigure } from "../data-figures.ts";

import { type HarnessFigure, ratioAtLeast } from "../figure.ts";

export const figure: HarnessFigure = dataFigure({
  name: "data-sort",
  title: "sort by a float",
  goal: ratioAtLeast(5),
  floor: ratioAtLeast(2),
});
