/** From the SIGKILL of a rank to the first line of the loop in the next attempt, which goes on from a checkpoint. */
import { type HarnessFigure, ratioAtLeast } from "../figure.ts";
import { trainFigure } from "../train-figures.ts";

export const figure: HarnessFigure = trainFigure({
  name: "train-recovery",
  title: "from a killed rank to the loop on new ones",
  goal: ratioAtLeast(5),
  floor: ratioAtLeast(3),
  runs: 1,
});
