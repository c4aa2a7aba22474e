import fc from "fast-check";
import { expect, test } from "vitest";
import { blockFor, nextGift } from "./split-choice.ts";

const block = (rowCount: number, ...nodeIds: string[]) => ({ rowCount, nodeIds });
const at = (nodeId: string | undefined, rows = 0) => ({ nodeId, rows });
const TWO = [at("a"), at("b")];

test("a consumer gets the blocks of its node, however they come", () => {
  expect(nextGift([block(10, "b"), block(10, "a")], TWO, 4)).toEqual({ block: 1, consumer: 0 });
  expect(nextGift([block(10, "b"), block(10, "b")], [at("a", 10), at("b", 0)], 4)).toEqual({ block: 0, consumer: 1 });
});

test("within the window a consumer waits for a block of its node, beyond it gets another", () => {
  const consumers = [at("a", 0), at("b", 20)];
  expect(nextGift([block(10, "b"), block(10, "b")], consumers, 4)).toBeUndefined();
  expect(nextGift([block(10, "b"), block(10, "c"), block(10, "b"), block(10, "b")], consumers, 4)).toEqual({ block: 1, consumer: 0 });
});

test("without nodes the consumer with the fewest rows gets the first block", () => {
  expect(nextGift([block(10), block(10)], [at(undefined, 10), at(undefined, 0)], 4)).toEqual({ block: 0, consumer: 1 });
  expect(nextGift([block(10)], [at(undefined), at(undefined)], 4)).toBeUndefined();
});

test("equal parts stay possible after every gift, and blocks come to an end", () => {
  const nodes = fc.constantFrom("a", "b", "c");
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 50 }), nodes), { maxLength: 40 }),
      fc.array(fc.option(nodes, { nil: undefined }), { minLength: 1, maxLength: 4 }),
      (blocks, ids) => {
        const consumers = ids.map((nodeId) => ({ nodeId, rows: 0 }));
        const free: { rowCount: number; nodeIds: string[] }[] = [];
        const window = 2 * ids.length;
        for (const [rowCount, node] of blocks) {
          free.push(block(rowCount, node));
          for (let gift = nextGift(free, consumers, window); gift !== undefined; gift = nextGift(free, consumers, window)) {
            const [given] = free.splice(gift.block, 1);
            (consumers[gift.consumer] as { rows: number }).rows += given?.rowCount ?? 0;
            const most = Math.max(...consumers.map(({ rows }) => rows));
            const missing = consumers.reduce((sum, { rows }) => sum + most - rows, 0);
            expect(missing).toBeLessThanOrEqual(free.reduce((sum, one) => sum + one.rowCount, 0));
          }
        }
      },
    ),
  );
});

test("whoever asks gets a block of its node, and when it is not patient any, first those that are near nobody", () => {
  const free = [block(1, "a"), block(1, "c")];
  const choice = (consumer: number, isPatient: boolean) => blockFor(free, { consumers: TWO, consumer, isPatient });
  expect(choice(0, true)).toBe(0);
  expect(choice(1, true)).toBeUndefined();
  expect(choice(1, false)).toBe(1);
  expect(blockFor([block(1, "a")], { consumers: TWO, consumer: 1, isPatient: false })).toBe(0);
  expect(blockFor(free, { consumers: [at(undefined)], consumer: 0, isPatient: true })).toBe(0);
  expect(blockFor([], { consumers: TWO, consumer: 0, isPatient: false })).toBeUndefined();
});
