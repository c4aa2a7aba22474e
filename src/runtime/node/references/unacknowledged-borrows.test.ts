/**
 * Holds that are given back at the end of a link or a process: only those of messages that were never read.
 */
import { describe, expect, test } from "vitest";
import { nodeTagOf, type ObjectId, type ProcessId } from "../../base/ids.ts";
import { type UnacknowledgedBorrow, UnacknowledgedBorrows } from "./unacknowledged-borrows.ts";

const worker = "worker" as ProcessId;
const caller = "caller" as ProcessId;
const at = { sender: worker, receiver: caller, link: 1 };
const holds = (...numbers: number[]): UnacknowledgedBorrow[] =>
  numbers.map((number, index) => ({ number, id: `${number}.${index}` as ObjectId, owner: worker }));

describe("messages that may not have been read", () => {
  test("when a link ends, the holds above the last message that was read are given back, all of a message or none", () => {
    const messages = new UnacknowledgedBorrows();
    const all = holds(1, 2, 2, 3, 3);
    for (const hold of all) messages.held(at, hold);
    expect(messages.ended(at, 2)).toEqual(all.slice(3));
    expect(messages.size).toBe(0);
  });

  test("what has been read meanwhile is kept no longer", () => {
    const messages = new UnacknowledgedBorrows();
    const all = holds(1, 2, 3);
    for (const hold of all) messages.held(at, hold);
    messages.read(at, 2);
    expect(messages.ended(at, 0)).toEqual(all.slice(2));
  });

  test("links of one process are told apart by their receiver and their number, and calls on a link from its answers", () => {
    const messages = new UnacknowledgedBorrows();
    const others = [
      { ...at, link: -1 },
      { ...at, link: 2 },
      { ...at, receiver: "another" as ProcessId },
    ];
    for (const link of [at, ...others]) for (const hold of holds(1)) messages.held(link, hold);
    messages.held({ ...at, sender: caller, receiver: worker }, { number: 1, id: "x" as ObjectId, owner: worker });
    expect(messages.ended(at, 1)).toEqual([]);
    expect(messages.has(at)).toBe(false);
    expect(messages.linksOf(worker)).toEqual(others);
    expect(messages.linksOfNode(nodeTagOf(worker))).toEqual(others);
    expect(messages.linksOfNode(nodeTagOf(caller))).toHaveLength(1);
    expect(others.map((link) => messages.ended(link, 0).length)).toEqual([1, 1, 1]);
    expect(messages.linksOf(worker)).toEqual([]);
    expect(messages.size).toBe(1);
  });

  test("a receiver that has ended is asked nothing", () => {
    const messages = new UnacknowledgedBorrows();
    for (const hold of holds(1, 2)) messages.held(at, hold);
    messages.receiversGone((receiver) => receiver === worker);
    expect(messages.linksOf(worker)).toEqual([at]);
    messages.receiversGone((receiver) => receiver === caller);
    expect([messages.linksOf(worker), messages.size]).toEqual([[], 0]);
  });

  test("nothing is known of a link without messages with holds", () => {
    expect(new UnacknowledgedBorrows().ended(at, 5)).toEqual([]);
  });
});
