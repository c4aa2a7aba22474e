import { expect, test } from "vitest";
import { pendingText } from "./session.ts";

test("the line about pending calls names the most frequent, and stays short", () => {
  const names = Array.from({ length: 7 }, (_, index) => `f${index}`);
  expect(pendingText([...names, "often", "often"])).toContain(
    "9 calls were still pending and ended with the driver: often (2), f0, f1, f2, f3, 3 more.",
  );
});
