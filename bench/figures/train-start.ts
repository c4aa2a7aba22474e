/** The start of a group: from `fit` to the first line of the loop on rank 0. */
import { type HarnessFigure, ratioAtLeast } from "../figure.ts";
import { trainFigure } from "../train-figures.ts";

export const figure: HarnessFigure = trainFigure({
  name: "train-start",
  title: "two ranks from fit to their loop",
  goal: ratioAtLeast(5),
  floor: ratioAtLeast(3),
  runs: 2,
});
