import fc from "fast-check";
import { expect, test } from "vitest";
import { SumTree } from "./sum-tree.ts";

/** The same by plain loops. */
function found(values: readonly number[], sum: number): number {
  let left = sum;
  for (const [leaf, value] of values.entries()) {
    if (left < value) return leaf;
    left -= value;
  }
  return values.findLastIndex((value) => value > 0);
}

test("sums and shares are those of a list, after any changes", () => {
  const change = fc.tuple(fc.nat(40), fc.integer({ min: 0, max: 100 }));
  fc.assert(
    fc.property(fc.array(change, { minLength: 1 }), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (changes, share) => {
      const tree = new SumTree();
      const values: number[] = [];
      for (const [leaf, value] of changes) {
        tree.set(leaf, value);
        while (values.length <= leaf) values.push(0);
        values[leaf] = value;
      }
      expect(values.map((_, leaf) => tree.get(leaf))).toEqual(values);
      const total = values.reduce((sum, value) => sum + value, 0);
      expect(tree.total).toBe(total);
      if (total > 0) expect(tree.find(share * total)).toBe(found(values, share * total));
    }),
  );
});

test("a leaf of 0 is not found, also where rounding asks for more than there is", () => {
  const tree = new SumTree();
  for (const [leaf, value] of [0, 0.1, 0.2, 0].entries()) tree.set(leaf, value);
  expect([tree.find(0), tree.find(tree.total), tree.find(1)]).toEqual([1, 2, 2]);
});
