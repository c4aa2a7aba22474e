/** A `Queue`: items that are put and taken again one at a time, so two calls and two round trips each. */
import { Queue } from "shoal/util";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "queue-put-get",
  title: "items through a queue, one at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(10),
  floor: ratioAtLeast(3),
  async run(plan) {
    using queue = new Queue<number>();
    return await operationsPerSecond(async () => {
      await queue.put(1);
      await queue.get();
    }, plan);
  },
};
