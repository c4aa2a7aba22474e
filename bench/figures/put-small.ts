/**
 * Putting a small value. The refs are dropped, as in Ray's loop; there a count frees them at once, here the garbage
 * collector does. After every 1,000 puts the event loop turns once, inside the measured time: a program that never
 * yields would leave out the cost of telling the store.
 */
import { put } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { BATCH_SIZE } from "../small-calls.ts";
import { nextTurn, operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "put-small",
  title: "small put",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(150),
  floor: ratioAtLeast(30),
  async run(plan) {
    const batch = () => {
      for (let index = 0; index < BATCH_SIZE; index++) put(0);
      return nextTurn();
    };
    return operationsPerSecond(batch, plan, { operationsPerCall: BATCH_SIZE });
  },
};
