/** Trials of a function that share actors, from `fit` to its results, with all of their files. */
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { runTrials } from "../tune-trials.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "tune-trials",
  title: "trials on shared actors",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(100),
  floor: ratioAtLeast(50),
  note: "Ray runs 40 trials with reuse_actors; one experiment of each side is a sample",
  async run(plan) {
    const trials = plan.quick ? 300 : 2000;
    await runTrials({ trials: 20 }, () => {});
    const { ms } = await runTrials({ trials }, () => {});
    return { samples: [(trials * 1000) / ms] };
  },
};
