/**
 * The items of a generator task in their reader's hands, one after the other: streams of 1,000 small values, each read to its
 * end. Both sides as they are by default; Ray's producer may be ahead without limit, ours by 256 items.
 */
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { BATCH_SIZE, smallValues } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "stream-items",
  title: "items of generator tasks, 1,000 a stream",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(100),
  floor: ratioAtLeast(30),
  async run(plan) {
    const read = async () => {
      for await (const value of smallValues.remote(BATCH_SIZE))
        if (value.length !== 2) throw new Error("Cannot measure: a wrong item came");
    };
    return operationsPerSecond(read, plan, { operationsPerCall: BATCH_SIZE });
  },
};
