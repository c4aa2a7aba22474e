/** An inner join with a million rows by a whole number. */
import { dataFigure } from "../data-figures.ts";

import { type HarnessFigure, ratioAtLeast } from "../figure.ts";

export const figure: HarnessFigure = dataFigure({
  name: "data-join",
  title: "join with 1 M rows",
  goal: ratioAtLeast(5),
  floor: ratioAtLeast(2),
});
