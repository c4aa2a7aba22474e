import { expect, test } from "vitest";
import { ActorDiedError, ActorUnavailableError, NodeDiedError, OutOfMemoryError, SerializationError } from "../../core/index.ts";
import { causeOfDeath, deathOf, failureOf, trialError, unsentFailureOf } from "./trial-failure.ts";

const died = (fields: object): ActorDiedError =>
  new ActorDiedError("Call TrialActor.next failed: the actor died", { reason: "its process ended", ...fields });

test("a process that died is told by how it ended, and what to do about it", () => {
  const exited = deathOf({ id: "t1" }, died({ exitCode: 3, lastOutput: ["one", "two"] }));
  expect(exited?.message).toBe("Trial t1 failed: its process ended: it exited with code 3; the last it printed:\n    one\n    two");
  expect(exited?.hint).toMatch(/^Something in the trial called process.exit, .*maxFailures/);
  const killed = deathOf({ id: "t1" }, died({ signal: "SIGKILL" }));
  expect(killed?.message).toBe("Trial t1 failed: its process ended: it was ended by SIGKILL");
  expect(killed?.hint).toContain("maxConcurrentTrials");
  expect(deathOf({ id: "t1" }, died({ signal: "SIGSEGV" }))?.hint).not.toContain("memory");
  const full = new OutOfMemoryError("Call x failed", { exitCode: 134, reason: "the heap was full", hint: "Process less at a time." });
  expect(deathOf({ id: "t1" }, full)).toMatchObject({
    message: "Trial t1 failed: its process ended: the heap was full",
    hint: expect.stringMatching(/^Process less at a time. failureConfig/),
  });
});

test("a trial that went with its node, or is out of reach, is told without the call that failed", () => {
  const gone = died({ reason: "its process ended: its node died: it has been silent for 5000 ms", details: { ending: "crashed" } });
  expect(deathOf({ id: "t1", nodeId: "n2" }, gone)).toMatchObject({
    message: "Trial t1 failed: its process ended: its node died: it has been silent for 5000 ms (it ran on node n2)",
    hint: expect.stringMatching(/^failureConfig: .*maxFailures/),
  });
  const cut = new ActorUnavailableError("Call TrialActor.next failed: x", { reason: "its connection broke: reset" });
  expect(deathOf({ id: "t1" }, cut)?.message).toBe("Trial t1 failed: its connection broke: reset");
  expect(deathOf({ id: "t1" }, died({ details: { ending: "constructorFailed" } }))).toBeUndefined();
});

test("errors that no process ended with keep their message and their hint", () => {
  const error = new NodeDiedError("The node is gone", { reason: "gone", hint: "Call init() again." });
  expect(deathOf({ id: "t1" }, error)).toBeUndefined();
  expect(deathOf({ id: "t1" }, new Error("mine"))).toBeUndefined();
  expect(trialError({ id: "t1" }, failureOf(error))).toMatchObject({
    message: "Trial t1 failed: NodeDiedError: The node is gone",
    hint: "Call init() again.",
  });
  expect(trialError({ id: "t1" }, failureOf(new Error("mine")))).not.toHaveProperty("hint");
  expect(failureOf("text")).toEqual({ name: "Error", message: 'it threw "text", which is no Error' });
});

test("what cannot be sent is named by its place in the configuration, not by the call", () => {
  const call = "the arguments of TrialActor.begin";
  const text = `${call} cannot be sent to another process:\n    ${call} → [0] → .config → .model (Socket) cannot be sent`;
  const error = new SerializationError(text, { reason: "not-serializable", hint: "Open it there." });
  const failure = unsentFailureOf(error);
  expect(failure).toEqual({
    name: "SerializationError",
    message: "its configuration cannot be sent to another process:\n    config → .model (Socket) cannot be sent",
    hint: "Open it there.",
  });
  expect(trialError({ id: "t1" }, failure).stack).toBe(`TuneError: Trial t1 failed: SerializationError: ${failure.message}`);
  const toPython = new SerializationError("Cannot call TrialActor.begin: the argument at [0].config.model has no form in Python");
  expect(unsentFailureOf(toPython).message).toBe("config.model has no form in Python");
});

test("a trainable that is not there where the trial runs is named by the error of that", () => {
  const cause = new Error("train.py has no fit");
  expect(causeOfDeath(died({ details: { ending: "constructorFailed" }, cause }))).toBe(cause);
  const others = [died({ details: { ending: "constructorFailed" } }), died({ details: { ending: "crashed" }, cause }), cause, "text"];
  for (const other of others) expect(causeOfDeath(other)).toBe(other);
});

test("the stack of a failed trial is that of the user's code alone", () => {
  const error = Object.assign(new RangeError("deep"), {
    stack:
      "RangeError: deep\n    at inner (/mine.ts:5:1)\n    at async FunctionTrial.#run (/x/trial-loop.ts:1:1)\n    at body (/x/y.js:1:1)",
  });
  const failure = failureOf(error);
  expect(trialError({ id: "t1" }, failure).stack).toBe("TuneError: Trial t1 failed: RangeError: deep\n    at inner (/mine.ts:5:1)");
  const outer = Object.assign(new Error("outer", { cause: error }), { stack: "Error: outer\n    at /mine.ts:1:1" });
  expect(failureOf(outer).stack).toBe("Error: outer\n    at /mine.ts:1:1\n  [cause]: RangeError: deep\n      at inner (/mine.ts:5:1)");
  outer.cause = outer;
  expect(failureOf(outer).stack?.split("[cause]")).toHaveLength(6);
  const traceback = 'Traceback (most recent call last):\n  File "mine.py", line 2, in train\nValueError: no';
  expect(trialError({ id: "t1" }, { name: "ValueError", message: "no", stack: traceback }).stack).toBe(
    `TuneError: Trial t1 failed: ValueError: no\n${traceback}`,
  );
  expect(trialError({ id: "t1" }, { name: "TuneError", message: "Trial t1 is none", namesTrial: true }).stack).toBe(
    "TuneError: Trial t1 is none",
  );
});
