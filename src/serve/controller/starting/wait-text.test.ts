import { expect, test } from "vitest";
import type { Why } from "../../../core/index.ts";
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

test("a call that runs is the user's code, as is one behind code that computes", () => {
  const text = "is in its constructor, reconfigure or checkHealth";
  expect(waitText(why({ state: "running", reason: "it runs in process 7, for 3 s" }), nobody)).toBe(text);
  const reason = "it is with process 7, which computes, behind Replica.preempted";
  expect(waitText(why({ state: "waits for its turn", reason }), nobody)).toBe(text);
});

test("a placement group is told with what it asks for", () => {
  const waits = why({ state: "waits for a placement group", reason: "placement group ab is not reserved yet" });
  expect(waitText(waits, nobody, '{"CPU":1} on a node of {"zone":"a"}')).toBe(
    'waits for a placement group of {"CPU":1} on a node of {"zone":"a"}: placement group ab is not reserved yet',
  );
});
