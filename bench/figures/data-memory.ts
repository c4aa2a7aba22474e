/** The memory of all processes at its highest, while CSV becomes Parquet; details of the other rows of Data have theirs. */
import { dataFigure } from "../data-figures.ts";

import { type HarnessFigure, ratioAtLeast } from "../figure.ts";

export const figure: HarnessFigure = dataFigure({
  name: "data-memory",
  title: "peak memory of csv to parquet",
  goal: ratioAtLeast(2),
  floor: ratioAtLeast(1),
  pipeline: "csv-to-parquet",
  of: "memory",
  beside: false,
});
