/** Random numbers, UUIDs and rising numbers, as the task of a numbered step makes them. */
import { describe, expect, test } from "vitest";
import { type Block, rowsOf } from "../blocks/block.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { mapNumbered } from "../engine/tasks/task.ts";
import type { Transform } from "../engine/tasks/transform.ts";
import { columnsTransform, columnTransform, filterTransform, selectTransform } from "./column-transforms.ts";
import { col, type Expression, monotonicallyIncreasingId, random, star, uuid } from "./expression.ts";

function blockOf(first: number, length: number): Block {
  const ids = Array.from({ length }, (_, i) => first + i);
  return { rowCount: length, names: ["id"], vectors: [buildVector(ids)] };
}

/** The rows that a task gives whose blocks begin with a row of this number. */
async function rowsFrom(firstRow: number, blocks: readonly Block[], ...chain: readonly Transform[]): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for await (const made of mapNumbered(chain, firstRow, ...blocks)) if ("vectors" in made) rows.push(...rowsOf(made));
  return rows;
}

async function valuesOf(expression: Expression<unknown, never>, firstRow: number, ...lengths: readonly number[]): Promise<unknown[]> {
  let first = firstRow;
  const blocks = lengths.map((length) => blockOf((first += length) - length, length));
  return (await rowsFrom(firstRow, blocks, columnTransform("x", expression))).map(({ x }) => x);
}

describe("random numbers", () => {
  test("are of the seed and the row, however rows lie in blocks", async () => {
    const all = (await valuesOf(random({ seed: 5 }), 0, 10_000)) as number[];
    expect([...(await valuesOf(random({ seed: 5 }), 0, 3000, 0, 1)), ...(await valuesOf(random({ seed: 5 }), 3001, 6999))]).toEqual(all);
    expect(all.every((one) => one >= 0 && one < 1)).toBe(true);
    expect(new Set(all).size).toBe(10_000);
    const tenths = new Array<number>(10).fill(0);
    for (const one of all) tenths[Math.floor(one * 10)] = (tenths[Math.floor(one * 10)] as number) + 1;
    expect(Math.min(...tenths)).toBeGreaterThan(850);
    expect(Math.max(...tenths)).toBeLessThan(1150);
    const steps = all.map((one) => (one * 2 ** 53) % 2048);
    expect(new Set(steps.map((one) => Math.floor(one / 256))).size).toBe(8);
  });

  test("differ for other seeds, and for each call without one", async () => {
    const expression = random();
    const once = await valuesOf(expression, 0, 50);
    expect(await valuesOf(expression, 0, 50)).toEqual(once);
    expect(await valuesOf(random(), 0, 50)).not.toEqual(once);
    expect(await valuesOf(random({ seed: 1 }), 0, 50)).not.toEqual(await valuesOf(random({ seed: 2 }), 0, 50));
    expect(() => random({ seed: 0.5 })).toThrow("a whole number is needed");
    expect(() => random({ sed: 1 } as never)).toThrow("sed");
  });
});

test("UUIDs are unique, of version 4, and the same for the same rows", async () => {
  const expression = uuid();
  const all = (await valuesOf(expression, 0, 5000, 5000)) as string[];
  expect(new Set(all).size).toBe(10_000);
  for (const one of all) expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(await valuesOf(expression, 2 ** 32, 2)).not.toEqual(all.slice(0, 2));
  expect(await valuesOf(expression, 9998, 2)).toEqual(all.slice(-2));
  expect(await valuesOf(uuid(), 0, 2)).not.toEqual(all.slice(0, 2));
});

test("rows are numbered, and the numbers stay out of sight", async () => {
  expect(await valuesOf(monotonicallyIncreasingId(), 2 ** 40, 2, 0, 1)).toEqual([2 ** 40, 2 ** 40 + 1, 2 ** 40 + 2]);
  const id = monotonicallyIncreasingId();
  const blocks = [blockOf(0, 2), blockOf(2, 2)];
  const steps: [Transform, unknown][] = [
    [filterTransform(id.mod(3).eq(0), undefined), [{ id: 0 }, { id: 3 }]],
    [selectTransform([id.add(1).as("n")]), [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]],
    [selectTransform([star(), col("id").sub(id).as("zero")]), [0, 1, 2, 3].map((one) => ({ id: one, zero: 0 }))],
    [columnsTransform({ id: id.mul(2) }), [0, 1, 2, 3].map((one) => ({ id: 2 * one }))],
  ];
  for (const [step, rows] of steps) expect(await rowsFrom(0, blocks, step)).toEqual(rows);
  expect(filterTransform(id.gt(1), undefined).name).toBe("filter(monotonicallyIncreasingId() > 1)");
  expect(await rowsFrom(0, [{ rowCount: 0, names: [], vectors: [] }], columnTransform("x", id))).toEqual([]);
  await expect(rowsFrom(0, blocks, columnTransform("x", id.add(col("y"))))).rejects.toThrow('there is no column "y": there are "id"');
});
