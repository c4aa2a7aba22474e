/** Questions that are repeated to another head, and messages that the link itself sends again. */
import { expect, test } from "vitest";
import type { ProcessId } from "../../../base/ids.ts";
import { FrameParser } from "../../../wire/frame.ts";
import { decodeHeader } from "../../../wire/header.ts";
import { MESSAGE } from "../../../wire/messages.ts";
import { frameForHead, HeadQuestions } from "./head-questions.ts";

const a = "a" as ProcessId;
const b = "b" as ProcessId;
const NONE: ReadonlySet<Buffer> = new Set();

function asks(questions: HeadQuestions, from: ProcessId, type: number, callId: number, header: unknown): Buffer {
  const message = [from, { type, callId, flags: 0, body: new Uint8Array([callId]) }, header] as const;
  const frame = frameForHead(message);
  questions.asked(message, frame);
  return frame;
}

function read(frames: readonly Buffer[]): unknown[] {
  const found: unknown[] = [];
  for (const bytes of frames) new FrameParser(({ header, body }) => found.push([decodeHeader(header), [...body]])).push(Buffer.from(bytes));
  return found;
}

test("what has no answer is asked again, with its body, and what is watched is watched again", () => {
  const questions = new HeadQuestions();
  asks(questions, a, MESSAGE.ACTOR_CREATE, 1, { actorId: "x" });
  asks(questions, a, MESSAGE.ACTOR_LOOKUP, 2, { name: "n" });
  asks(questions, a, MESSAGE.ACTOR_KILL, 0, { actorId: "x" });
  questions.answered(a, 1);
  questions.answered(a, 7);
  expect(read(questions.again(NONE))).toEqual([
    [[a, "", MESSAGE.ACTOR_WATCH, 0, 0, "x"], []],
    [[a, "", MESSAGE.ACTOR_LOOKUP, 2, 0, { name: "n" }], [2]],
  ]);
});

test("what the link still keeps is not asked here: not the question, and not to watch what it is about to create", () => {
  const questions = new HeadQuestions();
  const looked = asks(questions, a, MESSAGE.ACTOR_LOOKUP, 1, { name: "n" });
  const created = asks(questions, a, MESSAGE.ACTOR_CREATE, 2, { actorId: "x" });
  const removed = asks(questions, a, MESSAGE.GROUP_REMOVE, 3, "g");
  expect(questions.again(new Set([looked, created, removed]))).toEqual([]);
  expect(questions.again(new Set([created, removed]))).toEqual([looked]);
  const [watch, ...again] = questions.again(new Set([removed]));
  expect(again).toEqual([looked, created]);
  // The link itself repeats the messages that it keeps from the last head.
  expect(questions.again(new Set([watch as Buffer, looked, created]))).toEqual([removed]);
});

test("questions of several processes are asked again in the order of all", () => {
  const questions = new HeadQuestions();
  const asked = [a, b, a].map((from, index) => asks(questions, from, MESSAGE.GROUP_WATCH, index + 1, "g"));
  expect(questions.again(NONE)).toEqual(asked);
});

test("a process that has gone asks nothing more", () => {
  const questions = new HeadQuestions();
  asks(questions, a, MESSAGE.ACTOR_WATCH, 0, "x");
  asks(questions, a, MESSAGE.GROUP_WATCH, 1, "g");
  questions.processGone(a);
  expect(questions.again(NONE)).toEqual([]);
});
