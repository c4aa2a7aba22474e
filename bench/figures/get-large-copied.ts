/**
 * Bytes copied when another process gets a 100 MB object and reads every byte: none, where the object is mapped. The limit of 1 MB allows
 * for the program's own garbage in the reading process.
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
