import { expect, test } from "vitest";
import { Random } from "../../tensor/index.ts";
import { CircularBuffer } from "./circular-buffer.ts";

test("draws begin with a full buffer, and no batch is drawn oftener than it may be", () => {
  const buffer = new CircularBuffer<number>({ size: 3, drawsMax: 2, random: new Random(1, "test") });
  const draws = new Map<number, number>();
  const delays: number[] = [];
  expect([buffer.add(-2), buffer.add(-1)]).toEqual([[], []]);
  for (let batch = 0; batch < 500; batch += 1)
    for (const drawn of buffer.add(batch)) {
      draws.set(drawn, (draws.get(drawn) ?? 0) + 1);
      delays.push(batch - drawn);
    }
  expect(Math.max(...draws.values())).toBe(2);
  expect(Math.max(...delays)).toBeGreaterThan(0);
});

test("a single place and a single draw give back each batch at once", () => {
  const buffer = new CircularBuffer<number>({ size: 1, drawsMax: 1, random: new Random(1, "test") });
  expect([1, 2, 3].flatMap((batch) => buffer.add(batch))).toEqual([1, 2, 3]);
});
