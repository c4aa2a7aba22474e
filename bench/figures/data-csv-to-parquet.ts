/** CSV files are read, a column is added, Parquet files are written. */
import { dataFigure } from "../data-figures.ts";

import { type HarnessFigure, ratioAtLeast } from "../figure.ts";

export const figure: HarnessFigure = dataFigure({
  name: "data-csv-to-parquet",
  title: "csv, mapBatches, parquet",
  goal: ratioAtLeast(5),
  floor: ratioAtLeast(2),
});
