/**
 * Taking 1,000 results one by one off a list with `wait`, the pending list of one call being the input of the next.
 * A wait that looks at its whole list each time makes this quadratic.
 */
import { type ObjectRef, wait } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { BATCH_SIZE, smallValue } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "wait-1k-refs",
  title: "wait on 1,000 refs, one by one",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(100),
  floor: ratioAtLeast(20),
  async run(plan) {
    const drain = async () => {
      let pending: ObjectRef<Uint8Array>[] = Array.from({ length: BATCH_SIZE }, () => smallValue.remote());
      while (pending.length > 0) [, pending] = await wait(pending);
    };
    return operationsPerSecond(drain, plan);
  },
};
