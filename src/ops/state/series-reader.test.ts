import { expect, test } from "vitest";
import { summed } from "./series-reader.ts";

test("points of nodes are means of a step, summed over the nodes, with gaps where none measured", () => {
  const nodes = [
    { t: [0, 5_000, 10_000, 40_000], series: [{ name: "cpu", v: [1, 3, null, 8] }] },
    {
      t: [2_000, 12_000],
      series: [
        { name: "cpu", v: [10, 20] },
        { name: "disk", v: [1, 1] },
      ],
    },
    { t: [], series: [] },
  ];
  expect(summed(nodes, { names: ["cpu", "disk", "none"], stepMs: 10_000 })).toEqual({
    t: [0, 10_000, 20_000, 30_000, 40_000],
    sums: [
      [12, 20, null, null, 8],
      [1, 1, null, null, null],
      [null, null, null, null, null],
    ],
  });
});

test("without points there are no times", () => {
  expect(summed([], { names: ["cpu"], stepMs: 1 })).toEqual({ t: [], sums: [[]] });
});

test("clocks that are far apart make no answer without end", () => {
  const nodes = [0, 1e15].map((ms) => ({ t: [ms], series: [{ name: "cpu", v: [1] }] }));
  expect(summed(nodes, { names: ["cpu"], stepMs: 1_000 }).t.length).toBeLessThan(10_000);
});
