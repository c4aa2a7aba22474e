/** Tests which names count as near: slips of the finger, spellings, and a name without its unit. */
import { describe, expect, test } from "vitest";
import { editDistance, nearNames } from "./near-names.ts";

describe("editDistance", () => {
  test.each([
    ["", "", 0],
    ["", "abc", 3],
    ["abc", "abc", 0],
    ["abc", "abd", 1],
    ["abc", "acb", 1],
    ["abc", "ab", 1],
    ["kitten", "sitting", 3],
  ])("%s → %s is %i", (from, to, distance) => {
    expect(editDistance(from, to)).toBe(distance);
    expect(editDistance(to, from)).toBe(distance);
  });
});

test("nearNames gives the nearest first, at most three, and none that is far", () => {
  const known = ["numCpus", "numGpus", "maxRetries", "retryDelayMs"];
  expect(nearNames("numCpu", known)).toEqual(["numCpus", "numGpus"]);
  expect(nearNames("NUM_GPUS", known)).toEqual(["numGpus", "numCpus"]);
  expect(nearNames("retryDelay", known)).toEqual(["retryDelayMs"]);
  expect(nearNames("colour", known)).toEqual([]);
  expect(nearNames("a", ["b1", "b2", "b3", "b4"])).toEqual(["b1", "b2", "b3"]);
});
