/**
 * The same program from the start of its process to its end, so with `shutdown`. It has no bar of its own: it keeps a
 * fast start from being bought with a slow end.
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
