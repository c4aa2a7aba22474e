import { expect, test } from "vitest";
import fc from "fast-check";
import { StreamTable } from "./stream-table.ts";

test("it is a map from numbers to streams, whatever comes and goes", () => {
  const step = fc.record({ id: fc.integer({ min: 1, max: 400 }).map((n) => (n % 3 === 0 ? n : n * 64)), adds: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
      const table = new StreamTable<{ id: number }>();
      const model = new Map<number, { id: number }>();
      for (const { id, adds } of steps) {
        if (adds && !model.has(id)) {
          const stream = { id };
          table.add(stream);
          model.set(id, stream);
        } else if (!adds) expect(table.delete(id)).toBe(model.delete(id));
        expect(table.get(id)).toBe(model.get(id));
        expect(table.size).toBe(model.size);
      }
      expect(table.all().sort((a, b) => a.id - b.id)).toEqual([...model.values()].sort((a, b) => a.id - b.id));
    }),
  );
});

test("numbers up to the largest have places, and two that share one are both found", () => {
  const table = new StreamTable<{ id: number }>();
  const ids = [0xffffffff, 0xffffffff - 64, 63, 127];
  for (const id of ids) table.add({ id });
  expect(ids.map((id) => table.get(id)?.id)).toEqual(ids);
  expect(table.hasPlaceFor(191)).toBe(false);
  expect(table.get(191)).toBeUndefined();
  expect(table.delete(191)).toBe(false);
});
