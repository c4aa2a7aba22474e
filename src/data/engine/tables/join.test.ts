/** Joins against nested loops over plain rows, for all types, with nulls, several keys, keys of different widths and sides cut into blocks. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { withDictionaries } from "../../../../test/oracles/dictionary-blocks.ts";
import { type Block, blockBytes, blockOfRows, concatBlocks, type Row, rowsOf, sliceBlock } from "../../blocks/block.ts";
import { BLOCK_BYTES_MAX, GATHERED_BYTES_MAX } from "../../limits.ts";
import { withBinColumn, withoutColumn } from "../exchange/bins.ts";
import { gathered, type Join, JOIN_TYPES, type JoinType, joinBlocks, joinEach, wholeSides } from "./join.ts";
import { given } from "../tasks/task.ts";
import { gather } from "../tasks/transform.ts";

const key = fc.option(fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(Number.NaN)), { freq: 5 });
const text = fc.option(fc.constantFrom("", "a", "ab", "é"), { freq: 4 });
const leftRow = fc.record({ k: key, t: text, l: fc.integer({ min: 0, max: 100 }) });
const rightRow = fc.record({ k: key, t: text, r: fc.option(fc.string({ maxLength: 3 })) });

function joinOf(type: JoinType, keys: readonly string[] = ["k", "t"], more: Partial<Join> = {}): Join {
  return { kind: "join", name: "join", type, leftKeys: keys, rightKeys: keys, leftSuffix: "", rightSuffix: "", ...more };
}

function blocksOf(rows: readonly Row[], size: number): Block[] {
  const blocks: Block[] = [];
  for (let i = 0; i < rows.length; i += size) blocks.push(blockOfRows(rows.slice(i, i + size), "test"));
  return blocks;
}

/** Every second block has dictionaries, or all of a side, or none. */
function withSomeDictionaries(blocks: readonly Block[], form: number | null): Block[] {
  return blocks.map((block, i) => (form === null || (form === 0 && i % 2 === 0) ? block : withDictionaries(block, form + i)));
}

function joinRows(join: Join, left: readonly Block[], right: readonly Block[]): Row[] {
  return rowsOf(concatBlocks([...joinBlocks(join, left, right)]));
}

function oracle(type: JoinType, left: readonly Row[], right: readonly Row[], keys: readonly string[]): Row[] {
  const meet = (a: Row, b: Row): boolean => keys.every((name) => a[name] !== null && b[name] !== null && Object.is(a[name], b[name]));
  const leftHas = (a: Row): boolean => right.some((b) => meet(a, b));
  const rightHas = (b: Row): boolean => left.some((a) => meet(a, b));
  if (type === "leftSemi" || type === "leftAnti") return left.filter((a) => leftHas(a) === (type === "leftSemi"));
  if (type === "rightSemi" || type === "rightAnti") return right.filter((b) => rightHas(b) === (type === "rightSemi"));
  const rows = left.flatMap((a) => {
    const met = right.filter((b) => meet(a, b)).map((b) => ({ ...a, r: b["r"] }));
    return met.length > 0 || type === "inner" || type === "right" ? met : [{ ...a, r: null }];
  });
  if (type === "right" || type === "full")
    for (const b of right)
      if (!rightHas(b)) rows.push({ ...Object.fromEntries(keys.map((name) => [name, b[name]])), l: null, r: b["r"] } as never);
  return rows;
}

const sorted = (rows: readonly Row[]): string[] =>
  rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)),
        (_, value: unknown) => (Number.isNaN(value) ? "NaN" : value),
      ),
    )
    .toSorted();

test.each(JOIN_TYPES)("%s gives what nested loops over the rows give", (type) => {
  fc.assert(
    fc.property(
      fc.array(leftRow, { minLength: 1, maxLength: 30 }),
      fc.array(rightRow, { minLength: 1, maxLength: 30 }),
      fc.nat(9),
      fc.tuple(fc.option(fc.nat(5)), fc.option(fc.nat(5))),
      (left, right, size, [leftForm, rightForm]) => {
        const [leftBlocks, rightBlocks] = [blocksOf(left, size + 1), blocksOf(right, 4)];
        const own = joinRows(joinOf(type), withSomeDictionaries(leftBlocks, leftForm), withSomeDictionaries(rightBlocks, rightForm));
        expect(sorted(own)).toEqual(sorted(oracle(type, left, right, ["k", "t"])));
      },
    ),
    { numRuns: 150 },
  );
});

test.each(JOIN_TYPES)("%s gives what nested loops give where keys are ids, each once on the right", (type) => {
  const id = fc.integer({ min: 0, max: 12 });
  const leftIds = fc.array(fc.record({ k: fc.oneof(id, fc.constantFrom(0.5, null, 1e6)), l: id }), { minLength: 1, maxLength: 20 });
  const rightIds = fc.uniqueArray(fc.record({ k: id, r: fc.option(fc.string({ maxLength: 3 })) }), {
    minLength: 1,
    maxLength: 10,
    selector: ({ k }) => k,
  });
  fc.assert(
    fc.property(leftIds, rightIds, fc.nat(9), (left, right, size) => {
      const own = joinRows(joinOf(type, ["k"]), blocksOf(left, size + 1), blocksOf(right, 4));
      expect(sorted(own)).toEqual(sorted(oracle(type, left, right, ["k"])));
    }),
  );
});

test.each(JOIN_TYPES.filter((type) => wholeSides(type).includes(1)))(
  "%s gives the same where blocks of the left side come one by one",
  async (type) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(leftRow, { minLength: 1, maxLength: 30 }),
        fc.array(rightRow, { minLength: 1, maxLength: 30 }),
        fc.nat(9),
        async (left, right, size) => {
          const own = await gather(joinEach(joinOf(type), given(blocksOf(left, size + 1)), blocksOf(right, size + 1)));
          expect(sorted(rowsOf(own))).toEqual(sorted(oracle(type, left, right, ["k", "t"])));
        },
      ),
    );
  },
);

test.each(JOIN_TYPES)("%s gives the same where tasks have some rows of a side and all of the other", (type) => {
  for (const whole of wholeSides(type))
    fc.assert(
      fc.property(
        fc.array(leftRow, { minLength: 1, maxLength: 30 }),
        fc.array(rightRow, { minLength: 1, maxLength: 30 }),
        fc.nat(9),
        (left, right, size) => {
          const [leftBlocks, rightBlocks] = [blocksOf(left, size + 1), blocksOf(right, size + 1)];
          const own = (whole === 1 ? leftBlocks : rightBlocks).flatMap((block) =>
            whole === 1 ? joinRows(joinOf(type), [block], rightBlocks) : joinRows(joinOf(type), leftBlocks, [block]),
          );
          expect(sorted(own)).toEqual(sorted(oracle(type, left, right, ["k", "t"])));
        },
      ),
    );
});

test("rows come in the order of the left side, and then in that of the right", () => {
  const left = blocksOf(
    [
      { k: 2, l: 0 },
      { k: 1, l: 1 },
      { k: 3, l: 2 },
    ],
    2,
  );
  const right = blocksOf(
    [
      { k: 9, r: 0 },
      { k: 1, r: 1 },
      { k: 2, r: 2 },
      { k: 1, r: 3 },
    ],
    3,
  );
  expect(joinRows(joinOf("full", ["k"]), left, right).map(({ l, r }) => [l, r])).toEqual([
    [0, 2],
    [1, 1],
    [1, 3],
    [2, null],
    [null, 0],
  ]);
});

test("keys of several widths of numbers meet by their values", () => {
  const left = [
    {
      rowCount: 2,
      names: ["k"],
      vectors: [{ type: { kind: "int32" as const }, length: 2, nullCount: 0, bitOffset: 0, values: Int32Array.of(1, 7) }],
    },
  ];
  const type = { kind: "int64" as const, as: "number" as const };
  const right = [{ rowCount: 1, names: ["k"], vectors: [{ type, length: 1, nullCount: 0, bitOffset: 0, values: BigInt64Array.of(7n) }] }];
  expect(joinRows(joinOf("inner", ["k"]), left, right)).toEqual([{ k: 7 }]);
  const odd = blocksOf([{ k: "7" }], 1);
  expect(() => joinRows(joinOf("inner", ["k"]), left, odd)).toThrow(/"k" is int32 on the left and "k" is string on the right/);
});

test("a side without any row gives its columns, or none where it never had any", () => {
  const left = blocksOf([{ k: 1, l: 1 }], 1);
  const none = [{ ...(blocksOf([{ k: 1, r: "x" }], 1)[0] as Block) }].map((block) => ({
    ...block,
    rowCount: 0,
    vectors: block.vectors.map((vector) => ({ ...vector, length: 0, offsets: vector.offsets?.subarray(0, 1) }) as never),
  }));
  expect(joinRows(joinOf("left", ["k"]), left, none)).toEqual([{ k: 1, l: 1, r: null }]);
  expect(joinRows(joinOf("left", ["k"]), left, [])).toEqual([{ k: 1, l: 1 }]);
  expect(joinRows(joinOf("full", ["k"]), [], left)).toEqual([{ k: 1, l: 1 }]);
});

test("one name on both sides needs a suffix", () => {
  const left = blocksOf([{ k: 1, v: 1 }], 1);
  const right = blocksOf([{ k: 1, v: 2 }], 1);
  expect(() => joinRows(joinOf("inner", ["k"]), left, right)).toThrow(/both sides have a column "v"/);
  expect(joinRows(joinOf("inner", ["k"], { rightSuffix: "Right" }), left, right)).toEqual([{ k: 1, v: 1, vRight: 2 }]);
  expect(joinRows(joinOf("leftSemi", ["k"]), left, right)).toEqual([{ k: 1, v: 1 }]);
});

test("one key that most rows have gives its product in blocks, and does not slow the others", () => {
  const rows = Array.from({ length: 3000 }, (_, i) => ({ k: i % 10 === 0 ? i : -1, i }));
  const blocks = [...joinBlocks(joinOf("inner", ["k"], { rightSuffix: "Right" }), blocksOf(rows, 3000), blocksOf(rows.slice(0, 300), 300))];
  expect(blocks.reduce((sum, block) => sum + block.rowCount, 0)).toBe(2700 * 270 + 30);
  expect(Math.max(...blocks.map((block) => block.rowCount))).toBeLessThanOrEqual(131_072);
});

/** Blocks of so many rows of 8 bytes, in two bins, of which the first one has all rows with the key 7. */
function binnedBlocks(count: number, rows: number): Block[] {
  return Array.from({ length: count }, (_, i) => {
    const k = new Float64Array(rows).fill(7);
    k[rows - 1] = i;
    const vector = { type: { kind: "float64" as const }, length: rows, nullCount: 0, bitOffset: 0, values: k };
    return withBinColumn({ rowCount: rows, names: ["k"], vectors: [vector] }, Uint32Array.of(0, rows - 1, rows), 2);
  });
}

test("a bin that one key has filled is joined piece by piece, and none of its large blocks is copied", () => {
  const rows = 200_000;
  const blocks = binnedBlocks(12, rows);
  const right = binnedBlocks(1, 2);
  const sizes: number[] = [];
  for (const block of joinBlocks(joinOf("leftSemi", ["k"]), blocks, right)) sizes.push(block.rowCount);
  // A block has 1.6 MB, so five of them are below 8 MiB. The other bin has the remaining block.
  expect(sizes).toEqual([5, 5, 2].map((count) => count * (rows - 1)).concat(1));
  const [small] = blocksOf([{ k: 1 }], 1) as [Block];
  const large = withoutColumn(binnedBlocks(1, GATHERED_BYTES_MAX / 8)[0] as Block, "\0bin");
  const kept = [...gathered([small, small, large, small])];
  expect(kept.map(({ rowCount }) => rowCount)).toEqual([2, GATHERED_BYTES_MAX / 8, 1]);
  expect(kept[1]?.vectors[0]?.values).toBe(large.vectors[0]?.values);
  expect([...gathered([])]).toEqual([]);
});

test("a joined block has no more bytes than others, however many rows of the left side meet a large row of the right one", () => {
  const rows = Array.from({ length: 20 }, (_, l) => ({ k: l % 2, l }));
  const unique = [0, 1].map((k) => ({ k, r: new Uint8Array(2 ** 23) }));
  for (const right of [unique, [...unique, { k: 2, r: new Uint8Array(2 ** 23) }, { k: 2, r: new Uint8Array(2 ** 23) }]]) {
    let count = 0;
    for (const block of joinBlocks(joinOf("inner", ["k"]), blocksOf(rows, 20), blocksOf(right, 4))) {
      expect(blockBytes(block)).toBeLessThanOrEqual(1.1 * BLOCK_BYTES_MAX);
      expect(rowsOf(sliceBlock(block, 0, 1))[0]).toMatchObject({ l: count });
      count += block.rowCount;
    }
    expect(count).toBe(20);
  }
});
