/** Time of a `report` in the loop, with a checkpoint of 1 MB from rank 0. */
import { type HarnessFigure, ratioAtLeast } from "../figure.ts";
import { trainFigure } from "../train-figures.ts";

export const figure: HarnessFigure = trainFigure({
  name: "train-report",
  title: "report with a checkpoint of 1 MB, two ranks",
  goal: ratioAtLeast(8),
  floor: ratioAtLeast(5),
});
