/** The kernels against plain arrays: random rows with nulls, NaN and both zeros, sorted, grouped, cut into parts and aggregated. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withDictionaries } from "../../../test/oracles/dictionary-blocks.ts";
import { absMax, count, countDistinct, max, mean, min, quantile, std, sum, unique } from "../aggregates/aggregate.ts";
import { mergeAggregates, partialAggregate } from "../aggregates/group-aggregate.ts";
import { type Block, blockOfRows, concatBlocks, type Row, rowsOf, sliceBlock, takeBlock } from "../blocks/block.ts";
import type { DataType } from "../blocks/data-type.ts";
import { newValueArray, type ValueArray, type Vector } from "../blocks/vector.ts";
import { groupRows, hashRows, keyHashes, keyVectors, NO_GROUP } from "./hash.ts";
import { KeyTable } from "./key-table.ts";
import { binBlocks } from "./partition.ts";
import { hashNumber, Random } from "./random.ts";
import { rangeOfRows, type SortKey, sortedIndices } from "./sort.ts";

const number = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.double(), fc.constantFrom(Number.NaN, -0, 0, Number.POSITIVE_INFINITY));
const row = fc.record({
  n: fc.option(number),
  t: fc.option(fc.string({ unit: "binary", maxLength: 3 })),
  b: fc.option(fc.boolean()),
  i: fc.option(fc.constantFrom(0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 5n)),
});
const rows = fc.array(row, { minLength: 1, maxLength: 40 });
const keys = fc.uniqueArray(fc.record({ column: fc.constantFrom("n", "t", "b", "i"), descending: fc.boolean() }), {
  minLength: 1,
  maxLength: 3,
  selector: ({ column }) => column,
});

/** The form of a column of texts: plain, or one of those with dictionaries. */
const form = fc.option(fc.nat(5));

/** Rows as they are in a block: without a value they have null. */
function blockOf(given: readonly Row[], dictionaries: number | null = null) {
  const plain = blockOfRows(given, "the test");
  const block = dictionaries === null ? plain : withDictionaries(plain, dictionaries);
  return { block, own: rowsOf(block).map((one, place) => ({ ...one, place })) };
}

/** Returns numbers of one hash in `hashRows`; everybody can compute them from its source. */
function numbersOfOneHash(length: number): Vector {
  const values = new Float64Array(length);
  const halves = new Uint32Array(values.buffer);
  for (let i = 0; i < length; i += 1) {
    let h = i;
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    halves[2 * i] = i;
    halves[2 * i + 1] = h ^ (h >>> 16) ^ 0x12345678;
  }
  return { type: { kind: "float64" }, length, nullCount: 0, bitOffset: 0, values };
}

function wholeNumbers(values: Uint32Array): Vector {
  return { type: { kind: "uint32" }, length: values.length, nullCount: 0, bitOffset: 0, values };
}

function rank(value: unknown): number {
  return value === null ? 2 : Number.isNaN(value) ? 1 : 0;
}

function compareValues(a: unknown, b: unknown): number {
  if (typeof a === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0;
}

function compareRows(a: Row, b: Row, by: readonly SortKey[]): number {
  for (const { column, descending } of by) {
    const [x, y] = [a[column], b[column]];
    const order = rank(x) - rank(y) || (rank(x) > 0 ? 0 : (descending ? -1 : 1) * compareValues(x, y));
    if (order !== 0) return order;
  }
  return 0;
}

const text = (value: unknown): string =>
  typeof value === "bigint" ? `${value}n` : Object.is(value, -0) ? "0number" : String(value) + typeof value;

describe("sorting", () => {
  test("is that of arrays: stable, NaN and null last in both directions, texts by code point", () => {
    fc.assert(
      fc.property(rows, keys, form, (given, by, dictionaries) => {
        const { block, own } = blockOf(given, dictionaries);
        const present = by.filter(({ column }) => block.names.includes(column));
        const sorted = Array.from(sortedIndices(block, present));
        expect(sorted).toEqual(own.toSorted((a, b) => compareRows(a, b, present)).map(({ place }) => place));
      }),
      { numRuns: 400 },
    );
  });

  test("by ranges and then within them gives the same", () => {
    fc.assert(
      fc.property(rows, keys, fc.array(fc.nat(39), { maxLength: 4 }), form, (given, by, samples, dictionaries) => {
        const { block } = blockOf(given, dictionaries);
        const keyRows = takeBlock(block, Uint32Array.from(samples.filter((sample) => sample < block.rowCount)));
        const borders = takeBlock(keyRows, sortedIndices(keyRows, by));
        const { block: ordered, starts } = binBlocks([block], [rangeOfRows(block, borders, by)], borders.rowCount + 1);
        const parts = Array.from({ length: borders.rowCount + 1 }, (_, i) =>
          sliceBlock(ordered, starts[i] as number, starts[i + 1] as number),
        );
        const sorted = concatBlocks(parts.map((part) => takeBlock(part, sortedIndices(part, by))));
        expect(rowsOf(sorted)).toEqual(rowsOf(takeBlock(block, sortedIndices(block, by))));
      }),
      { numRuns: 300 },
    );
  });

  test("of many rows is right however unevenly the values are spread", () => {
    const random = new Random(1);
    const spreads: Record<string, () => unknown> = {
      even: () => random.uint32() / 2 ** 32,
      steep: () => 10 ** (random.below(600) - 300) * (random.below(2) === 0 ? -1 : 1),
      few: () => [0.1, 0.1 + 2 ** -55, -0, 0, 1e300][random.below(5)],
      near: () => 1e15 + random.below(100_000),
      wide: () => BigInt(random.uint32()) * 2n ** 31n - 2n ** 61n + BigInt(random.below(3)),
      small: () => random.below(7),
    };
    const given = Array.from({ length: 20_000 }, () => Object.fromEntries(Object.entries(spreads).map(([name, next]) => [name, next()])));
    const { block, own } = blockOf(given);
    for (const by of [["even"], ["steep"], ["few"], ["near"], ["wide"], ["small", "steep"], ["few", "even"]])
      for (const descending of [false, true]) {
        const present = by.map((column) => ({ column, descending }));
        expect(Array.from(sortedIndices(block, present))).toEqual(
          own.toSorted((a, b) => compareRows(a, b, present)).map(({ place }) => place),
        );
      }
    const whole: Block = {
      ...blockOf([{ u: 0 }]).block,
      rowCount: 20_000,
      vectors: [wholeNumbers(Uint32Array.from(given, () => random.uint32()))],
    };
    const ordered = takeBlock(whole, sortedIndices(whole, [{ column: "u", descending: false }]));
    expect((ordered.vectors[0] as Vector).values).toEqual((whole.vectors[0] as Vector).values?.slice().sort());
  });

  test("a row belongs to the range behind all borders that do not come after it", () => {
    const random = new Random(2);
    const spreads: Record<string, () => unknown> = {
      even: () => random.uint32() / 2 ** 32,
      steep: () => 10 ** (random.below(600) - 300) * (random.below(2) === 0 ? -1 : 1),
      few: () => [0.1, 0.1 + 2 ** -55, -0, 0, 1e300, null, Number.NaN][random.below(7)],
      same: () => 4,
      wide: () => BigInt(random.uint32()) * 2n ** 31n - 2n ** 61n,
      small: () => random.below(300),
    };
    for (const [column, next] of Object.entries(spreads))
      for (const descending of [false, true]) {
        const by = [{ column, descending }];
        const { block, own } = blockOf(Array.from({ length: 1000 }, () => ({ [column]: next() })));
        const sample = takeBlock(
          block,
          Uint32Array.from({ length: 300 }, (_, i) => i),
        );
        for (const borders of [takeBlock(sample, sortedIndices(sample, by)), sliceBlock(sample, 0, 1), sliceBlock(sample, 0, 0)]) {
          const others = rowsOf(borders);
          const expected = own.map((one) => others.filter((border) => compareRows(border, one, by) <= 0).length);
          expect(Array.from(rangeOfRows(block, borders, by))).toEqual(expected);
        }
      }
  });

  test("puts a row that equals a border into the range behind it, by two keys too", () => {
    const { block } = blockOf([
      { a: 1, b: 1 },
      { a: 1, b: 2 },
      { a: 2, b: 1 },
    ]);
    const by = ["a", "b"].map((column) => ({ column, descending: false }));
    expect(Array.from(rangeOfRows(block, sliceBlock(block, 1, 3), by))).toEqual([0, 1, 2]);
  });

  test("by what cannot be ordered, or is not there, names the column", () => {
    const { block } = blockOf([{ l: [1] }]);
    expect(() => sortedIndices(block, [{ column: "l", descending: false }])).toThrow("list<float64>");
    expect(() => sortedIndices(block, [{ column: "x", descending: false }])).toThrow('"x"');
  });
});

describe("bins", () => {
  test("have the rows of all blocks in their order, of columns of every kind", () => {
    const some = fc.record({
      n: fc.option(fc.double({ noNaN: true })),
      i: fc.constantFrom(0n, -(2n ** 63n), 5n),
      t: fc.option(fc.string({ unit: "grapheme", maxLength: 40 })),
      long: fc.constantFrom("", "x".repeat(7), "y".repeat(8), "z".repeat(63), "v".repeat(200)),
      b: fc.option(fc.boolean()),
      l: fc.option(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 3 })),
      s: fc.record({ a: fc.option(fc.string({ maxLength: 2 })) }),
      bin: fc.nat(6),
    });
    const block = fc.array(some, { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 3 }), fc.nat(3), form, (given, cut, dictionaries) => {
        const blocks = given
          .map((own, i) => blockOf(own, dictionaries === null ? null : dictionaries + i).block)
          .map((one) => sliceBlock(one, Math.min(cut, one.rowCount - 1), one.rowCount));
        const bins = blocks.map((one) => Uint32Array.from(rowsOf(one), ({ bin }) => bin as number));
        const { block: binned, starts } = binBlocks(blocks, bins, 7);
        const all = blocks.flatMap(rowsOf);
        const columns = new Set(all.flatMap((one) => Object.keys(one)));
        const wanted = all.map((one) => Object.fromEntries(Array.from(columns, (name) => [name, one[name] ?? null])));
        expect(rowsOf(binned)).toEqual(wanted.toSorted((a, b) => (a["bin"] as number) - (b["bin"] as number)));
        for (let bin = 0; bin < 7; bin += 1)
          expect(rowsOf(sliceBlock(binned, starts[bin] as number, starts[bin + 1] as number))).toEqual(
            wanted.filter((one) => one["bin"] === bin),
          );
      }),
      { numRuns: 300 },
    );
  });
});

describe("groups", () => {
  test("are the rows of equal keys, in the order in which they first come", () => {
    fc.assert(
      fc.property(rows, fc.uniqueArray(fc.constantFrom("n", "t", "b", "i"), { minLength: 1 }), form, (given, by, dictionaries) => {
        const { block, own } = blockOf(given, dictionaries);
        const { ids, firstRows } = groupRows(keyVectors(block, by, "group by"), block.rowCount);
        const known = new Map<string, number>();
        const wanted = own.map((one) => {
          const key = by.map((column) => text((one as Row)[column])).join("|");
          if (!known.has(key)) known.set(key, known.size);
          return known.get(key);
        });
        expect(Array.from(ids)).toEqual(wanted);
        expect(Array.from(firstRows)).toEqual(Array.from(known.values(), (id) => wanted.indexOf(id)));
      }),
      { numRuns: 400 },
    );
  });

  test.each([
    ...(["int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float64", "date", "int64", "uint64", "timestamp"] as const),
    ...(["time32", "time64", "duration", "bool", "string", "decimal"] as const),
  ])("of nulls in a column of %s are one, whatever lies in memory under a null", (kind) => {
    const wide = (numbers: readonly number[]) => BigInt64Array.from(numbers, BigInt);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(40), fc.boolean()), { minLength: 1, maxLength: 200 }), fc.boolean(), (cells, isNear) => {
        const numbers = cells.map(([value]) => (isNear ? value : value * 3));
        const { length } = cells;
        const validity = new Uint8Array(Math.ceil(length / 8));
        cells.forEach(([, isValue], index) => {
          if (isValue) validity[index >> 3] = (validity[index >> 3] as number) | (1 << (index & 7));
        });
        const unit = kind === "time32" ? "ms" : "us";
        const type = (
          kind === "decimal" ? { kind, precision: 9, scale: 0, bits: 128, as: "text" } : { kind, unit, as: "bigint" }
        ) as DataType;
        const nullCount = cells.filter(([, isValue]) => !isValue).length;
        const bits = Uint8Array.from({ length: validity.length }, (_, byte) =>
          numbers.slice(8 * byte, 8 * byte + 8).reduce((byteSoFar, value, bit) => byteSoFar | ((value & 1) << bit), 0),
        );
        const values =
          kind === "bool"
            ? bits
            : kind === "string"
              ? Uint8Array.from(numbers)
              : kind === "decimal"
                ? new BigUint64Array(wide(numbers.flatMap((value) => [value, 0])).buffer)
                : (newValueArray(kind, length) as ValueArray);
        if (!["bool", "string", "decimal"].includes(kind))
          numbers.forEach((value, index) => {
            (values as unknown as (number | bigint)[])[index] =
              values instanceof BigInt64Array || values instanceof BigUint64Array ? BigInt(value) : value;
          });
        const offsets = kind === "string" ? { offsets: Int32Array.from({ length: length + 1 }, (_, index) => index) } : {};
        const vector: Vector = { type, length, nullCount, bitOffset: 0, values, ...offsets, ...(nullCount > 0 ? { validity } : {}) };
        const other: Vector = { type: { kind: "int32" }, length, nullCount: 0, bitOffset: 0, values: new Int32Array(length) };
        const known = new Map<string, number>();
        const wanted = cells.map(([, isValue], index) => {
          const value = kind === "bool" ? (numbers[index] as number) & 1 : numbers[index];
          const key = isValue ? `${value}` : "null";
          if (!known.has(key)) known.set(key, known.size);
          return known.get(key);
        });
        for (const columns of [[vector], [vector, other], [other, vector]])
          expect(Array.from(groupRows(columns, length).ids)).toEqual(wanted);
        const found = new KeyTable([vector], length).find([vector], length);
        const first = (index: number) => (cells[index]?.[1] === true ? "group" : "none");
        expect(Array.from(found, (group) => (group === NO_GROUP ? "none" : "group"))).toEqual(cells.map((_, index) => first(index)));
      }),
      { numRuns: 60 },
    );
  });

  test("of many keys are found through a table that grows", () => {
    const { block } = blockOf(Array.from({ length: 20_000 }, (_, i) => ({ k: i % 7001 })));
    const { ids, firstRows } = groupRows(keyVectors(block, ["k"], "group by"), block.rowCount);
    expect(firstRows.length).toBe(7001);
    expect(ids.every((id, i) => id === i % 7001)).toBe(true);
  });

  test("hash whole numbers of every width alike, so blocks of different types meet", () => {
    const hashOf = (value: unknown): number => hashRows(keyVectors(blockOf([{ k: value }]).block, ["k"], "group by"), 1)[0] as number;
    for (const value of [0, 1, -1, 4294967296, -4294967297, 2 ** 53 - 1]) expect(hashOf(BigInt(value))).toBe(hashOf(value));
  });

  test("hash texts with a dictionary as the same texts without one", () => {
    fc.assert(
      fc.property(rows, fc.nat(5), (given, dictionaries) => {
        const hashes = (own: number | null) => hashRows(keyVectors(blockOf(given, own).block, ["t"], "group by"), given.length);
        expect(hashes(dictionaries)).toEqual(hashes(null));
      }),
    );
  });

  test("of a few rows of a large dictionary are those of plain texts, as are their hashes and their order", () => {
    const random = new Random(5);
    const given = Array.from({ length: 3000 }, (_, i) => ({ t: i % 7 === 0 ? null : `${random.below(900)}` }));
    const [plain, encoded] = [blockOf(given).block, blockOf(given, 2).block].map((block) => sliceBlock(block, 1000, 1060)) as [
      Block,
      Block,
    ];
    const keysOf = (block: Block) => keyVectors(block, ["t"], "group by");
    expect(groupRows(keysOf(encoded), 60)).toEqual(groupRows(keysOf(plain), 60));
    expect(hashRows(keysOf(encoded), 60)).toEqual(hashRows(keysOf(plain), 60));
    for (const descending of [false, true])
      expect(sortedIndices(encoded, [{ column: "t", descending }])).toEqual(sortedIndices(plain, [{ column: "t", descending }]));
  });

  test("of more keys than a cache holds are aggregated in bins, with the same results", () => {
    const random = new Random(3);
    const given = Array.from({ length: 150_000 }, (_, i) => ({ k: random.below(90_000), n: i % 5 === 0 ? null : i, unused: "x" }));
    const aggregates = Object.entries({ rows: count(), sum: sum("n"), mean: mean("n") });
    const { block } = blockOf(given);
    const wanted = new Map<number, { rows: number; values: number[] }>();
    for (const { k, n } of given) {
      const own = wanted.get(k) ?? { rows: 0, values: [] };
      wanted.set(k, own);
      own.rows += 1;
      if (n !== null) own.values.push(n);
    }
    const results = rowsOf(mergeAggregates(partialAggregate(block, ["k"], aggregates), ["k"], aggregates));
    expect(results.length).toBe(wanted.size);
    for (const { k, ...result } of results) {
      const { rows: rowCount, values } = wanted.get(k as number) as { rows: number; values: number[] };
      const total = values.length === 0 ? null : values.reduce((a, b) => a + b, 0);
      expect(result).toEqual({ rows: rowCount, sum: total, mean: total === null ? null : total / values.length });
    }
  });

  test("of bigints have exact sums, or an error", () => {
    const wide = 2n ** 53n;
    const given = [wide, 1n, null, -5n, 2n ** 62n].map((i, place) => ({ k: place % 2, i }));
    const aggregates = Object.entries({ total: sum("i"), most: absMax("i"), mean: mean("i") });
    const aggregated = (some: readonly Row[]) =>
      rowsOf(mergeAggregates(concatBlocks([partialAggregate(blockOf(some).block, ["k"], aggregates)]), ["k"], aggregates));
    expect(aggregated(given)).toEqual([
      { k: 0, total: wide + 2n ** 62n, most: 2n ** 62n, mean: Number(wide + 2n ** 62n) / 2 },
      { k: 1, total: -4n, most: 5n, mean: -2 },
    ]);
    expect(() => aggregated([2n ** 63n - 1n, 1n].map((i) => ({ k: 0, i })))).toThrow("The sum 9223372036854775808 is beyond int64");
    expect(() => aggregated([{ k: 0, i: "x" }])).toThrow('Cannot aggregate sum("i"): numbers are needed, and the column is string');
  });

  test("are aggregated in parts as at once", () => {
    const aggregates = Object.entries({
      rows: count(),
      sum: sum("n"),
      mean: mean("n"),
      std: std("n"),
      min: min("t"),
      max: max("n"),
      median: quantile("n"),
      distinct: countDistinct("t"),
      texts: unique("t"),
    });
    const finite = fc.record({
      k: fc.constantFrom("a", "b", null),
      n: fc.option(fc.integer({ min: -100, max: 100 })),
      t: fc.option(fc.constantFrom("x", "y", "z")),
    });
    fc.assert(
      fc.property(fc.array(finite, { minLength: 1, maxLength: 30 }), fc.nat(30), form, (given, at, dictionaries) => {
        const { block } = blockOf([{ k: "a", n: 1, t: "x" }, ...given], dictionaries);
        const cut = Math.min(at, block.rowCount);
        const parts = [sliceBlock(block, 0, cut), sliceBlock(block, cut, block.rowCount)].filter((part) => part.rowCount > 0);
        const merged = rowsOf(
          mergeAggregates(concatBlocks(parts.map((part) => partialAggregate(part, ["k"], aggregates))), ["k"], aggregates),
        );
        for (const result of merged) {
          const own = rowsOf(block).filter((one) => one["k"] === result["k"]);
          const numbers = own.flatMap((one) => (one["n"] === null ? [] : [one["n"] as number]));
          const texts = [...new Set(own.flatMap((one) => (one["t"] === null ? [] : [one["t"] as string])))];
          const total = numbers.reduce((a, b) => a + b, 0);
          const average = numbers.length === 0 ? null : total / numbers.length;
          const sorted = numbers.toSorted((a, b) => a - b);
          const middle = (sorted.length - 1) / 2;
          expect(result).toMatchObject({
            rows: own.length,
            sum: numbers.length === 0 ? null : total,
            mean: average === null ? null : expect.closeTo(average, 9),
            min: texts.toSorted()[0] ?? null,
            max: sorted.at(-1) ?? null,
            median: numbers.length === 0 ? null : ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2,
            distinct: texts.length,
            texts,
          });
          const deviation = Math.sqrt(numbers.reduce((a, n) => a + (n - (average as number)) ** 2, 0) / (numbers.length - 1));
          expect(result["std"]).toEqual(numbers.length < 2 ? null : expect.closeTo(deviation, 9));
        }
        expect(merged.reduce((all, result) => all + (result["rows"] as number), 0)).toBe(block.rowCount);
      }),
      { numRuns: 200 },
    );
  });
});

describe("random numbers", () => {
  test("are the same for a seed, and others for another", () => {
    const first = new Random(1);
    const numbers = Array.from({ length: 5 }, () => first.uint32());
    const again = new Random(1);
    expect(Array.from({ length: 5 }, () => again.uint32())).toEqual(numbers);
    expect(new Random(2).uint32()).not.toBe(numbers[0]);
    expect(hashNumber(1, 7)).toBe(hashNumber(1, 7));
  });

  test("of numbers that follow each other fall evenly", () => {
    const parts = new Uint32Array(16);
    for (let i = 0; i < 16_000; i += 1) {
      const part = Math.floor((hashNumber(42, i) / 2 ** 32) * 16);
      parts[part] = (parts[part] as number) + 1;
    }
    for (const rowsOfPart of parts) expect(Math.abs(rowsOfPart - 1000)).toBeLessThan(150);
  });
});

test("keys that are chosen for one hash have others in a table", () => {
  const numbers = numbersOfOneHash(2000);
  expect(new Set(hashRows([numbers], 2000)).size).toBeLessThan(10);
  expect(new Set(keyHashes([numbers], 2000).hashes).size).toBeGreaterThan(1900);
  const texts = keyVectors(blockOf([{ t: "a" }, { t: "b" }]).block, ["t"], "group by");
  expect(keyHashes(texts, 2).hashes).not.toEqual(hashRows(texts, 2));
  const zero = wholeNumbers(new Uint32Array(1));
  expect(keyHashes([zero], 1).hashes[0]).not.toBe(0);
});
