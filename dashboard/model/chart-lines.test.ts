import { expect, test } from "vitest";
import { pathOf, pointAt, scaleOf, spread } from "./chart-lines.ts";

const BOX = { width: 100, height: 50 };

test("a scale ends at a round number above all values", () => {
  expect([2, 0.07, 1_000, 990].map((value) => scaleOf([null, value], false).top)).toEqual([3, 0.08, 1_500, 1_500]);
  expect([700, 23 * 1024 ** 3, 1024].map((value) => scaleOf([value], true).top)).toEqual([800, 30 * 1024 ** 3, 1.5 * 1024]);
  expect(scaleOf([null, 0], true).top).toBe(1);
  expect(scaleOf([], false).top).toBe(1);
});

test("a line has a gap where nothing was measured", () => {
  expect(pathOf([0, 5, null, 10, null], { top: 10 }, BOX)).toBe("M0 50L25 25M75 0h1");
  expect(pathOf([null, null], { top: 10 }, BOX)).toBe("");
  expect(pathOf([4], { top: 8 }, BOX)).toBe("M0 25h1");
});

test("a span that is longer than its values begins with points that were not measured", () => {
  expect(spread([1, 2], 4)).toEqual([null, null, 1, 2]);
  expect(spread([1, 2, 3], 2)).toEqual([2, 3]);
});

test("a pointer finds the nearest point, also at the edges", () => {
  expect([-1, 0, 0.49, 0.51, 1, 2].map((share) => pointAt(share, 3))).toEqual([0, 0, 1, 1, 2, 2]);
});
