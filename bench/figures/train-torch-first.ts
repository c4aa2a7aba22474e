/** The first group of PyTorch of a program: from `fit` to the end of a step of DDP on two ranks, with all imports. */
import { type HarnessFigure, ratioAtLeast } from "../figure.ts";
import { trainFigure } from "../train-figures.ts";

export const figure: HarnessFigure = trainFigure({
  name: "train-torch-first",
  title: "two ranks from fit to a step of DDP, first",
  goal: ratioAtLeast(2),
  floor: ratioAtLeast(1.2),
  loop: "torch-start",
  runs: 1,
});
