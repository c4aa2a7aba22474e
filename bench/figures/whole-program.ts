/**
 * The same program from start to end, so with `shutdown`. Has no bar: the figure shows whether a fast start was bought with a slow end.
 */
import type { HarnessFigure } from "../figure.ts";
import { timePrograms } from "../start-up.ts";

export const figure: HarnessFigure = {
  where: "harness",
  name: "whole-program",
  title: "the same program, process start to end",
  unit: "ms",
  higherIsBetter: false,
  goal: null,
  floor: null,
  async observe(subject, plan) {
    return { samples: (await timePrograms(subject, plan)).map((times) => times.endMs) };
  },
};
