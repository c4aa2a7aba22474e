import { expect, test } from "vitest";
import { ActorDiedError, TaskError } from "../../core/index.ts";
import { nameCall } from "./shown-error.ts";

test("a failure names the deployment's method, and its stack has the user's frames alone", () => {
  const cause = new RangeError("no such size");
  cause.stack =
    "RangeError: no such size\n    at Model.size (app.ts:3:5)\n    at bound (user.js:1:1)\n    at Replica.#run (replica.js:1:1)";
  const error = new TaskError("Task Replica.call failed: RangeError: no such size", { cause });
  error.stack = `TaskError: ${error.message}\n    at Model.size (app.ts:3:5)\n    at async Replica.call (replica.js:1:1)\n    at main (app.ts:9:1)`;
  expect(nameCall(error, "Model.size")).toBe(error);
  expect(error.message).toBe("Task Model.size failed: RangeError: no such size");
  expect(error.stack).toBe(`TaskError: ${error.message}\n    at Model.size (app.ts:3:5)\n    at main (app.ts:9:1)`);
  expect(cause.stack).toBe("RangeError: no such size\n    at Model.size (app.ts:3:5)");
});

test("a death tells what becomes of the deployment, and keeps what the core says of the process", () => {
  const reason = "its process ended (it was ended by SIGKILL)";
  const error = new ActorDiedError(
    `Call Replica.stream failed: the actor died while the call was with it, behind Replica.alive: ${reason}`,
    {
      reason,
      hint: "Create the actor again, or set maxRestarts.",
      details: { call: "Replica.stream", actorId: "a" },
    },
  );
  nameCall(error, "Model.tokens");
  expect(error).toMatchObject({
    message: `Call Model.tokens failed: the actor died while the call was with it: ${reason}`,
    hint: expect.stringContaining("Another replica takes its place."),
    details: { call: "Model.tokens", actorId: "a" },
    reason,
  });
});

test("a failure of another call stays as it is", () => {
  const error = new ActorDiedError("Call Dying.end failed", { reason: "gone", hint: "Create the actor again." });
  nameCall(error, "Model.size");
  expect([error.message, error.hint]).toEqual(["Call Dying.end failed", "Create the actor again."]);
  expect(nameCall("text", "Model.size")).toBe("text");
});
