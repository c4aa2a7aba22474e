/**
 * `Pool.map` of a small function over 10,000 values, on two processes: what chunks, the roster and the way of the function cost.
 */
import { Pool } from "shoal/util";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { operationsPerSecond } from "../throughput.ts";

const PROCESSES = 2;
const VALUES = Array.from({ length: 10_000 }, (_, index) => index);

const square = (value: number): number => value * value;

export const figure: DriverFigure = {
  where: "driver",
  name: "pool-map",
  title: "values mapped by a pool",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(10),
  floor: ratioAtLeast(2),
  async run(plan) {
    await using pool = new Pool({ processes: PROCESSES });
    return await operationsPerSecond(() => pool.map(square, VALUES), plan, { operationsPerCall: VALUES.length });
  },
};
