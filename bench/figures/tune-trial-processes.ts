/** Trials of a function with a process each, from `fit` to its results. */
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { runTrials } from "../tune-trials.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "tune-trial-processes",
  title: "trials with a process each",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(10),
  floor: ratioAtLeast(10),
  async run(plan) {
    const trials = plan.quick ? 10 : 40;
    await runTrials({ trials: 4, tuneConfig: { reuseActors: false } }, () => {});
    const { ms } = await runTrials({ trials, tuneConfig: { reuseActors: false } }, () => {});
    return { samples: [(trials * 1000) / ms] };
  },
};
