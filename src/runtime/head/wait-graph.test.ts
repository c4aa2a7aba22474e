import { describe, expect, test } from "vitest";
import type { ActorId, ProcessId } from "../base/ids.ts";
import type { LongWaitHeader } from "../wire/messages.ts";
import { describeCycle, WaitGraph } from "./wait-graph.ts";

const here = "here" as ProcessId;
const there = "there" as ProcessId;

/** "a@A>b@B": the call a, which runs in the serial actor A, waits for the call b to the actor B. */
function wait(text: string, number = 1): LongWaitHeader {
  const [from = "", to = ""] = text.split(">");
  const [task = "", actor] = from.split("@");
  const targets = to.split("&").map((target) => {
    const [other = "", otherActor] = target.split("@");
    return { task: other, name: `${otherActor ?? ""}.${other}`, actor: otherActor as ActorId | undefined };
  });
  return { number, task, name: `${actor ?? ""}.${task}`, actor: actor as ActorId | undefined, for: targets };
}

function cyclesOf(...texts: string[]): string[][] {
  const graph = new WaitGraph();
  return texts
    .flatMap((text, index) => graph.told(here, { began: [wait(text, index + 1)], ended: [] }))
    .map((steps) => steps.map(({ task }) => task));
}

describe("the graph of waits", () => {
  test("two actors that call each other are a cycle: the call back cannot begin", () => {
    expect(cyclesOf("a1@A>b1@B", "b1@B>a2@A")).toEqual([["b1", "a1"]]);
  });

  test("a cycle may lead through tasks and through calls that wait in a queue", () => {
    expect(cyclesOf("a1@A>t1", "t1>a2@A")).toEqual([["t1", "a1"]]);
    expect(cyclesOf("a1@A>b2@B", "b1@B>c1@C", "c1@C>a2@A")).toEqual([["c1", "a1", "b1"]]);
  });

  test("a chain is no cycle, nor are calls that wait for one that goes on", () => {
    expect(cyclesOf("a1@A>b1@B", "b1@B>c1@C", "c1@C>t1", "d1@D>a2@A")).toEqual([]);
  });

  test("one of several targets is enough, and an actor whose calls overlap holds back none", () => {
    expect(cyclesOf("a1@A>t1&b1@B", "b1@B>t2&a2@A")).toEqual([["b1", "a1"]]);
    expect(cyclesOf("a1>b1@B", "b1@B>a2@A")).toEqual([]);
  });

  test("a wait that has ended, by itself or with its process, is forgotten", () => {
    const graph = new WaitGraph();
    graph.told(here, { began: [wait("a1@A>b1@B")], ended: [] });
    graph.told(here, { began: [], ended: [1] });
    expect(graph.told(there, { began: [wait("b1@B>a2@A")], ended: [] })).toEqual([]);
    graph.processGone(there);
    expect(graph.told(here, { began: [wait("a1@A>b1@B", 2)], ended: [] })).toEqual([]);
    expect(graph.size).toBe(1);
    expect(graph.waitsOf("a1")).toMatchObject([{ name: "A.a1" }]);
  });

  test("a cycle is told once when several of its waits are told together", () => {
    const graph = new WaitGraph();
    const [cycle, ...others] = graph.told(here, { began: [wait("a1@A>b1@B", 1), wait("b1@B>a2@A", 2)], ended: [] });
    expect(others).toEqual([]);
    expect(describeCycle(cycle ?? [])).toContain("A.a1 waits for B.b1, B.b1 waits for A.a2");
  });

  test("a long chain does not grow the stack", () => {
    const graph = new WaitGraph();
    const began = Array.from({ length: 20_000 }, (_, index) => wait(`t${index}>t${index + 1}`, index));
    graph.told(here, { began: began.slice(1), ended: [] });
    expect(graph.told(here, { began: [began[0] as LongWaitHeader], ended: [] })).toEqual([]);
    expect(graph.told(there, { began: [wait("t20000>t0")], ended: [] })[0]?.length).toBe(20_001);
  });
});
