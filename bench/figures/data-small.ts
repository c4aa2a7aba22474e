/** map and filter of 1,000 rows, from the plan to the rows in the driver. */
import { dataFigure } from "../data-figures.ts";

import { type HarnessFigure, valueAtMost } from "../figure.ts";

export const figure: HarnessFigure = dataFigure({
  name: "data-small",
  title: "a pipeline of 1,000 rows",
  goal: valueAtMost(200),
  floor: valueAtMost(200),
  beside: false,
});
