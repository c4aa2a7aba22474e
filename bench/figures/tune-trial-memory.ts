/** Heap of the driver that a finished trial takes, while its experiment's results are held. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type DriverFigure, valueAtMost } from "../figure.ts";
import { runTrials } from "../tune-trials.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "tune-trial-memory",
  title: "memory of a finished trial",
  unit: "bytes",
  higherIsBetter: false,
  goal: valueAtMost(2000),
  floor: valueAtMost(2000),
  roundsMax: 1,
  async run(plan) {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const held = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const [few, many] = plan.quick ? [200, 2200] : [500, 10_500];
    await runTrials({ trials: few }, held);
    const small = await runTrials({ trials: few }, (results) => [held(), results.length] as const);
    const large = await runTrials({ trials: many }, (results) => [held(), results.length] as const);
    return { samples: [(large.value[0] - small.value[0]) / (many - few)] };
  },
};
