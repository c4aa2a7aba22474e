/** A node's questions to the head for its own processes, and its use of the answers. */
import { describe, expect, test } from "vitest";
import type { NodeId, NodeTag, ProcessId } from "../../../base/ids.ts";
import { resourceVector } from "../../../base/resources.ts";
import { leaseKey, type LeasePlace, type LeaseSpec, parseLeaseSpec } from "../../../scheduling/lease-spec.ts";
import type { Overflow } from "./lease-overflow.ts";
import { type NearTasks, type SpillAnswer, Spillback, type SpillEffect } from "./spillback.ts";

const owner = "owner" as ProcessId;
const here = "here" as NodeId;
const there = "there" as NodeId;
const thereTag = "there" as NodeTag;

function specOf(place: LeasePlace = {}): LeaseSpec {
  return parseLeaseSpec(leaseKey(resourceVector({ CPU: 1 }), place));
}

const plain = specOf();

function overflow(excess: number, more: Partial<Overflow> = {}): Overflow {
  return { owner, nested: false, spec: plain, backlog: 10, elsewhere: 0, excess, isHopeless: false, ...more };
}

function start() {
  const spillback = new Spillback(here);
  let question = 0;
  const seen = (effects: SpillEffect[]): SpillEffect[] => {
    for (const effect of effects) if (effect.kind === "ask" && effect.question.number > 0) question = effect.question.number;
    return effects;
  };
  return {
    spillback,
    review: (nowMs: number, ...overflows: Overflow[]) => seen(spillback.handle({ kind: "review", overflows, nowMs })),
    answer: (answer: SpillAnswer, nowMs = 0) => seen(spillback.handle({ kind: "answered", question, answer, nowMs })),
    demand: (spec: LeaseSpec, backlog: number, near: NearTasks = []) =>
      spillback.handle({ kind: "demand", owner, spec, backlog, near, nowMs: 0 }),
  };
}

function asked(effects: readonly SpillEffect[]): { count: number; isFromFull: boolean; knows: string | undefined }[] {
  return effects.flatMap((effect) =>
    effect.kind === "ask" ? [{ count: effect.question.count, isFromFull: effect.question.isFromFull, knows: effect.question.knows }] : [],
  );
}

function nodes(count: number, nodeId: NodeId = there): SpillAnswer {
  return { kind: "nodes", nodes: [{ nodeId, count, placement: 7, waitMs: 100 }] };
}

describe("overflow", () => {
  test("is asked for when it lasts, once, and sent where the head says", () => {
    const node = start();
    expect(node.review(0, overflow(4))).toEqual([]);
    expect(node.spillback.wakeAtMs).toBe(5);
    expect(asked(node.review(5, overflow(4)))).toEqual([{ count: 4, isFromFull: true, knows: undefined }]);
    expect(node.review(6, overflow(4))).toEqual([]);
    expect(node.answer(nodes(3))).toMatchObject([{ kind: "demand", nodeId: there, count: 3, placement: 7, waitMs: 100 }]);
    // Leases that are being sought are not asked for again.
    expect(asked(node.review(7, overflow(4)))).toMatchObject([{ count: 1 }]);
  });

  test("that this node can never hold is asked for at once", () => {
    expect(asked(start().review(0, overflow(2, { isHopeless: true })))).toMatchObject([{ count: 2 }]);
  });

  test("who has to wait asks once more, saying so, and then only for much more", () => {
    const node = start();
    node.review(0, overflow(2, { isHopeless: true }));
    expect(node.answer({ kind: "wait" })).toEqual([]);
    expect(asked(node.review(1, overflow(2, { isHopeless: true })))).toMatchObject([{ count: 2, knows: "wait" }]);
    expect(node.review(2, overflow(3, { isHopeless: true }))).toEqual([]);
    expect(asked(node.review(3, overflow(4, { isHopeless: true })))).toMatchObject([{ count: 4, knows: "wait" }]);
  });

  test("a grant counts down what is sought; a drop is asked for again after a while that grows", () => {
    const node = start();
    node.review(0, overflow(2, { isHopeless: true }));
    node.answer(nodes(2));
    const granted = node.spillback.handle({ kind: "granted", nodeId: thereTag, owner, spec: plain });
    expect(granted).toEqual([{ kind: "grantedElsewhere", owner, spec: plain }]);
    expect(node.review(1, overflow(1, { isHopeless: true }))).toEqual([]);
    node.spillback.handle({ kind: "dropped", nodeId: thereTag, owner, spec: plain, count: 1, nowMs: 100 });
    expect(node.review(119, overflow(1, { isHopeless: true }))).toEqual([]);
    expect(asked(node.review(120, overflow(1, { isHopeless: true })))).toMatchObject([{ count: 1 }]);
    node.answer(nodes(1), 121);
    node.spillback.handle({ kind: "dropped", nodeId: thereTag, owner, spec: plain, count: 1, nowMs: 200 });
    expect(node.review(239, overflow(1, { isHopeless: true }))).toEqual([]);
    expect(asked(node.review(240, overflow(1, { isHopeless: true })))).toMatchObject([{ count: 1 }]);
  });

  test("nothing wanted any more: demands elsewhere and the open question are withdrawn", () => {
    const node = start();
    node.review(0, overflow(2, { isHopeless: true }));
    node.answer(nodes(1));
    node.review(1, overflow(2, { isHopeless: true }));
    node.answer({ kind: "wait" });
    node.review(2, overflow(2, { isHopeless: true }));
    expect(node.review(3)).toMatchObject([
      { kind: "demand", nodeId: there, count: 0 },
      { kind: "ask", question: { count: 0 } },
    ]);
    expect(node.review(4)).toEqual([]);
  });

  test("the end of the owner withdraws, that of the node asks anew", () => {
    const node = start();
    node.review(0, overflow(2, { isHopeless: true }));
    node.answer(nodes(2));
    expect(node.review(1, overflow(2, { isHopeless: true }))).toEqual([]);
    node.spillback.handle({ kind: "nodeGone", nodeId: thereTag });
    expect(asked(node.review(2, overflow(2, { isHopeless: true })))).toMatchObject([{ count: 2 }]);
    node.answer(nodes(2));
    expect(node.spillback.handle({ kind: "ownerGone", owner })).toMatchObject([{ kind: "demand", count: 0 }]);
  });

  test("another head is asked again, and so is one that does not answer; an old answer is of no use", () => {
    const node = start();
    node.review(0, overflow(2, { isHopeless: true }));
    node.spillback.handle({ kind: "headUp" });
    expect(asked(node.review(1, overflow(2, { isHopeless: true })))).toHaveLength(1);
    expect(node.spillback.handle({ kind: "answered", question: 1, answer: nodes(2), nowMs: 2 })).toEqual([]);
    expect(node.review(15_000, overflow(2, { isHopeless: true }))).toEqual([]);
    expect(asked(node.review(15_001, overflow(2, { isHopeless: true })))).toHaveLength(1);
  });

  test("what no node can hold is told once, what is refused ends", () => {
    const node = start();
    node.review(0, overflow(1, { isHopeless: true }));
    expect(node.answer({ kind: "infeasible", text: "waits" })).toMatchObject([{ kind: "infeasible", text: "waits" }]);
    expect(asked(node.review(1, overflow(1, { isHopeless: true })))).toMatchObject([{ knows: "infeasible" }]);
    expect(node.answer({ kind: "infeasible", text: "waits" })).toEqual([]);
    node.review(2, overflow(1, { isHopeless: true }));
    const refusal = { code: "unschedulable", reason: "no", hint: "no" } as const;
    expect(node.answer({ kind: "refused", refusal })).toEqual([{ kind: "refused", owner, spec: plain, refusal }]);
  });

  test("an answer that names this node is not asked for again at once", () => {
    const node = start();
    node.review(0, overflow(1));
    node.review(5, overflow(1));
    node.answer(nodes(1, here), 6);
    expect(node.review(7, overflow(1))).toEqual([]);
    expect(asked(node.review(26, overflow(1)))).toHaveLength(1);
  });
});

describe("spread", () => {
  const spread = specOf({ spread: true });
  const waiting = (backlog: number, elsewhere: number, excess = 0) => overflow(excess, { spec: spread, backlog, elsewhere });

  test("all of it is kept from this node until the head says what is for it", () => {
    const node = start();
    expect(node.demand(spread, 4)).toMatchObject([{ kind: "elsewhere", count: 4 }]);
    expect(node.spillback.elsewhereOf(owner, spread)).toBe(4);
    expect(asked(node.review(0, waiting(4, 4)))).toEqual([{ count: 4, isFromFull: false, knows: undefined }]);
    const answer: SpillAnswer = {
      kind: "nodes",
      nodes: [
        { nodeId: here, count: 2, placement: 1, waitMs: 100 },
        { nodeId: there, count: 2, placement: 2, waitMs: 100 },
      ],
    };
    expect(node.answer(answer)).toMatchObject([
      { kind: "demand", nodeId: there, count: 2 },
      { kind: "elsewhere", count: 2 },
      { kind: "settled", placement: 1 },
    ]);
    expect(node.review(1, waiting(4, 2))).toEqual([]);
  });

  test("as is what prefers another node, but not what prefers this one", () => {
    const node = start();
    const [preferred, own] = [there, here].map((id) => specOf({ node: { id, soft: true } })) as [LeaseSpec, LeaseSpec];
    expect(node.demand(own, 4)).toEqual([]);
    expect(node.demand(preferred, 4)).toMatchObject([{ kind: "elsewhere", count: 4 }]);
    expect(asked(node.review(0, overflow(0, { spec: preferred, backlog: 4, elsewhere: 4 })))).toEqual([
      { count: 4, isFromFull: false, knows: undefined },
    ]);
    expect(node.answer(nodes(4, here))).toMatchObject([
      { kind: "elsewhere", count: 0 },
      { kind: "settled", placement: 7 },
    ]);
  });

  test("what the head thought free here and is not goes elsewhere after a while", () => {
    const node = start();
    node.demand(spread, 1);
    node.review(0, waiting(1, 1));
    node.answer(nodes(1, here));
    expect(node.review(1, waiting(1, 0, 1))).toEqual([]);
    const effects = node.review(101, waiting(1, 0, 1));
    expect(effects).toMatchObject([
      { kind: "elsewhere", count: 1 },
      { kind: "ask", question: { isFromFull: true } },
    ]);
  });
});

describe("what it falls back on", () => {
  const inOrder = specOf({ labels: { zone: "east" }, fallbacks: [{ zone: "west" }] });
  const onNode = (labels: Record<string, string>): SpillEffect[] =>
    new Spillback(here, labels).handle({ kind: "demand", owner, spec: inOrder, backlog: 3, near: [], nowMs: 0 });

  test("is kept from a node that is not the first choice until the head has said that it is for this node", () => {
    expect(onNode({ zone: "west" })).toEqual([{ kind: "elsewhere", owner, spec: inOrder, count: 3 }]);
    // A node of the first choice may grant the demand; a node outside of all choices is hopeless.
    expect(onNode({ zone: "east" })).toEqual([]);
    expect(onNode({ zone: "north" })).toEqual([]);
  });

  test("is let in here when the head finds no room by the first selector", () => {
    const spillback = new Spillback(here, { zone: "west" });
    spillback.handle({ kind: "demand", owner, spec: inOrder, backlog: 3, near: [], nowMs: 0 });
    const [ask] = spillback.handle({
      kind: "review",
      overflows: [overflow(0, { spec: inOrder, backlog: 3, elsewhere: 3 })],
      nowMs: 0,
    });
    expect(ask).toMatchObject({ kind: "ask", question: { number: 1, count: 3, isFromFull: false } });
    const answer: SpillAnswer = {
      kind: "nodes",
      nodes: [
        { nodeId: there, count: 1, placement: 1, waitMs: 100 },
        { nodeId: here, count: 2, placement: 2, waitMs: 100 },
      ],
    };
    expect(spillback.handle({ kind: "answered", question: 1, answer, nowMs: 1 })).toMatchObject([
      { kind: "demand", nodeId: thereTag, count: 1 },
      { kind: "elsewhere", count: 1 },
      { kind: "settled", placement: 2 },
    ]);
  });
});

describe("locality", () => {
  const near = [["there" as NodeTag, 3, 5e6] as const];

  test("tasks whose arguments lie elsewhere are kept for that node, though there is room here", () => {
    const node = start();
    expect(node.demand(plain, 5, near)).toMatchObject([{ kind: "elsewhere", count: 3 }]);
    const effects = node.review(0, overflow(0, { backlog: 5, elsewhere: 3 }));
    expect(effects).toMatchObject([{ kind: "ask", question: { count: 3, isFromFull: false, argumentBytes: [["there", 5e6]] } }]);
  });

  test("they are let in here when there is no room there", () => {
    const node = start();
    node.demand(plain, 5, near);
    node.review(0, overflow(0, { backlog: 5, elsewhere: 3 }));
    expect(node.answer({ kind: "wait" })).toMatchObject([{ kind: "elsewhere", count: 0 }]);
    node.demand(plain, 5, near);
    expect(node.spillback.elsewhereOf(owner, plain)).toBe(0);
  });

  test("arguments on this node are no reason to go", () => {
    const node = start();
    expect(node.demand(plain, 5, [["here" as NodeTag, 3, 5e6]])).toMatchObject([{ kind: "elsewhere", count: 0 }]);
  });
});
