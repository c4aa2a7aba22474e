import { expect, test } from "vitest";
import { ofBothModes, ratiosToModes } from "./ray-modes.ts";

const BY_DEFAULT = { samples: [500, 600, 700], details: { p99Ms: 200 } };
const FAST = { samples: [4000], details: { p99Ms: 30 } };

test("the value of Ray is that of the mode which the bars are held to, and both modes are told", () => {
  const both = { byDefault: BY_DEFAULT, fast: FAST };
  const details = { default: 600, defaultP99Ms: 200, fast: 4000, fastP99Ms: 30 };
  expect(ofBothModes({ higherIsBetter: true, fastMode: "held" }, both)).toEqual({ samples: [4000], details });
  expect(ofBothModes({ higherIsBetter: true, fastMode: "told" }, both)).toEqual({ samples: [500, 600, 700], details });
  expect(ofBothModes({ higherIsBetter: false, fastMode: "held" }, both).samples).toEqual([500, 600, 700]);
});

test("ratios are to each of the modes", () => {
  const details = { default: 500, fast: 2000 };
  expect(ratiosToModes({ higherIsBetter: true }, 8000, details)).toEqual({ byDefault: 16, fast: 4 });
  expect(ratiosToModes({ higherIsBetter: true }, null, details)).toBeUndefined();
  expect(ratiosToModes({ higherIsBetter: true }, 8000, {})).toBeUndefined();
});
