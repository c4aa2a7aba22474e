import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type NodeView, resourceVector } from "../../src/runtime/base/resources.ts";
import { matchesLabels } from "../../src/runtime/scheduling/label-selector.ts";
import { leaseKey, type LeasePlace, type LeaseSpec, parseLeaseSpec } from "../../src/runtime/scheduling/lease-spec.ts";
import { chooseNode } from "./node-choice.ts";

function spec(resources: Record<string, number>, place: LeasePlace = {}): LeaseSpec {
  return parseLeaseSpec(leaseKey(resourceVector(resources), place));
}

function view(
  id: string,
  total: Record<string, number>,
  more: { used?: Record<string, number>; labels?: Record<string, string> } = {},
): NodeView {
  const amounts = resourceVector(total).amounts;
  const used = resourceVector(more.used ?? {}).amounts;
  return {
    id,
    labels: more.labels ?? {},
    total: amounts,
    free: new Map(Array.from(amounts, ([name, units]) => [name, units - (used.get(name) ?? 0)])),
  };
}

const one = spec({ CPU: 1 });

describe("choosing a node", () => {
  test("packs to half, then takes the emptiest", () => {
    const nodes = [view("a", { CPU: 8 }), view("b", { CPU: 8 })];
    expect(chooseNode(one, nodes, { turn: 5 })).toEqual({ kind: "node", nodeId: "a" });
    const used = [view("a", { CPU: 8 }, { used: { CPU: 2 } }), view("b", { CPU: 8 })];
    expect(chooseNode(one, used, { turn: 5 })).toEqual({ kind: "node", nodeId: "a" });
    const half = [view("a", { CPU: 8 }, { used: { CPU: 3 } }), view("b", { CPU: 8 })];
    expect(chooseNode(one, half, { turn: 0 })).toEqual({ kind: "node", nodeId: "b" });
    const full = [view("a", { CPU: 8 }, { used: { CPU: 6 } }), view("b", { CPU: 8 }, { used: { CPU: 4 } })];
    expect(chooseNode(one, full, { turn: 0 })).toEqual({ kind: "node", nodeId: "b" });
    expect(chooseNode(one, nodes, { turn: 0, localNodeId: "b" })).toEqual({ kind: "node", nodeId: "b" });
  });

  test("goes to large arguments, not to small ones, and not to a full node", () => {
    const nodes = [view("a", { CPU: 8 }), view("b", { CPU: 8 }), view("c", { CPU: 1 }, { used: { CPU: 1 } })];
    const bytes = (b: number, c = 0) => ({
      turn: 0,
      argumentBytes: new Map([
        ["b", b],
        ["c", c],
      ]),
    });
    expect(chooseNode(one, nodes, bytes(2 ** 24))).toEqual({ kind: "node", nodeId: "b" });
    expect(chooseNode(one, nodes, bytes(100))).toEqual({ kind: "node", nodeId: "a" });
    expect(chooseNode(one, nodes, bytes(0, 2 ** 30))).toEqual({ kind: "node", nodeId: "a" });
  });

  test("spread takes them in turn", () => {
    const nodes = ["a", "b", "c"].map((id) => view(id, { CPU: 8 }));
    const chosen = [0, 1, 2, 3].map((turn) => chooseNode(spec({ CPU: 1 }, { spread: true }), nodes, { turn }));
    expect(chosen).toEqual(["a", "b", "c", "a"].map((nodeId) => ({ kind: "node", nodeId })));
  });

  test("hard affinity is refused without its node, soft goes elsewhere; a full one is waited for", () => {
    const nodes = [view("a", { CPU: 1 }), view("b", { CPU: 1 }, { used: { CPU: 1 } })];
    const on = (id: string, soft: boolean) => chooseNode(spec({ CPU: 1 }, { node: { id, soft } }), nodes, { turn: 0 });
    expect(on("gone", false)).toEqual({ kind: "refused" });
    expect(on("gone", true)).toEqual({ kind: "node", nodeId: "a" });
    expect([on("b", false), on("b", true)]).toEqual([{ kind: "wait" }, { kind: "wait" }]);
  });

  test("of thousands of nodes, never one that is full or whose labels do not match; infeasible only when none is feasible", () => {
    const node = fc.record({ cpus: fc.integer({ min: 0, max: 4 }), used: fc.nat(4), region: fc.constantFrom("eu", "us", undefined) });
    const selector = fc.constantFrom(undefined, "eu", "!eu", "in(eu,us)", "!in(eu,us)");
    const input = fc.record({
      nodes: fc.array(node, { maxLength: 3000, size: "max" }),
      cpus: fc.integer({ min: 1, max: 4 }),
      region: selector,
      spread: fc.boolean(),
      turn: fc.nat(),
    });
    fc.assert(
      fc.property(input, ({ nodes, cpus, region, spread, turn }) => {
        const views = nodes.map((given, index) =>
          view(
            `n${index}`,
            { CPU: given.cpus },
            { used: { CPU: Math.min(given.used, given.cpus) }, labels: given.region === undefined ? {} : { region: given.region } },
          ),
        );
        const labels = region === undefined ? undefined : { region };
        const choice = chooseNode(spec({ CPU: cpus }, { labels, spread }), views, { turn });
        const matching = views.filter((candidate) => matchesLabels(labels, candidate.labels));
        const can = (amounts: ReadonlyMap<string, number>) => (amounts.get("CPU") ?? 0) >= cpus * 10_000;
        if (choice.kind === "node") {
          const chosen = matching.find((candidate) => candidate.id === choice.nodeId);
          expect(chosen !== undefined && can(chosen.free)).toBe(true);
        } else {
          expect(matching.some((candidate) => can(candidate.free))).toBe(false);
          expect(choice.kind).toBe(matching.some((candidate) => can(candidate.total)) ? "wait" : "infeasible");
        }
      }),
      { numRuns: 40 },
    );
  });
});
