/**
 * How long a new worker of Python with NumPy takes until its actor is there, where the process from which workers are forked has started before.
 */
import { python, ready, terminate } from "shoal";
import { type DriverFigure, valueAtMost } from "../figure.ts";
import { CALLED, WITH_NUMPY } from "../python-calls.ts";

const STARTS_COUNT = 12;

export const figure: DriverFigure = {
  where: "driver",
  name: "python-start",
  title: "start of a Python actor with NumPy",
  unit: "ms",
  higherIsBetter: false,
  goal: valueAtMost(50),
  floor: null,
  async run() {
    const NumpyActor = python.actor<object, []>(CALLED, "NumpyActor", { numCpus: 0, runtimeEnv: WITH_NUMPY });
    const samples: number[] = [];
    for (let start = 0; start <= STARTS_COUNT; start += 1) {
      const startMs = performance.now();
      const actor = NumpyActor.remote();
      await ready(actor);
      // The first one waits for the imports.
      if (start > 0) samples.push(performance.now() - startMs);
      await terminate(actor);
    }
    return { samples };
  },
};
