/** The part of a loop's time in which it waits for its data, where each batch takes 10 ms of computing. */
import { type HarnessFigure, valueAtMost } from "../figure.ts";
import { trainFigure } from "../train-figures.ts";

export const figure: HarnessFigure = trainFigure({
  name: "train-ingest",
  title: "waiting for batches of 10 ms of computing",
  goal: valueAtMost(2),
  floor: valueAtMost(5),
  unit: "%",
  note: "Without the first batch of an epoch, which waits for the pipeline to start: its time is in the details.",
  runs: 1,
});
