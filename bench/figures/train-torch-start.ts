/** A further group of PyTorch: from `fit` to the end of a step of DDP on two ranks, which Shoal forks from a process with PyTorch in it. */
import { type HarnessFigure, ratioAtLeast } from "../figure.ts";
import { trainFigure } from "../train-figures.ts";

export const figure: HarnessFigure = trainFigure({
  name: "train-torch-start",
  title: "two ranks from fit to a step of DDP, later",
  goal: ratioAtLeast(5),
  floor: ratioAtLeast(3),
  runs: 2,
});
