import { expect, test } from "vitest";
import { ActorDiedError, ActorUnavailableError, TaskError } from "../../core/index.ts";
import { isLossOf } from "./replica-loss.ts";

const replica = { actorName: "replica:a", actorId: "actor-a" };

test.each([ActorDiedError, ActorUnavailableError])("a %o of the replica's actor is its loss, and that of an argument's is not", (Kind) => {
  const of = (details: Record<string, unknown>): Error =>
    new Kind("Call f failed", { reason: "it ended", details: { ...details, sent: false } });
  expect(isLossOf(of({ actorId: "actor-a" }), replica)).toBe(true);
  expect(isLossOf(of({ actorId: "actor-b" }), replica)).toBe(false);
  expect(isLossOf(of({ actorId: "actor-b" }), { ...replica, actorId: undefined })).toBe(false);
});

test("a lookup that finds no actor of the replica's name is its loss", () => {
  const lookup = (name: string): Error => new ActorDiedError("Cannot get actor", { reason: "no actor", details: { name, sent: false } });
  const unknown = { ...replica, actorId: undefined };
  expect(isLossOf(lookup("replica:a"), unknown)).toBe(true);
  expect(isLossOf(lookup("replica:b"), unknown)).toBe(false);
  expect(isLossOf(new ActorDiedError("died", { reason: "it ended" }), unknown)).toBe(false);
});

test("an error of the user's is no loss, whatever it says", () => {
  expect(isLossOf(new TaskError("replica:a is overloaded", { taskName: "handle" }), replica)).toBe(false);
  expect(isLossOf("replica:a", replica)).toBe(false);
});
