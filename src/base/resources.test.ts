import { describe, expect, test } from "vitest";
import { ResourcePool, resourceVector, shapeResources } from "./resources.ts";

describe("resource vectors", () => {
  test("are equal by key whatever the order, and without what is zero", () => {
    expect(resourceVector({ GPU: 0.25, CPU: 1, x: 0 }).key).toBe("CPU:10000,GPU:2500");
    expect(shapeResources("CPU:10000,GPU:2500")).toEqual({ CPU: 1, GPU: 0.25 });
    expect(shapeResources("")).toEqual({});
  });

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
});
