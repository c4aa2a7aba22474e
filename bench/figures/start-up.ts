/**
 * From the start of the program's process to the answers of a first task and a first actor: the interpreter, the
 * import, `init` and two processes, as a user waits for them. The aim behind the ratio is 200 ms.
 */
import { type HarnessFigure, ratioAtLeast } from "../figure.ts";
import { timePrograms } from "../start-up.ts";

export const figure: HarnessFigure = {
  where: "harness",
  name: "start-up",
  title: "process start to first task and actor",
  unit: "ms",
  higherIsBetter: false,
  goal: ratioAtLeast(20),
  floor: ratioAtLeast(8),
  async observe(subject, plan) {
    return { samples: (await timePrograms(subject, plan)).map((times) => times.readyMs) };
  },
};
