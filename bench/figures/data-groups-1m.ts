/** Count, sum and mean of a million groups. */
import { dataFigure } from "../data-figures.ts";

import { type HarnessFigure, ratioAtLeast } from "../figure.ts";

export const figure: HarnessFigure = dataFigure({
  name: "data-groups-1m",
  title: "groupBy of 1 M groups",
  goal: ratioAtLeast(6),
  floor: ratioAtLeast(2),
});
