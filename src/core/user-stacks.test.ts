import { expect, test } from "vitest";
import { runInterruptible } from "../runtime/os/processes/memory/interruptible.ts";
import { userStack } from "./user-stacks.ts";

test("the stack of a task that can be interrupted has no frames of the machinery around it", () => {
  let thrown: unknown;
  runInterruptible(function task() {
    thrown = new Error("it failed");
  });
  const lines = String(userStack(thrown)).split("\n");
  expect(String((thrown as Error).stack)).toContain("shoal:interruptible");
  expect(lines.join("\n")).not.toMatch(/shoal:interruptible|node:vm/);
  expect(lines[0]).toBe("Error: it failed");
});
