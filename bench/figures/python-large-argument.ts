/**
 * A call of Python with 100 MB that were put before: the argument is a NumPy array over the store's memory. The details count the mapped
 * bytes for a call, and show that the array is NumPy's, so that nothing was copied.
 */
import { get, put, python } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { CALLED, WITH_NUMPY } from "../python-calls.ts";

const ELEMENTS_COUNT = 12_500_000;
const CALLS_COUNT = 30;

export const figure: DriverFigure = {
  where: "driver",
  name: "python-large-argument",
  title: "Python task with 100 MB of NumPy",
  unit: "ms",
  higherIsBetter: false,
  goal: ratioAtLeast(1),
  floor: ratioAtLeast(0.5),
  async run() {
    const endsOf = python.task<(array: Float64Array) => [number, string, number]>(CALLED, "ends_of", { runtimeEnv: WITH_NUMPY });
    const array = put(new Float64Array(ELEMENTS_COUNT).fill(1));
    const [, kind, mappedBefore] = await get(endsOf.remote(array));
    if (kind !== "ndarray") throw new Error(`Cannot measure: the argument is no NumPy array: received ${kind}`);
    const samples: number[] = [];
    let mapped = mappedBefore;
    for (let call = 0; call < CALLS_COUNT; call += 1) {
      const startMs = performance.now();
      const [ends, , after] = await get(endsOf.remote(array));
      samples.push(performance.now() - startMs);
      if (ends !== 2) throw new Error(`Cannot measure: the array has other elements: received ${ends}`);
      mapped = after;
    }
    return { samples, details: { mappedMegabytesPerCall: (mapped - mappedBefore) / CALLS_COUNT / 1e6 } };
  },
};
