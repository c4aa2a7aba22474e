import { expect, test } from "vitest";
import { type Block, blockOfRows } from "../blocks/block.ts";
import { batchesOfBlocks, type IterBatchesOptions } from "./consume.ts";

/** Blocks of the numbers from 0, with the number of blocks that were made. */
function numbers(sizes: readonly number[]): { open: () => AsyncGenerator<Block>; made: () => number } {
  let made = 0;
  return {
    made: () => made,
    async *open() {
      let next = 0;
      for (const size of sizes) {
        await new Promise((resolve) => setImmediate(resolve));
        made += 1;
        yield blockOfRows(
          Array.from({ length: size }, () => ({ id: next++ })),
          "numbers",
        );
      }
    },
  };
}

async function batches(sizes: readonly number[], options: IterBatchesOptions<"rows">): Promise<number[][]> {
  const found: number[][] = [];
  for await (const batch of batchesOfBlocks<{ id: number }, "rows">(numbers(sizes).open, { batchFormat: "rows", ...options }))
    found.push(batch.map(({ id }) => id));
  return found;
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

test("rows are mixed as far as the buffer reaches, by the seed alone", async () => {
  const options = { batchSize: 10, localShuffleBufferSize: 40, localShuffleSeed: 7 };
  const mixed = (await batches([50, 1, 0, 149], options)).flat();
  expect(mixed.toSorted((a, b) => a - b)).toEqual(upTo(200));
  expect(mixed).not.toEqual(upTo(200));
  // The buffer is full with 60 rows, so none can come more than those before its place.
  mixed.forEach((id, at) => expect(id - at).toBeLessThan(60));
  expect((await batches([10, 190], options)).flat()).toEqual(mixed);
  expect((await batches([200], { ...options, localShuffleSeed: 8 })).flat()).not.toEqual(mixed);
});

test("a buffer as large as the rows can bring each row to each place", async () => {
  const firsts = new Set<number>();
  for (let localShuffleSeed = 0; localShuffleSeed < 200; localShuffleSeed += 1)
    firsts.add((await batches([8], { batchSize: 8, localShuffleBufferSize: 8, localShuffleSeed }))[0]?.[0] ?? -1);
  expect(firsts.size).toBe(8);
});

test("so many batches are made ahead, and no more", async () => {
  for (const prefetchBatches of [0, 1, 3]) {
    const { open, made } = numbers(upTo(20).map(() => 10));
    const all = batchesOfBlocks<{ id: number }, "rows">(open, { batchFormat: "rows", batchSize: 10, prefetchBatches });
    await all.next();
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    // A batch is given when the next block shows that it is full, or at once where a block is one.
    expect(made()).toBeGreaterThanOrEqual(1 + prefetchBatches);
    expect(made()).toBeLessThanOrEqual(2 + prefetchBatches);
    await all.return(undefined);
    const atEnd = made();
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(made()).toBe(atEnd);
  }
});

test("an error of the blocks comes when its turn comes", async () => {
  const { open } = numbers([10, 10]);
  const failing = async function* (): AsyncGenerator<Block> {
    yield* open();
    throw new RangeError("no more");
  };
  const found: number[] = [];
  const all = batchesOfBlocks<{ id: number }, "rows">(failing, { batchFormat: "rows", batchSize: 10, prefetchBatches: 5 });
  await expect(
    (async () => {
      for await (const batch of all) found.push(batch.length);
    })(),
  ).rejects.toThrow("no more");
  expect(found).toEqual([10, 10]);
});

test("wrong options are refused", async () => {
  const { open } = numbers([1]);
  for (const options of [{ localShuffleSeed: 1 }, { localShuffleBufferSize: 0 }, { prefetchBatches: -1 }, { batchSize: 0 }])
    await expect(batchesOfBlocks(open, options).next()).rejects.toThrow(/iterBatches/);
});
