/**
 * Time until another process has a 100 MB object that it has not seen. The value is the time of `get`; the details show the first pass over
 * the data, which pays for a mapping.
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
