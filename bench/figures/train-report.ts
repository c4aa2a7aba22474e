/** What `report` takes in the loop, with a checkpoint of 1 MB that rank 0 hands over. */
import { type HarnessFigure, ratioAtLeast } from "../figure.ts";
import { trainFigure } from "../train-figures.ts";

export const figure: HarnessFigure = trainFigure({
  name: "train-report",
  title: "report with a checkpoint of 1 MB, two ranks",
  goal: ratioAtLeast(8),
  floor: ratioAtLeast(5),
});
