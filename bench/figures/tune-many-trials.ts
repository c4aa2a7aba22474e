/** How much longer a trial takes among 10,000 than among 1,000: 1 is linear time. */
import { type DriverFigure, valueAtMost } from "../figure.ts";
import { runTrials } from "../tune-trials.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "tune-many-trials",
  title: "time of a trial among 10,000 to one among 1,000",
  unit: "x",
  higherIsBetter: false,
  goal: valueAtMost(1.2),
  floor: valueAtMost(1.5),
  roundsMax: 1,
  async run(plan) {
    const many = plan.quick ? 3000 : 10_000;
    await runTrials({ trials: 300 }, () => {});
    const few = await runTrials({ trials: many / 10 }, () => {});
    const all = await runTrials({ trials: many }, () => {});
    return { samples: [all.ms / (few.ms * 10)], details: { perSecond: Math.round((many * 1000) / all.ms) } };
  },
};
