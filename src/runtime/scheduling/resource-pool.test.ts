import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resourceVector } from "../base/resources.ts";
import { type Allocation, ResourcePool, unitIds } from "./resource-pool.ts";

describe("a resource pool", () => {
  test("ten tenths of a CPU are exactly one CPU", () => {
    const pool = new ResourcePool(resourceVector({ CPU: 1 }));
    const tenth = resourceVector({ CPU: 0.1 });
    for (let count = 0; count < 10; count += 1) {
      expect(pool.fits(tenth)).toBe(true);
      pool.allocate(tenth);
    }
    expect(pool.fits(tenth)).toBe(false);
    expect(pool.available()).toEqual({ CPU: 0 });
  });

  test("what is missing is named with both amounts", () => {
    const pool = new ResourcePool(resourceVector({ CPU: 2 }));
    expect(pool.missing(resourceVector({ CPU: 1, license: 3 }))).toEqual({ name: "license", wanted: 3, total: 0 });
    expect(pool.missing(resourceVector({ CPU: 2 }))).toBeUndefined();
  });

  test("fractions share a GPU, and never span two", () => {
    const pool = new ResourcePool(resourceVector({ GPU: 2 }));
    const ids = (amount: number) => unitIds(pool.allocate(resourceVector({ GPU: amount })))?.["GPU"];
    expect([ids(0.5), ids(0.25), ids(0.5)]).toEqual([["0"], ["0"], ["1"]]);
    // 0.75 are free in all, and no more than half of one.
    expect([pool.fits(resourceVector({ GPU: 0.5 })), pool.fits(resourceVector({ GPU: 0.75 }))]).toEqual([true, false]);
    expect(pool.lacking(resourceVector({ GPU: 0.75 }))).toEqual([{ name: "GPU", wanted: 0.75, free: 0.75 }]);
  });

  test("GPUs have the ids that they are given, and a bundle has those of its own", () => {
    const pool = new ResourcePool(resourceVector({ GPU: 2 }), {
      GPU: [
        ["7", 10_000],
        ["GPU-x", 10_000],
      ],
    });
    const allocation = pool.allocate(resourceVector({ GPU: 1.5 }));
    expect(unitIds(allocation)).toEqual({ GPU: ["7", "GPU-x"] });
    const bundle = new ResourcePool(allocation.vector, allocation.units);
    expect(unitIds(bundle.allocate(resourceVector({ GPU: 0.5 })))).toEqual({ GPU: ["GPU-x"] });
    expect(bundle.missing(resourceVector({ GPU: 2 }))).toMatchObject({ name: "GPU", total: 1.5 });
  });

  test("whatever is taken and given back, no GPU is overcommitted and all come back", () => {
    const step = fc.oneof(fc.constantFrom(0.25, 0.5, 0.75, 1, 2, 3), fc.constant("release" as const));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), (total, steps) => {
        const pool = new ResourcePool(resourceVector({ GPU: total }));
        const held: Allocation[] = [];
        for (const amount of steps) {
          if (amount === "release") {
            const first = held.shift();
            if (first !== undefined) pool.release(first);
            continue;
          }
          const request = resourceVector({ GPU: amount });
          if (pool.fits(request)) held.push(pool.allocate(request));
          const use = new Map<string, number>();
          for (const { units } of held) for (const [id, share] of units?.["GPU"] ?? []) use.set(id, (use.get(id) ?? 0) + share);
          for (const share of use.values()) expect(share).toBeLessThanOrEqual(10_000);
          const sum = held.reduce((amounts, { vector }) => amounts + (vector.amounts.get("GPU") ?? 0), 0);
          expect(pool.available()["GPU"]).toBeCloseTo(total - sum / 10_000);
        }
        for (const allocation of held) pool.release(allocation);
        expect(pool.fits(resourceVector({ GPU: total }))).toBe(true);
      }),
    );
  });
});
