/** How many processes there are after `init`, the program's own included, when nothing has been asked of the runtime. */
import { type HarnessFigure, valueAtMost } from "../figure.ts";
import { weighIdleRuntime } from "../idle-runtime.ts";

export const figure: HarnessFigure = {
  where: "harness",
  name: "idle-processes",
  title: "idle runtime, processes",
  unit: "processes",
  higherIsBetter: false,
  goal: valueAtMost(4),
  floor: null,
  roundsMax: 1,
  async observe(subject, plan) {
    return { samples: [(await weighIdleRuntime(subject, plan)).processesCount] };
  },
};
