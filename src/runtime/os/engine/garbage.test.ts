/** How often V8 collects while arrays pass through a small heap. */
import { constants, PerformanceObserver } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { endHeapGrowths, HeapGrowth } from "./garbage.ts";

const MB = 1024 * 1024;

/** Full collections while 20 times 96 MB of arrays are made, and freed at once. */
async function collectionsOfFreedArrays(): Promise<number> {
  let count = 0;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { detail } = entry as unknown as { detail: { kind: number } };
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) count += 1;
    }
  });
  observer.observe({ entryTypes: ["gc"] });
  for (let round = 0; round < 20; round += 1) {
    const arrays = Array.from({ length: 12 }, () => new Uint8Array(8 * MB));
    await turn();
    for (const { buffer } of arrays) buffer.transfer(0);
    await turn();
  }
  observer.disconnect();
  return count;
}

test("arrays that are freed as they come are no reason to collect while the heap may grow", async () => {
  const growth = new HeapGrowth();
  const count = await collectionsOfFreedArrays();
  growth[Symbol.dispose]();
  // Before V8 13 there is no such choice, and each round may be a reason.
  expect(count).toBeLessThan(Number.parseInt(process.versions.v8, 10) >= 13 ? 5 : 25);
});

test("what code that was stopped had allowed is over", () => {
  const set = vi.spyOn(process.getBuiltinModule("node:v8"), "setFlagsFromString");
  const growth = new HeapGrowth();
  expect(set.mock.calls[0]?.[0]).not.toBe("--heap-growing-percent=0");
  endHeapGrowths();
  expect(set.mock.calls.map(([flag]) => flag)).toContain("--heap-growing-percent=0");
  set.mockClear();
  growth.refresh();
  growth[Symbol.dispose]();
  expect(set).not.toHaveBeenCalled();
  set.mockRestore();
});
