/** Placement groups over many nodes: two phases, deaths of nodes, and groups that are in each other's way. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { NodeId } from "../../base/ids.ts";
import { resourceVector } from "../../base/resources.ts";
import type { BundleStrategy } from "../../scheduling/bundle-placement.ts";
import { ClusterView } from "./cluster-view.ts";
import { GroupReservation, type ReservationEffect, type ReservationEvent } from "./group-reservation.ts";
import { checked } from "../../../../sim/checked.ts";

type Amounts = Record<string, number>;

/** A node of the test: it holds at once or refuses, and one that may wait does so. */
class FakeNode {
  readonly id: NodeId;
  readonly total: number;
  /** CPUs that tasks have. */
  busy = 0;
  sequence = 0;
  readonly settled: number[] = [];
  readonly prepared = new Map<string, { group: string; indices: number[]; cpus: number }>();
  readonly committed = new Map<string, { group: string; indices: number[]; cpus: number }>();
  readonly waiting = new Map<string, Extract<ReservationEffect, { kind: "prepare" }>>();

  constructor(id: string, total: number) {
    this.id = id as NodeId;
    this.total = total;
  }

  get held(): number {
    let sum = 0;
    for (const held of [this.prepared, this.committed]) for (const { cpus } of held.values()) sum += cpus;
    return sum;
  }

  get free(): number {
    return this.total - this.busy - this.held;
  }

  /** @returns the nodes' answers */
  handle(effect: ReservationEffect, nowMs: number): ReservationEvent[] {
    switch (effect.kind) {
      case "prepare": {
        const answers = this.#hold(effect, nowMs);
        if (answers.length === 0) this.waiting.set(`${effect.group}/${effect.attempt}`, effect);
        return answers;
      }
      case "commit": {
        const key = `${effect.group}/${effect.attempt}`;
        const held = this.prepared.get(key);
        this.prepared.delete(key);
        if (held !== undefined) this.committed.set(key, held);
        return [];
      }
      case "abort":
        this.prepared.delete(`${effect.group}/${effect.attempt}`);
        this.waiting.delete(`${effect.group}/${effect.attempt}`);
        return [];
      case "release":
        for (const held of [this.prepared, this.committed, this.waiting])
          for (const key of Array.from(held.keys())) if (key.startsWith(`${effect.group}/`)) held.delete(key);
        return [];
      default:
        return [];
    }
  }

  /** Offers freed resources to waiting groups. */
  retry(nowMs: number): ReservationEvent[] {
    return Array.from(this.waiting.values()).flatMap((effect) => this.#hold(effect, nowMs));
  }

  report(view: ClusterView): void {
    this.sequence += 1;
    const amounts = (cpus: number) => resourceVector({ CPU: cpus }).amounts;
    const freeOfActors = amounts(this.total - this.held);
    view.report(this.id, { sequence: this.sequence, free: amounts(this.free), freeOfActors, settled: this.settled.splice(0) });
  }

  #hold(effect: Extract<ReservationEffect, { kind: "prepare" }>, nowMs: number): ReservationEvent[] {
    const { group, attempt, bundles, mayWait, placement } = effect;
    const cpus = bundles.reduce((sum, { resources }) => sum + (resources.amounts.get("CPU") ?? 0) / 10_000, 0);
    const isHeld = cpus <= this.free;
    if (!isHeld && mayWait) return [];
    this.settled.push(placement);
    this.waiting.delete(`${group}/${attempt}`);
    if (isHeld) this.prepared.set(`${group}/${attempt}`, { group, indices: bundles.map(({ index }) => index), cpus });
    return [{ kind: "prepared", group, attempt, nodeId: this.id, isHeld, nowMs }];
  }
}

/** Nodes, the machine, and between them a queue for each direction of each link. */
function clusterOf(sizes: Amounts) {
  const view = new ClusterView();
  const reservation = checked(new GroupReservation(view));
  const nodes = new Map<NodeId, FakeNode>();
  const inbox = new Map<NodeId, ReservationEffect[]>();
  const outbox = new Map<NodeId, ReservationEvent[]>();
  const told: ReservationEffect[] = [];
  let nowMs = 0;
  const apply = (event: ReservationEvent): void => {
    for (const effect of reservation.handle(event)) {
      if ("nodeId" in effect) inbox.get(effect.nodeId)?.push(effect);
      else told.push(effect);
    }
  };
  const join = (id: string, cpus: number): void => {
    const node = new FakeNode(id, cpus);
    nodes.set(node.id, node);
    inbox.set(node.id, []);
    outbox.set(node.id, []);
    const amounts = resourceVector({ CPU: cpus }).amounts;
    view.join({ id, labels: {}, total: amounts, free: amounts });
  };
  const cluster = {
    view,
    reservation,
    nodes,
    told,
    join,
    node: (id: string) => nodes.get(id as NodeId) as FakeNode,
    wanted: (group: string, strategy: BundleStrategy, ...bundles: number[]) => {
      const requests = bundles.map((cpus) => ({ resources: resourceVector({ CPU: cpus }), labels: {} }));
      apply({ kind: "wanted", group, requests, strategy, nowMs });
    },
    removed: (group: string) => apply({ kind: "removed", group }),
    die: (id: string) => {
      const nodeId = id as NodeId;
      nodes.delete(nodeId);
      inbox.delete(nodeId);
      outbox.delete(nodeId);
      view.leave(nodeId);
      apply({ kind: "nodeGone", nodeId, nowMs });
    },
    /** Delivers one message of one link, to or from the node. */
    step: (choice: number) => {
      const ids = Array.from(nodes.keys());
      const id = ids[(choice >> 1) % Math.max(1, ids.length)];
      if (id === undefined) return;
      const effect = choice % 2 === 0 ? inbox.get(id)?.shift() : undefined;
      if (effect !== undefined) outbox.get(id)?.push(...(nodes.get(id) as FakeNode).handle(effect, nowMs));
      const event = choice % 2 === 0 ? undefined : outbox.get(id)?.shift();
      if (event !== undefined) apply(event);
    },
    tick: (afterMs: number) => {
      nowMs += afterMs;
      for (const node of nodes.values()) {
        outbox.get(node.id)?.push(...node.retry(nowMs));
        node.report(view);
      }
      apply({ kind: "tick", nowMs });
    },
    /** Everything that is on the way arrives. */
    settle: () => {
      for (let moved = true; moved; ) {
        moved = false;
        for (const [id, node] of nodes) {
          for (const effect of inbox.get(id)?.splice(0) ?? []) {
            moved = true;
            outbox.get(id)?.push(...node.handle(effect, nowMs));
          }
          for (const event of outbox.get(id)?.splice(0) ?? []) {
            moved = true;
            apply(event);
          }
        }
      }
    },
    places: (group: string) => {
      const found: Record<string, string> = {};
      for (const node of nodes.values())
        for (const held of node.committed.values()) if (held.group === group) for (const index of held.indices) found[index] = node.id;
      return found;
    },
  };
  for (const [id, cpus] of Object.entries(sizes)) join(id, cpus);
  return cluster;
}

describe("two phases", () => {
  test("a group is committed when all of its nodes hold it", () => {
    const cluster = clusterOf({ a: 2, b: 2 });
    cluster.wanted("g", "STRICT_SPREAD", 2, 1);
    expect(cluster.told).toEqual([]);
    cluster.settle();
    expect(cluster.told).toMatchObject([{ kind: "reserved", group: "g" }]);
    expect(Object.values(cluster.places("g")).toSorted()).toEqual(["a", "b"]);
  });

  test("when one refuses, the others give back, and it is tried again", () => {
    const cluster = clusterOf({ a: 1, b: 1 });
    cluster.node("b").busy = 1;
    cluster.wanted("g", "STRICT_SPREAD", 1, 1);
    cluster.settle();
    expect(cluster.told).toEqual([]);
    expect(cluster.node("a").held).toBe(0);
    cluster.node("b").busy = 0;
    cluster.tick(20);
    cluster.settle();
    expect(cluster.told).toMatchObject([{ kind: "reserved" }]);
  });

  test("an answer that comes after the group was removed changes nothing", () => {
    const cluster = clusterOf({ a: 1 });
    cluster.wanted("g", "PACK", 1);
    cluster.step(0);
    cluster.removed("g");
    cluster.settle();
    expect(cluster.told).toEqual([]);
    expect(cluster.node("a").free).toBe(1);
  });

  test("what no set of nodes can hold is told once, and placed when a node joins", () => {
    const cluster = clusterOf({ a: 1 });
    cluster.wanted("g", "STRICT_SPREAD", 1, 1);
    cluster.tick(2000);
    expect(cluster.told).toEqual([{ kind: "infeasible", group: "g" }]);
    cluster.join("b", 1);
    cluster.tick(2000);
    cluster.settle();
    expect(cluster.told.at(-1)).toMatchObject({ kind: "reserved" });
  });

  test("in a cluster full of tasks the nodes collect for the oldest group alone", () => {
    const cluster = clusterOf({ a: 2, b: 2 });
    for (const node of cluster.nodes.values()) node.busy = 2;
    for (const node of cluster.nodes.values()) node.report(cluster.view);
    cluster.wanted("old", "STRICT_SPREAD", 2, 2);
    cluster.wanted("new", "STRICT_SPREAD", 2, 2);
    cluster.tick(100);
    cluster.settle();
    expect(Array.from(cluster.node("a").waiting.keys(), (key) => key.split("/")[0])).toEqual(["old"]);
    cluster.node("a").busy = 0;
    cluster.tick(50);
    cluster.settle();
    expect(cluster.node("a").held).toBe(2);
    cluster.node("b").busy = 0;
    cluster.tick(50);
    cluster.settle();
    expect(cluster.told).toMatchObject([{ kind: "reserved", group: "old" }]);
    cluster.removed("old");
    for (let round = 0; round < 30; round += 1) {
      cluster.settle();
      cluster.tick(100);
    }
    expect(cluster.told.at(-1)).toMatchObject({ kind: "reserved", group: "new" });
  });

  test("nodes collect for a group that they refuse although the head believes that it fits", () => {
    const view = new ClusterView();
    const { amounts } = resourceVector({ GPU: 2 });
    view.join({ id: "a", labels: {}, total: amounts, free: amounts });
    const reservation = checked(new GroupReservation(view));
    const requests = [{ resources: resourceVector({ GPU: 1 }), labels: {} }];
    const nodeId = "a" as NodeId;
    let effects = reservation.handle({ kind: "wanted", group: "g", requests, strategy: "PACK", nowMs: 0 });
    let sequence = 0;
    const asked: boolean[] = [];
    for (let nowMs = 50; nowMs <= 1000 && asked.at(-1) !== true; nowMs += 50) {
      for (const { attempt, mayWait, placement } of effects.filter((effect) => effect.kind === "prepare")) {
        asked.push(mayWait);
        if (!mayWait) reservation.handle({ kind: "prepared", group: "g", attempt, nodeId, isHeld: false, nowMs: nowMs - 49 });
        // Each GPU has a task that takes half of a GPU, so the free halves add up to one, but no whole GPU is free.
        sequence += 1;
        view.report(nodeId, {
          sequence,
          free: resourceVector({ GPU: 1 }).amounts,
          freeOfActors: amounts,
          settled: mayWait ? [] : [placement],
        });
      }
      effects = reservation.handle({ kind: "tick", nowMs });
    }
    expect(asked.slice(0, 2)).toEqual([false, false]);
    expect(asked.at(-1)).toBe(true);
  });

  test("one for which nodes collect in vain lets the next one try", () => {
    const cluster = clusterOf({ a: 2, b: 2 });
    for (const node of cluster.nodes.values()) node.busy = 2;
    for (const node of cluster.nodes.values()) node.report(cluster.view);
    cluster.wanted("old", "STRICT_SPREAD", 2, 2);
    cluster.wanted("new", "PACK", 2);
    cluster.node("a").busy = 0;
    for (let round = 0; round < 120 && cluster.told.length === 0; round += 1) {
      cluster.tick(100);
      cluster.settle();
    }
    expect(cluster.told).toMatchObject([{ kind: "reserved", group: "new" }]);
  });
});

describe("the death of a node", () => {
  test("loses its bundles, which are placed again; the others stay", () => {
    const cluster = clusterOf({ a: 1, b: 1, c: 1 });
    cluster.wanted("g", "STRICT_SPREAD", 1, 1);
    cluster.settle();
    const before = cluster.places("g");
    const [kept, lost] = [before[0], before[1]] as [string, string];
    cluster.die(lost);
    expect(cluster.told.at(-1)).toEqual({ kind: "lost", group: "g", indices: [1] });
    cluster.settle();
    const after = cluster.places("g");
    expect(after[0]).toBe(kept);
    expect(after[1]).not.toBe(kept);
    expect(cluster.told.at(-1)).toMatchObject({ kind: "reserved", nodeIds: [kept, after[1]] });
  });

  test("during the preparation gives the others back and tries elsewhere", () => {
    const cluster = clusterOf({ a: 1, b: 1, c: 1 });
    cluster.wanted("g", "STRICT_SPREAD", 1, 1);
    const chosen = Array.from(cluster.nodes.keys()).slice(0, 2);
    cluster.step(0);
    cluster.die(chosen[1] as string);
    for (let round = 0; round < 10; round += 1) {
      cluster.settle();
      cluster.tick(50);
    }
    expect(Object.keys(cluster.places("g"))).toHaveLength(2);
    const held = Array.from(cluster.nodes.values(), (node) => node.held);
    expect(held).toEqual([1, 1]);
  });

  test("a node that registers with bundles of a group that nobody knows gives them back, and what it lost is placed again", () => {
    const cluster = clusterOf({ a: 2, b: 1 });
    cluster.wanted("g", "PACK", 1);
    cluster.settle();
    const where = cluster.places("g")[0] as NodeId;
    const effects = cluster.reservation.handle({ kind: "nodeHas", nodeId: where, bundles: [["other", 0, 0]], nowMs: 1 });
    expect(effects).toMatchObject([
      { kind: "release", nodeId: where, group: "other" },
      { kind: "lost", group: "g", indices: [0] },
      { kind: "prepare", group: "g" },
    ]);
  });
});

describe("a group that an earlier head knew", () => {
  const requests = [1, 1].map((cpus) => ({ resources: resourceVector({ CPU: cpus }), labels: {} }));
  const takenOver = (reservation: GroupReservation, nodeIds: (NodeId | undefined)[]): ReservationEffect[] =>
    reservation.handle({
      kind: "wanted",
      group: "g",
      requests,
      strategy: "STRICT_SPREAD",
      nowMs: 0,
      earlier: { nodeIds, notWithinMs: 1000 },
    });
  const [a, b, c] = ["a", "b", "c"] as NodeId[] as [NodeId, NodeId, NodeId];
  const has = (nodeId: NodeId, ...bundles: [string, number, number][]): ReservationEvent => ({
    kind: "nodeHas",
    nodeId,
    bundles,
    nowMs: 1,
  });
  const prepares = (effects: ReservationEffect[]): NodeId[] =>
    effects.flatMap((effect) => (effect.kind === "prepare" ? [effect.nodeId] : []));

  test("is committed where it was prepared and kept, and what was prepared for nothing is given back", () => {
    const { reservation } = clusterOf({ a: 2, b: 2 });
    takenOver(reservation, [a, b]);
    expect(reservation.handle(has(a, ["g", 0, 7]))).toEqual([{ kind: "commit", nodeId: a, group: "g", attempt: 7 }]);
    expect(reservation.handle(has(b, ["g", 1, 0], ["g", 0, 5]))).toEqual([{ kind: "abort", nodeId: b, group: "g", attempt: 5 }]);
    expect(reservation.waitingCount).toBe(0);
  });

  test("waits for its nodes before what is missing is placed", () => {
    const { reservation } = clusterOf({ a: 2, b: 2 });
    expect(takenOver(reservation, [a, undefined])).toEqual([]);
    expect(reservation.handle({ kind: "tick", nowMs: 900 })).toEqual([]);
    expect(prepares(reservation.handle({ kind: "tick", nowMs: 1000 }))).toEqual([b]);
  });

  test("is where nodes say that they have it when nobody has kept that, also when it is being placed elsewhere", () => {
    const { reservation } = clusterOf({ a: 2, b: 2, c: 2 });
    takenOver(reservation, []);
    expect(reservation.handle(has(a, ["g", 0, 0]))).toEqual([]);
    const [asked] = prepares(reservation.handle({ kind: "tick", nowMs: 1200 })) as [NodeId];
    expect([b, c]).toContain(asked);
    const late = asked === b ? c : b;
    expect(reservation.handle(has(late, ["g", 1, 0]))).toMatchObject([
      { kind: "abort", nodeId: asked, group: "g" },
      { kind: "reserved", group: "g", nodeIds: [a, late] },
    ]);
    // If two nodes claim the same bundle, the first has it.
    expect(reservation.handle(has(asked, ["g", 1, 0]))).toEqual([{ kind: "release", nodeId: asked, group: "g" }]);
  });
});

test("whatever happens: nothing is booked twice, nothing is lost, and what can be placed is", () => {
  const strategy = fc.constantFrom<BundleStrategy>("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD");
  const action = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("want" as const),
        strategy,
        bundles: fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 1, maxLength: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove" as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("die" as const), which: fc.nat() }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("busy" as const), which: fc.nat(), cpus: fc.nat(4) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("tick" as const), ms: fc.integer({ min: 1, max: 300 }) }) },
    { weight: 12, arbitrary: fc.record({ kind: fc.constant("step" as const), which: fc.nat(63) }) },
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 150 }), (actions) => {
      const cluster = clusterOf({ a: 4, b: 4, c: 3, d: 2 });
      const groups = new Map<string, { strategy: BundleStrategy; bundles: number[] }>();
      let made = 0;
      for (const act of actions) {
        const ids = Array.from(cluster.nodes.keys());
        const node = "which" in act ? ids[act.which % Math.max(1, ids.length)] : undefined;
        if (act.kind === "want") {
          made += 1;
          groups.set(`g${made}`, act);
          cluster.wanted(`g${made}`, act.strategy, ...act.bundles);
        } else if (act.kind === "remove") {
          const id = Array.from(groups.keys())[act.which % Math.max(1, groups.size)];
          if (id !== undefined) {
            groups.delete(id);
            cluster.removed(id);
          }
        } else if (act.kind === "die" && node !== undefined) {
          cluster.die(node);
          made += 1;
          cluster.join(`n${made}`, 4);
        } else if (act.kind === "busy" && node !== undefined) {
          const fake = cluster.node(node);
          fake.busy = Math.min(act.cpus, fake.total - fake.held);
        } else if (act.kind === "tick") cluster.tick(act.ms);
        else if (act.kind === "step") cluster.step(act.which);
        for (const fake of cluster.nodes.values()) expect(fake.free).toBeGreaterThanOrEqual(0);
      }
      // In the end all tasks end, and everything that can be placed is.
      for (const fake of cluster.nodes.values()) fake.busy = 0;
      for (let round = 0; round < 200; round += 1) {
        cluster.settle();
        cluster.tick(100);
      }
      cluster.settle();
      const waiting = new Set<string>();
      for (const [id, { bundles }] of groups) {
        const places = cluster.places(id);
        const nodeIds = cluster.reservation.nodesOf(id) ?? [];
        expect(nodeIds.flatMap((nodeId, index) => (nodeId === undefined ? [] : [[String(index), nodeId]]))).toEqual(Object.entries(places));
        if (Object.keys(places).length < bundles.length) waiting.add(id);
      }
      for (const fake of cluster.nodes.values()) {
        for (const { group } of fake.committed.values()) expect(groups.has(group)).toBe(true);
      }
      expect(cluster.reservation.waitingCount).toBe(waiting.size);
      for (const id of waiting) {
        const { strategy: how, bundles } = groups.get(id) as { strategy: BundleStrategy; bundles: number[] };
        if (how !== "PACK" || Object.keys(cluster.places(id)).length > 0) continue;
        // A group of one bundle that fits somewhere is not left waiting.
        const most = Math.max(...Array.from(cluster.nodes.values(), (fake) => fake.free));
        if (bundles.length === 1) expect(most).toBeLessThan(bundles[0] as number);
      }
      // Without waiting groups, nothing is held for anybody.
      for (const id of waiting) cluster.removed(id);
      cluster.settle();
      for (const fake of cluster.nodes.values()) expect(fake.prepared.size + fake.waiting.size).toBe(0);
    }),
    { numRuns: 150 },
  );
});
