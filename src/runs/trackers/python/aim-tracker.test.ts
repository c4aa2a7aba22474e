import { expect, test } from "vitest";
import { AimLoggerCallback } from "./aim-tracker.ts";
import { isTracker } from "../tracker.ts";

test("takes what Aim needs, and says why it measures no system", () => {
  expect(isTracker(new AimLoggerCallback({ repo: "/runs", experimentName: "mine", metrics: ["loss"] }))).toBe(true);
  expect(() => new AimLoggerCallback({ experiment: "mine" } as never)).toThrow(/experiment.*it is experimentName/);
  expect(() => new AimLoggerCallback({ systemTrackingInterval: 10 } as never)).toThrow(/not where they run: it measures nothing/);
  expect(() => new AimLoggerCallback({ metrics: "loss" } as never)).toThrow(/metrics .*a list of names is needed: received "loss"/);
});
