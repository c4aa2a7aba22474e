import { expect, test } from "vitest";
import { matchesLabels, parseCondition, unmatchedLabel } from "./label-selector.ts";

const labels = { region: "eu", tier: "gold" };

test.each([
  [{ region: "eu" }, true],
  [{ region: "us" }, false],
  [{ region: "!us" }, true],
  [{ region: "!eu" }, false],
  [{ region: "in(us, eu)" }, true],
  [{ region: "in(us)" }, false],
  [{ region: "!in(us,asia)" }, true],
  [{ region: "!in(us,eu)" }, false],
  [{ absent: "!x" }, true],
  [{ absent: "!in(x,y)" }, true],
  [{ absent: "x" }, false],
  [{ absent: "in(x)" }, false],
  [{ region: "eu", tier: "!silver" }, true],
  [{ region: "eu", tier: "silver" }, false],
  [{ toString: "x" }, false],
])("%j on a node of region eu and tier gold: %s", (selector, matches) => {
  expect(matchesLabels(selector, labels)).toBe(matches);
});

test("the first condition that does not hold is named", () => {
  expect(unmatchedLabel({ region: "eu", tier: "!gold" }, labels)).toEqual({ key: "tier", condition: "!gold" });
  expect(unmatchedLabel(undefined, labels)).toBeUndefined();
});

test.each(["", "!", "in()", "in(a,)", "a b", "in(a", "!!a", "-a"])("%j is no condition", (text) => {
  expect(parseCondition(text)).toBeUndefined();
});
