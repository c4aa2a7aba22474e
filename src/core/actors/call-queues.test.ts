import { describe, expect, test } from "vitest";
import { CallQueues } from "./call-queues.ts";

interface Call {
  name: string;
  target: { group?: string };
  ready: boolean;
  isRemade: boolean;
}

function call(name: string, group?: string, ready = true): Call {
  return { name, target: group === undefined ? {} : { group }, ready, isRemade: false };
}

function queues(...calls: Call[]): CallQueues<Call> {
  const made = new CallQueues<Call>({ isReady: (one) => one.ready, isLast: (one) => one.name === "end" });
  for (const one of calls) made.push(one);
  return made;
}

function taken(from: CallQueues<Call>): string[] {
  const names: string[] = [];
  for (let next = from.takeReady(); next !== undefined; next = from.takeReady()) names.push(next.name);
  return names;
}

describe("the calls that wait for an actor", () => {
  test("leave in order, and one whose arguments are pending holds back its group alone", () => {
    const pending = call("b", "io", false);
    const waiting = queues(call("a", "io"), pending, call("c", "io"), call("d"), call("e"));
    expect(taken(waiting).sort()).toEqual(["a", "d", "e"]);
    expect(waiting.size).toBe(2);
    pending.ready = true;
    expect(taken(waiting)).toEqual(["b", "c"]);
  });

  test("that make lost objects again overtake those whose arguments are pending, and each other", () => {
    const remade = (name: string, ready: boolean): Call => ({ ...call(name, "io", ready), isRemade: true });
    const late = remade("d", false);
    const waiting = queues(call("a", "io", false), call("b", "io"), late, remade("c", true), call("end"));
    expect(taken(waiting)).toEqual(["c"]);
    late.ready = true;
    expect(taken(waiting)).toEqual(["d"]);
    expect(Array.from(waiting, ({ name }) => name)).toEqual(["a", "b", "end"]);
  });

  test("leave as they become ready where order does not matter", () => {
    const waiting = queues(call("a", undefined, false), call("b"), call("c", undefined, false), call("d"));
    waiting.isUnordered = true;
    expect(taken(waiting)).toEqual(["b", "d"]);
    expect(waiting.takeAll().map(({ name }) => name)).toEqual(["a", "c"]);
  });

  test("are sent again before all others, in their order", () => {
    const waiting = queues(call("c"), call("z", "io"));
    waiting.putBack([call("a"), call("y", "io"), call("b")]);
    expect(taken(waiting)).toEqual(["a", "b", "c", "y", "z"]);
    expect(waiting.size).toBe(0);
  });

  test("come before the end of the actor, whatever their group", () => {
    const pending = call("a", "io", false);
    const waiting = queues(pending, call("end"));
    waiting.isUnordered = true;
    expect(taken(waiting)).toEqual([]);
    pending.ready = true;
    expect(taken(waiting)).toEqual(["a", "end"]);
  });

  test("know whether a call of a group would be the next", () => {
    const waiting = queues(call("a", "io", false));
    expect(waiting.isEmptyFor(undefined)).toBe(true);
    expect(waiting.isEmptyFor("io")).toBe(false);
  });
});
