/**
 * How long another process waits for a 100 MB object that it has not seen: the time of `get`, and beside it the time of
 * the first pass over the data, which a mapping defers to.
 */
import { type DriverFigure, valueAtMost } from "../figure.ts";
import { readLargeObjects } from "../large-get.ts";
import { median } from "../statistics.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "get-large-time",
  title: "get of 100 MB in another process, time",
  unit: "ms",
  higherIsBetter: false,
  goal: valueAtMost(5),
  floor: null,
  async run(plan) {
    const reads = await readLargeObjects(plan);
    return {
      samples: reads.map((read) => read.getMs),
      details: { firstPassMs: median(reads.map((read) => read.firstPassMs)) },
    };
  },
};
