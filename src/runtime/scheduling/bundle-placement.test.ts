import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type NodeView, resourceVector } from "../base/resources.ts";
import { type BundleRequest, type BundleStrategy, placeBundles } from "./bundle-placement.ts";
import { matchesLabels } from "./label-selector.ts";

function bundle(resources: Record<string, number>, labels: Record<string, string> = {}): BundleRequest {
  return { resources: resourceVector(resources), labels };
}

function node(id: string, free: Record<string, number>, labels: Record<string, string> = {}): NodeView {
  const { amounts } = resourceVector(free);
  return { id, labels, total: amounts, free: amounts };
}

const four = ["a", "b", "c", "d"].map((id) => node(id, { CPU: 2 }));
const ones = (count: number) => Array.from({ length: count }, () => bundle({ CPU: 1 }));

function nodesOf(strategy: BundleStrategy, bundles: readonly BundleRequest[], nodes: readonly NodeView[]): string[] | string {
  const placement = placeBundles(bundles, strategy, nodes);
  return placement.kind === "placed" ? placement.nodeIds : placement.kind;
}

describe("placing bundles", () => {
  test("PACK fills few nodes, SPREAD takes many", () => {
    expect(new Set(nodesOf("PACK", ones(4), four)).size).toBe(2);
    expect(new Set(nodesOf("SPREAD", ones(4), four)).size).toBe(4);
    expect(new Set(nodesOf("SPREAD", ones(8), four)).size).toBe(4);
  });

  test("STRICT_PACK needs one node for all, STRICT_SPREAD one for each", () => {
    expect(nodesOf("STRICT_PACK", ones(2), four)).toEqual(["a", "a"]);
    expect(nodesOf("STRICT_PACK", ones(3), four)).toBe("infeasible");
    expect(new Set(nodesOf("STRICT_SPREAD", ones(4), four)).size).toBe(4);
    expect(nodesOf("STRICT_SPREAD", ones(5), four)).toBe("infeasible");
  });

  test("what fits on empty nodes only is pending", () => {
    const busy = { ...node("a", { CPU: 2 }), free: resourceVector({ CPU: 1 }).amounts };
    expect(nodesOf("PACK", ones(2), [busy])).toBe("pending");
  });

  test("fractions, GPUs and labels count, and a strict spread is found where a greedy choice would miss it", () => {
    const nodes = [node("gpu", { CPU: 2, GPU: 1 }, { zone: "x" }), node("cpu", { CPU: 2 })];
    expect(nodesOf("PACK", [bundle({ CPU: 0.5 }), bundle({ CPU: 1, GPU: 0.5 }), bundle({ GPU: 0.5 })], nodes)).toEqual([
      "gpu",
      "gpu",
      "gpu",
    ]);
    expect(nodesOf("STRICT_SPREAD", [bundle({ CPU: 1 }), bundle({ GPU: 1 })], nodes)).toEqual(["cpu", "gpu"]);
    expect(nodesOf("STRICT_SPREAD", [bundle({ CPU: 1 }), bundle({ CPU: 1 }, { zone: "x" })], nodes)).toEqual(["cpu", "gpu"]);
    expect(nodesOf("PACK", [bundle({ CPU: 1 }, { zone: "y" })], nodes)).toBe("infeasible");
  });

  const cpus = fc.integer({ min: 1, max: 3 });
  const labels = fc.constantFrom<Record<string, string>>({}, { zone: "x" }, { zone: "y" });
  const selectors = fc.constantFrom<Record<string, string>>({}, { zone: "x" }, { zone: "!x" });
  const strategies = fc.constantFrom<BundleStrategy>("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD");
  const requests = fc.array(fc.record({ cpus, labels: selectors }), { minLength: 1, maxLength: 5 });

  test("agree with trying everything: strict strategies always, the greedy ones where they place", () => {
    const nodes = fc.array(fc.record({ cpus: fc.nat(5), labels }), { maxLength: 4 });
    fc.assert(
      fc.property(requests, nodes, strategies, (wanted, offered, strategy) => {
        const bundles = wanted.map((request) => bundle({ CPU: request.cpus }, request.labels));
        const views = offered.map((given, index) => node(`n${index}`, { CPU: given.cpus }, given.labels));
        const found = nodesOf(strategy, bundles, views);
        const isPossible = anyPlacement(bundles, views, strategy);
        if (Array.isArray(found)) expect(isValid(found, bundles, views, strategy)).toBe(true);
        else if (strategy.startsWith("STRICT")) expect(isPossible).toBe(false);
        if (!isPossible) expect(found).toBe("infeasible");
      }),
      { numRuns: 500 },
    );
  });

  test("on thousands of nodes every placement is valid, and one that surely exists is found", () => {
    const nodes = fc.array(fc.record({ cpus: fc.nat(5), labels }), { minLength: 500, maxLength: 3000, size: "max" });
    fc.assert(
      fc.property(requests, nodes, strategies, (wanted, offered, strategy) => {
        const bundles = wanted.map((request) => bundle({ CPU: request.cpus }, request.labels));
        const views = [
          ...offered.map((given, index) => node(`n${index}`, { CPU: given.cpus }, given.labels)),
          ...[1, 2, 3, 4, 5].flatMap((index) => ["x", "y"].map((zone) => node(`${zone}${index}`, { CPU: 15 }, { zone }))),
        ];
        const found = nodesOf(strategy, bundles, views);
        const needsBoth =
          wanted.some((request) => request.labels["zone"] === "x") && wanted.some((request) => request.labels["zone"] === "!x");
        if (strategy === "STRICT_PACK" && needsBoth) expect(found).toBe("infeasible");
        else expect(isValid(found as string[], bundles, views, strategy)).toBe(true);
      }),
      { numRuns: 20 },
    );
  });
});

function isValid(
  nodeIds: readonly string[],
  bundles: readonly BundleRequest[],
  nodes: readonly NodeView[],
  strategy: BundleStrategy,
): boolean {
  const used = new Map<string, number>();
  for (const [index, request] of bundles.entries()) {
    const view = nodes.find(({ id }) => id === nodeIds[index]);
    if (view === undefined || !matchesLabels(request.labels, view.labels)) return false;
    used.set(view.id, (used.get(view.id) ?? 0) + (request.resources.amounts.get("CPU") ?? 0));
    if ((used.get(view.id) as number) > (view.free.get("CPU") ?? 0)) return false;
  }
  const distinct = new Set(nodeIds).size;
  return strategy === "STRICT_PACK" ? distinct === 1 : strategy === "STRICT_SPREAD" ? distinct === bundles.length : true;
}

/** The naive oracle: every assignment of bundles to nodes. */
function anyPlacement(bundles: readonly BundleRequest[], nodes: readonly NodeView[], strategy: BundleStrategy): boolean {
  const assign = (chosen: string[]): boolean => {
    if (chosen.length === bundles.length) return isValid(chosen, bundles, nodes, strategy);
    return nodes.some(({ id }) => assign([...chosen, id]));
  };
  return assign([]);
}
