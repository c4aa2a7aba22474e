import { expect, test } from "vitest";
import type { Why } from "../../core/index.ts";
import { waitText } from "./wait-text.ts";

const why = (given: Partial<Omit<Why, "toString">>): Why => ({ what: "", state: "unknown", reason: "", causes: [], details: {}, ...given });
const nobody = (): undefined => undefined;

test("the last cause is told, with the replicas that hold what is wanted", () => {
  const reason = "it needs 2 CPU, of which 0 is free; held by actor Replica (1 CPU), actor Cache (1 CPU)";
  const actor = why({ state: "waits for resources", reason, details: { holders: [{ id: "a" }, { id: "b" }] } });
  const call = why({ state: "waits for the actor", reason: "actor Replica has not started yet", causes: [actor] });
  const replicaOf = (id: string): string | undefined => (id === "a" ? "shop#Model#1" : undefined);
  expect(waitText(call, replicaOf)).toBe(`waits for resources: ${reason}; among these: replica shop#Model#1`);
  expect(waitText(call, nobody)).toBe(`waits for resources: ${reason}`);
});

test("a call that runs is the user's code", () => {
  expect(waitText(why({ state: "running", reason: "it runs in process 7, for 3 s" }), nobody)).toBe(
    "is in its constructor, reconfigure or checkHealth",
  );
});
