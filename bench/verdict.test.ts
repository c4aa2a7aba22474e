import { describe, expect, test } from "vitest";
import { ratioAtLeast, RUNS, valueAtMost } from "./figure.ts";
import { formatValue } from "./report.ts";
import { median } from "./statistics.ts";
import { barForJson, ratioOf, verdictOf } from "./verdict.ts";

describe("ratio", () => {
  test("says how many times better Shoal is, for rates and for durations alike", () => {
    expect(ratioOf({ shoal: 300, ray: 100 }, true)).toBe(3);
    expect(ratioOf({ shoal: 100, ray: 300 }, false)).toBe(3);
    expect(ratioOf({ shoal: 50, ray: 100 }, true)).toBe(0.5);
  });

  test("is absent without both values, and against nothing", () => {
    expect(ratioOf({ shoal: 300, ray: null }, true)).toBeNull();
    expect(ratioOf({ shoal: 0, ray: 5 }, false)).toBeNull();
    expect(ratioOf({ shoal: 0.02, ray: 0 }, false)).toBeNull();
  });
});

describe("verdict", () => {
  const rate = { goal: ratioAtLeast(40), floor: ratioAtLeast(15), higherIsBetter: true };
  const size = { goal: valueAtMost(20), floor: valueAtMost(40), higherIsBetter: false };

  test("of a ratio: goal, ok, below", () => {
    expect(verdictOf({ shoal: 4000, ray: 100 }, rate)).toBe("goal");
    expect(verdictOf({ shoal: 1500, ray: 100 }, rate)).toBe("ok");
    expect(verdictOf({ shoal: 1499, ray: 100 }, rate)).toBe("below");
  });

  test("of a ratio without Ray is none", () => {
    expect(verdictOf({ shoal: 4000, ray: null }, rate)).toBe("-");
  });

  test("of a value needs no Ray", () => {
    expect(verdictOf({ shoal: 20, ray: null }, size)).toBe("goal");
    expect(verdictOf({ shoal: 40, ray: null }, size)).toBe("ok");
    expect(verdictOf({ shoal: 41, ray: null }, size)).toBe("below");
  });

  test("of a figure that failed is failed, of one without bars none", () => {
    expect(verdictOf({ shoal: null, ray: 100 }, rate)).toBe("failed");
    expect(verdictOf({ shoal: 1, ray: 2 }, { goal: null, floor: null, higherIsBetter: false })).toBe("-");
  });

  test("of a figure that only has to run is ok below its goal", () => {
    const queued = { goal: ratioAtLeast(20), floor: RUNS, higherIsBetter: true };
    expect(verdictOf({ shoal: 100, ray: 100 }, queued)).toBe("ok");
  });
});

test("a ratio bar is a number in the results file, another bar a sentence", () => {
  expect(barForJson(ratioAtLeast(40), "/s")).toBe(40);
  expect(barForJson(valueAtMost(150), "MB")).toBe("<= 150 MB");
  expect(barForJson(null, "MB")).toBeNull();
});

test("the median is the middle, or between the two middles", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(() => median([])).toThrow(RangeError);
});

test("values show no more digits than a run can tell", () => {
  expect(formatValue(1_234_567.8)).toBe("1,234,568");
  expect(formatValue(12.3456)).toBe("12.3");
  expect(formatValue(null)).toBe("");
});
