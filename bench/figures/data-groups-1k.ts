/** Count, sum and mean of 1,000 groups. */
import { dataFigure } from "../data-figures.ts";

import { type HarnessFigure, ratioAtLeast } from "../figure.ts";

export const figure: HarnessFigure = dataFigure({
  name: "data-groups-1k",
  title: "groupBy of 1,000 groups",
  goal: ratioAtLeast(12),
  floor: ratioAtLeast(5),
});
