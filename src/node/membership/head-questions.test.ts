import { expect, test } from "vitest";
import type { ProcessId } from "../../base/ids.ts";
import { MESSAGE } from "../../wire/messages.ts";
import { HeadQuestions } from "./head-questions.ts";

const a = "a" as ProcessId;
const message = (type: number, callId: number) => ({ type, callId, flags: 0, body: new Uint8Array([callId]) });

test("what has no answer is asked again, with its body, and what is watched is watched again", () => {
  const questions = new HeadQuestions();
  questions.asked(a, message(MESSAGE.ACTOR_CREATE, 1), { actorId: "x" });
  questions.asked(a, message(MESSAGE.ACTOR_LOOKUP, 2), { name: "n" });
  questions.asked(a, message(MESSAGE.ACTOR_KILL, 0), { actorId: "x" });
  questions.answered(a, 1);
  questions.answered(a, 7);
  expect(questions.again()).toEqual([
    { header: [a, "", MESSAGE.ACTOR_WATCH, 0, 0, "x"], body: new Uint8Array() },
    { header: [a, "", MESSAGE.ACTOR_LOOKUP, 2, 0, { name: "n" }, true], body: new Uint8Array([2]) },
  ]);
});

test("a process that has gone asks nothing more", () => {
  const questions = new HeadQuestions();
  questions.asked(a, message(MESSAGE.ACTOR_WATCH, 0), "x");
  questions.asked(a, message(MESSAGE.GROUP_WATCH, 1), "g");
  questions.processGone(a);
  expect(questions.again()).toEqual([]);
});
