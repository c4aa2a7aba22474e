import { expect, test } from "vitest";
import { CometLoggerCallback } from "./comet-tracker.ts";
import { isTracker } from "../tracker.ts";

test("takes what Comet needs, and no secrets", () => {
  expect(isTracker(new CometLoggerCallback({ online: false, offlineDirectory: "/archives", tags: ["red"] }))).toBe(true);
  expect(() => new CometLoggerCallback({ apiKey: "secret" } as never)).toThrow(/apiKey.*set COMET_API_KEY/);
  expect(() => new CometLoggerCallback({ tags: "red" } as never)).toThrow(/a list of texts is needed/);
});
