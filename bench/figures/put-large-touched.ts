/**
 * The big put of data that is really there: every element of the array was written before, so each byte is read from
 * memory and written to it.
 */
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { newLargeArray, putGigabytesPerSecond } from "../large-put.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "put-large-touched",
  title: "put of 800 MB, touched data",
  unit: "GB/s",
  higherIsBetter: true,
  goal: ratioAtLeast(1.5),
  floor: ratioAtLeast(0.8),
  run(plan) {
    const array = newLargeArray();
    for (let index = 0; index < array.length; index++) array[index] = index;
    return putGigabytesPerSecond(array, plan);
  },
};
