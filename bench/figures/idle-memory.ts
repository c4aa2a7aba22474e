/** Memory of those processes: proportional set sizes plus shared memory in use, the program's own process included. */
import { type HarnessFigure, valueAtMost } from "../figure.ts";
import { weighIdleRuntime } from "../idle-runtime.ts";

export const figure: HarnessFigure = {
  where: "harness",
  name: "idle-memory",
  title: "idle runtime, memory",
  unit: "MB",
  higherIsBetter: false,
  goal: valueAtMost(150),
  floor: valueAtMost(250),
  roundsMax: 1,
  async observe(subject, plan) {
    const weight = await weighIdleRuntime(subject, plan);
    return { samples: [weight.megabytes], details: { sharedMegabytes: Math.round(weight.sharedMegabytes) } };
  },
};
