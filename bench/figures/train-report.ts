/** Time of a `report` in the loop, with a checkpoint of 1 MB from rank 0. */
import { type HarnessFigure, ratioAtLeast } from "../figure.ts";
import { trainFigure } from "../train-figures.ts";

export const figure: HarnessFigure = trainFigure({
  name: "train-report",
  title: "report of two ranks, checkpoint of 1 MB",
  goal: ratioAtLeast(8),
  floor: ratioAtLeast(5),
  note: "Ray's controller looks for reports every two seconds, which a loop that reports often waits for.",
  runs: 1,
});
