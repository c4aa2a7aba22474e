/**
 * The big put as Ray's microbenchmark does it: an array that was never written. Its pages are the kernel's one page of
 * zeros, so this measures writing into the store and hardly any reading.
 */
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { newLargeArray, putGigabytesPerSecond } from "../large-put.ts";

export const figure: DriverFigure = {
  where: "driver",
  name: "put-large-zeros",
  title: "put of 800 MB, untouched zeros",
  unit: "GB/s",
  higherIsBetter: true,
  goal: ratioAtLeast(1.5),
  floor: ratioAtLeast(0.8),
  run: (plan) => putGigabytesPerSecond(newLargeArray(), plan),
};
