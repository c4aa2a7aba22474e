import { expect, test } from "vitest";
import { ActorDiedError, TaskError } from "../../../core/index.ts";
import { reasonOf } from "./replica-starter.ts";

function died(fields: object): ActorDiedError {
  const reason = "its process ended";
  return new ActorDiedError(`Call Replica.alive failed: the actor died: ${reason}`, {
    reason,
    details: { call: "Replica.alive" },
    ...fields,
  });
}

test.each([
  [{ signal: "SIGKILL" }, "its process ended (SIGKILL)"],
  [{ exitCode: 3 }, "its process ended (exit code 3)"],
  [
    { signal: "SIGABRT", lastOutput: ["FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"] },
    "its process ended (SIGABRT: JavaScript heap out of memory)",
  ],
  [{}, "its process ended"],
])("the death of a replica tells how its process ended: %o", (fields, text) => {
  expect(reasonOf(died(fields))).toBe(text);
});

test("an error of the user's code is told with its class", () => {
  const cause = new RangeError("no such size");
  expect(reasonOf(new TaskError("Task Replica.start failed: RangeError: no such size", { cause }))).toBe("RangeError: no such size");
});
