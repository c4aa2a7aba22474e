/** The choice of clients to cut off, with the test's own clock. */
import { expect, test } from "vitest";
import { AnswersUnderWay, type AnswerUnderWay } from "./answers-under-way.ts";

const MIB = 1024 * 1024;

class Answer implements AnswerUnderWay {
  unsentBytes: number;
  takenBytes = 0;
  isQueued = false;
  isCut = false;
  constructor(unsentBytes: number) {
    this.unsentBytes = unsentBytes;
  }
  take(bytes: number): void {
    this.takenBytes += bytes;
    this.unsentBytes -= bytes;
  }
  cutOff(): void {
    this.isCut = true;
  }
}

function begun(...answers: Answer[]): AnswersUnderWay {
  const all = new AnswersUnderWay({ pauseMs: 10_000, leastBytes: 1_000 });
  for (const answer of answers) all.begin(answer);
  return all;
}

test("a client that takes nothing or too little is cut off after its time; one that takes enough, or owes nothing, is not", () => {
  const [idle, trickling, slow, waiting, small, queued] = [5_000, 50_000, 50_000, 0, 10, 500].map((size) => new Answer(size)) as [
    Answer,
    Answer,
    Answer,
    Answer,
    Answer,
    Answer,
  ];
  queued.isQueued = true;
  const all = begun(idle, trickling, slow, waiting, small, queued);
  for (let nowMs = 0; nowMs <= 30_000; nowMs += 1_000) {
    all.step(nowMs);
    trickling.take(10);
    slow.take(150);
    if (nowMs === 5_000) small.take(10);
  }
  expect([idle, trickling, slow, waiting, small, queued].map(({ isCut }) => isCut)).toEqual([true, true, false, false, false, false]);
});

test("above the bound of all together those that stand still give way, the largest first", () => {
  const [large, middle, moving] = [300 * MIB, 100 * MIB, 100 * MIB].map((size) => new Answer(size)) as [Answer, Answer, Answer];
  const all = begun(middle, large, moving);
  for (let nowMs = 0; nowMs <= 6_000; nowMs += 1_000) {
    all.step(nowMs);
    expect(large.isCut).toBe(nowMs >= 5_000);
    moving.take(10_000);
  }
  expect([middle.isCut, moving.isCut]).toEqual([false, false]);
});
