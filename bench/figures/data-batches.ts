/** Parquet files are read, a column is added, the driver takes batches of 4,096 rows. */
import { dataFigure } from "../data-figures.ts";

import { type HarnessFigure, ratioAtLeast } from "../figure.ts";

export const figure: HarnessFigure = dataFigure({
  name: "data-batches",
  title: "parquet, mapBatches, iterBatches",
  goal: ratioAtLeast(8),
  floor: ratioAtLeast(3),
});
