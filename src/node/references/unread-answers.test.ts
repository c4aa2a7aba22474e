/**
 * Which holds are given back when a worker or a caller ends: those of answers that were never read, and no others.
 */
import { describe, expect, test } from "vitest";
import type { ObjectId, ProcessId } from "../../base/ids.ts";
import { type UnreadHold, UnreadAnswers } from "./unread-answers.ts";

const worker = "worker" as ProcessId;
const caller = "caller" as ProcessId;
const at = { worker, caller, link: 1 };
const holds = (...numbers: number[]): UnreadHold[] =>
  numbers.map((number, index) => ({ number, id: `${number}.${index}` as ObjectId, owner: worker }));

describe("answers that may not have been read", () => {
  test("when a link ends, the holds above the last answer that was read are given back, all of an answer or none", () => {
    const answers = new UnreadAnswers();
    const all = holds(1, 2, 2, 3, 3);
    for (const hold of all) answers.held(at, hold);
    expect(answers.ended(at, 2)).toEqual(all.slice(3));
    expect(answers.size).toBe(0);
  });

  test("what has been read meanwhile is kept no longer", () => {
    const answers = new UnreadAnswers();
    const all = holds(1, 2, 3);
    for (const hold of all) answers.held(at, hold);
    answers.read(at, 2);
    expect(answers.ended(at, 0)).toEqual(all.slice(2));
  });

  test("links of one worker are told apart by their caller and its number", () => {
    const answers = new UnreadAnswers();
    const others = [
      { ...at, link: 2 },
      { ...at, caller: "another" as ProcessId },
    ];
    for (const link of [at, ...others]) for (const hold of holds(1)) answers.held(link, hold);
    answers.held({ ...at, worker: caller }, { number: 1, id: "x" as ObjectId, owner: worker });
    expect(answers.ended(at, 1)).toEqual([]);
    expect(answers.linksOf(worker)).toMatchObject(others);
    expect(others.map((link) => answers.ended(link, 0).length)).toEqual([1, 1]);
    expect(answers.linksOf(worker)).toEqual([]);
  });

  test("a caller that has ended is asked nothing", () => {
    const answers = new UnreadAnswers();
    for (const hold of holds(1, 2)) answers.held(at, hold);
    answers.callerGone(caller);
    expect([answers.linksOf(worker), answers.size]).toEqual([[], 0]);
  });

  test("nothing is known of a link without answers with holds", () => {
    expect(new UnreadAnswers().ended(at, 5)).toEqual([]);
  });
});
