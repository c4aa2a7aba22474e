import { expect, test } from "vitest";
import { betterMode } from "./ray-modes.ts";

test("the value of Ray is that of its better mode, and both modes are told", () => {
  const byDefault = { samples: [500, 600, 700], details: { p99Ms: 200 } };
  const fast = { samples: [4000], details: { p99Ms: 30 } };
  const rates = betterMode({ higherIsBetter: true }, { byDefault, fast });
  expect(rates).toEqual({ samples: [4000], details: { default: 600, defaultP99Ms: 200, fast: 4000, fastP99Ms: 30 } });
  expect(betterMode({ higherIsBetter: false }, { byDefault, fast }).samples).toEqual([500, 600, 700]);
});
