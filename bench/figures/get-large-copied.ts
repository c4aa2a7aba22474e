/**
 * How much of a 100 MB object is copied when another process gets it and reads all of it: nothing, where it is mapped.
 * The limit of 1 MB is what the reading process allocates for other reasons meanwhile (the program's own garbage).
 */
import { type DriverFigure, valueAtMost } from "../figure.ts";
import { readLargeObjects } from "../large-get.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "get-large-copied",
  title: "get of 100 MB in another process, copied",
  unit: "MB",
  higherIsBetter: false,
  goal: valueAtMost(1),
  floor: valueAtMost(1),
  roundsMax: 1,
  note: "the growth of the reader's anonymous memory, as the kernel counts it; under 1 MB is the allocator's own noise",
  async run(plan) {
    return { samples: (await readLargeObjects(plan)).map((read) => read.copiedMegabytes) };
  },
};
