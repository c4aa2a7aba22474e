/** Functions of expressions against JavaScript's own on each value: texts, times, lists, casts, and values in place of nulls. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withDictionaries } from "../../../test/oracles/dictionary-blocks.ts";
import { NdArray } from "../../core/index.ts";
import { type Block, sliceBlock, vectorOf } from "../blocks/block.ts";
import {
  BIG_INT64,
  BINARY,
  BOOL,
  DATE,
  type DataType,
  FLOAT64,
  INT64,
  NULL,
  parseType,
  STRING,
  TIMESTAMP_MS,
  typeName,
  variableTensorType,
} from "../blocks/data-type.ts";
import { keepFile, noteFile } from "../blocks/memory/origin.ts";
import { decodeVector, type Vector } from "../blocks/vector.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { valueReader } from "../blocks/value-reader.ts";
import { DataError } from "../errors.ts";
import { columnsTransform, selectTransform } from "./column-transforms.ts";
import { unnested, withColumns } from "./evaluate.ts";
import { col, type Expression, lit, nodeOf, star, unnest, when } from "./expression.ts";

const nullable = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 5 });

/** The values of a column `v`, of which one before and one behind are cut off. */
function blockOf(values: readonly unknown[], type: DataType): Block {
  const edge = values.find((value) => value !== null) ?? null;
  const vector = buildVector([edge, ...values, edge], type);
  return sliceBlock({ rowCount: vector.length, names: ["v"], vectors: [vector] }, 1, values.length + 1);
}

/** A column of texts or bytes with a dictionary stays one. */
function computed(values: readonly unknown[], type: DataType, expression: Expression): Vector {
  const block = blockOf(values, type);
  const result = resultOf(block, expression);
  const hasDictionary = type.kind === "string" || type.kind === "binary";
  for (const form of hasDictionary ? [0, 1] : [])
    expect(valuesOf(decodeVector(resultOf(withDictionaries(block, form), expression)))).toEqual(valuesOf(result));
  return result;
}

function resultOf(block: Block, expression: Expression): Vector {
  return vectorOf(withColumns(block, [{ name: "result", node: nodeOf(expression) }], "test"), "result") as Vector;
}

function valuesOf(vector: Vector): unknown[] {
  const read = valueReader(vector);
  return Array.from({ length: vector.length }, (_, row) => read(row));
}

/** Checks that the expression equals the function for each value, and gives null for null. */
function check<T>(values: readonly (T | null)[], type: DataType, expression: Expression, one: (value: T) => unknown): void {
  expect(valuesOf(computed(values, type, expression))).toEqual(values.map((value) => (value === null ? null : one(value))));
}

const character = fc.constantFrom("a", "b", "A", " ", "-", "é", "ß", "\u{1F469}", "$");
const text = fc.oneof(
  fc.array(character, { maxLength: 6 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary", maxLength: 4 }),
);
const ascii = fc.string({ unit: "binary-ascii", maxLength: 6 });
const texts = fc.oneof(fc.array(nullable(text), { maxLength: 9 }), fc.array(nullable(ascii), { maxLength: 9 }));
const piece = fc.oneof(character, fc.constantFrom("", "ab", "aa", "a-"));

describe("columns with dictionaries", () => {
  const plain = { rowCount: 5, names: ["v"], vectors: [buildVector(["12", "x", "7", "12", "7"], STRING)] };
  const block = withDictionaries(plain, 0);

  test("an error tells the row, and a value that no row has is none", () => {
    const cast = col("v").cast("int32");
    const message = (own: Block): unknown => {
      try {
        return valuesOf(resultOf(own, cast));
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(message(block)).toBe(message(plain));
    expect(message(block)).toContain("row 2 ");
    expect(valuesOf(resultOf(sliceBlock(block, 2, 5), cast))).toEqual([7, 12, 7]);
  });

  test("are made of texts, of bytes, and of what has a text", () => {
    fc.assert(
      fc.property(texts, (values) => {
        const vector = computed(values, STRING, col("v").cast("dictionary<string>"));
        expect(typeName(vector.type)).toBe("dictionary<string>");
        expect(valuesOf(vector)).toEqual(values);
        expect(vector.children?.[0]?.length).toBe(new Set(values.filter((value) => value !== null)).size);
      }),
    );
    const numbers = computed([1, 2, null, 1], FLOAT64, col("v").cast("dictionary<string>"));
    expect(valuesOf(numbers)).toEqual(["1", "2", null, "1"]);
    expect(typeName(computed(["a"], STRING, col("v").cast("dictionary<binary>")).type)).toBe("dictionary<binary>");
    expect(valuesOf(computed([null], NULL, col("v").cast("dictionary<string>")))).toEqual([null]);
    expect(typeName(resultOf(block, col("v").cast("string")).type)).toBe("string");
    expect(() => computed([[1]], { kind: "list", of: FLOAT64, as: "array" }, col("v").cast("dictionary<binary>"))).toThrow(
      "makes no dictionary<binary> of list<float64>",
    );
  });

  test("a column that is selected under another name keeps its dictionary, and two of them compare by their values", () => {
    expect(resultOf(block, col("v")).type).toEqual({ kind: "dictionary", of: STRING });
    const two = { ...block, names: ["v", "w"], vectors: [block.vectors[0], buildVector(["12", null, "8", "1", "7"], STRING)] as Vector[] };
    expect(valuesOf(resultOf(two, col("v").eq(col("w"))))).toEqual([true, null, false, false, true]);
    expect(valuesOf(resultOf(withDictionaries(two, 1), col("v").str.concat(lit("-"), col("w"))))).toEqual([
      "12-12",
      null,
      "7-8",
      "12-1",
      "7-7",
    ]);
  });
});

describe("texts", () => {
  const v = col("v").str;
  test.each<[string, Expression, (value: string) => unknown]>([
    ["length", v.length(), (one) => one.length],
    ["upper", v.upper(), (one) => one.toUpperCase()],
    ["lower", v.lower(), (one) => one.toLowerCase()],
    ["trim", v.trim(), (one) => one.trim()],
    ["trimStart", v.trimStart(), (one) => one.trimStart()],
    ["trimEnd", v.trimEnd(), (one) => one.trimEnd()],
    ["trim of characters", v.trim("a\u{1F469}"), (one) => one.replace(/^[a\u{1F469}]+|[a\u{1F469}]+$/gu, "")],
    ["trimStart of characters", v.trimStart("ab"), (one) => one.replace(/^[ab]+/, "")],
    ["trimEnd of characters", v.trimEnd("ab"), (one) => one.replace(/[ab]+$/, "")],
    ["byteLength", v.byteLength(), (one) => Buffer.from(one).length],
    ["capitalize", v.capitalize(), (one) => Array.from(one, (c, i) => (i === 0 ? c.toUpperCase() : c.toLowerCase())).join("")],
    ["reverse", v.reverse(), (one) => Array.from(one).reverse().join("")],
    ["repeat", v.repeat(3), (one) => one + one + one],
    ["find", v.find("-a"), (one) => one.indexOf("-a")],
    ["findRegex", v.findRegex("[ab]-"), (one) => /[ab]-/u.exec(one)?.index ?? -1],
    ["count", v.count("aa"), (one) => [...one.matchAll(/aa/g)].length],
    ["countRegex", v.countRegex(/A|b+/), (one) => [...one.matchAll(/A|b+/g)].length],
    ["matchRegex", v.matchRegex("^a.*b$"), (one) => /^a.*b$/u.test(one)],
    ["replaceRegex", v.replaceRegex(/(a)(?<x>.)/iu, "$<x>$1"), (one) => one.replaceAll(/(a)(?<x>.)/giu, "$<x>$1")],
    ["splitRegex", v.splitRegex("(a)|-+"), (one) => one.split(/(?:a)|-+/u)],
    ["splitWhitespace", v.splitWhitespace(), (one) => one.split(/\s+/)],
    [
      "extract",
      v.extract("(?<letter>[ab])(?<dash>-)?"),
      (one) => {
        const found = /([ab])(-)?/u.exec(one);
        return found && { letter: found[1], dash: found[2] ?? null };
      },
    ],
    ["isAscii", v.isAscii(), (one) => Buffer.from(one).every((byte) => byte < 128)],
    ["isSpace", v.isSpace(), (one) => one.length > 0 && one.trim().length === 0],
    ["concat", v.concat("-", col("v"), lit("x")), (one) => `${one}-${one}x`],
    ["padStart", v.padStart(4, "ab"), (one) => one.padStart(4, "ab")],
    ["padEnd", v.padEnd(4), (one) => one.padEnd(4)],
    ["split", v.split("a"), (one) => one.split("a")],
    ["replace", v.replace("a", "$&b"), (one) => one.replaceAll("a", () => "$&b")],
  ])("%s", (_, expression, one) => {
    fc.assert(fc.property(texts, (values) => check(values, STRING, expression, one)));
  });

  test("contains, startsWith, endsWith", () => {
    fc.assert(
      fc.property(texts, piece, (values, part) => {
        check<string>(values, STRING, v.contains(part), (one) => one.includes(part));
        check<string>(values, STRING, v.startsWith(part), (one) => one.startsWith(part));
        check<string>(values, STRING, v.endsWith(part), (one) => one.endsWith(part));
      }),
      { numRuns: 500 },
    );
  });

  test("slice", () => {
    const place = fc.integer({ min: -7, max: 7 });
    fc.assert(
      fc.property(fc.array(nullable(ascii)), place, fc.option(place, { nil: undefined }), (values, start, end) => {
        check<string>(values, STRING, v.slice(start, end), (one) => one.slice(start, end));
      }),
    );
  });

  test("that would be longer than a text can be are an error that names the row", () => {
    const long = "x".repeat(20_000);
    expect(() => computed(["a", long], STRING, v.repeat(65_536))).toThrow(
      "row 2 of the 2 in its block would be a longer text than JavaScript has",
    );
  });
});

/** Expected values from pyarrow 17, whose functions Ray uses. */
test("functions of texts give what Ray's do", () => {
  const samples = ["", "a", "Ab", "1a", "½", "٣", " ", "\u200b", "Hello World", "Hello3World", "IT'S", "\u{1F469}", "ǅ"];
  const trueOf = (expression: Expression): string[] => samples.filter((_, i) => valuesOf(computed(samples, STRING, expression))[i]);
  const v = col("v").str;
  expect(trueOf(v.isAlpha())).toEqual(["a", "Ab", "ǅ"]);
  expect(trueOf(v.isAlnum())).toEqual(["a", "Ab", "1a", "½", "٣", "Hello3World", "ǅ"]);
  expect(trueOf(v.isDigit())).toEqual(["½", "٣"]);
  expect(trueOf(v.isDecimal())).toEqual(["٣"]);
  expect(trueOf(v.isNumeric())).toEqual(["½", "٣"]);
  expect(trueOf(v.isLower())).toEqual(["a", "1a"]);
  expect(trueOf(v.isUpper())).toEqual(["IT'S"]);
  expect(trueOf(v.isTitle())).toEqual(["Ab", "Hello World", "Hello3World", "ǅ"]);
  expect(trueOf(v.isPrintable())).toEqual(samples.filter((one) => one !== "\u200b"));
  const made = (values: readonly string[], expression: Expression): unknown[] => valuesOf(computed(values, STRING, expression));
  expect(made(["hello wORLD it's 3rd éa"], v.title())).toEqual(["Hello World It'S 3Rd Éa"]);
  expect(made(["hELLO 1É"], v.swapCase())).toEqual(["Hello 1é"]);
  expect(made(["a", "ab", "abcdef"], v.center(4, "*"))).toEqual(["*a**", "*ab*", "abcdef"]);
  expect(made([" foo  bar\u3000baz ", ""], v.splitWhitespace())).toEqual([["", "foo", "bar", "baz", ""], [""]]);
  const cut: [number, number, string][] = [
    [1, 2, "aXcde"],
    [-2, -1, "abcXe"],
    [3, 1, "abcXde"],
    [10, 12, "abcdeX"],
    [0, 0, "Xabcde"],
    [-10, 1, "Xbcde"],
  ];
  for (const [start, end, result] of cut) expect(made(["abcde"], v.replaceSlice(start, end, "X"))).toEqual([result]);
});

test("patterns of SQL", () => {
  const like = (value: string, pattern: string): unknown => valuesOf(computed([value], STRING, col("v").str.matchLike(pattern)))[0];
  const part = fc.constantFrom("a", "b", ".", "\u{1F469}", "\n");
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 6 }),
      fc.array(fc.oneof(part, fc.constantFrom("%", "_")), { maxLength: 5 }),
      (value, pattern) => {
        const whole = new RegExp(
          `^${pattern.map((one) => (one === "%" ? ".*" : one === "_" ? "." : one === "." ? "\\." : one)).join("")}$`,
          "su",
        );
        expect(like(value.join(""), pattern.join(""))).toBe(whole.test(value.join("")));
      },
    ),
    { numRuns: 500 },
  );
  expect(["abc", "a%c", "a\\c"].map((one) => like(one, "a\\%c"))).toEqual([false, true, false]);
  expect(like("a".repeat(20_000), `${"%a".repeat(500)}%b`)).toBe(false);
});

describe("times", () => {
  const v = col("v").dt;
  const time = fc.date({ min: new Date("-004000-01-01T00:00:00Z"), max: new Date("9999-12-31T00:00:00Z"), noInvalidDate: true });
  test("parts are those of Date in UTC", () => {
    fc.assert(
      fc.property(fc.constantFrom("ms", "us"), fc.array(nullable(time)), (unit, values) => {
        const parts: readonly [Expression, (value: Date) => number][] = [
          [v.year(), (one) => one.getUTCFullYear()],
          [v.month(), (one) => one.getUTCMonth() + 1],
          [v.day(), (one) => one.getUTCDate()],
          [v.hour(), (one) => one.getUTCHours()],
          [v.minute(), (one) => one.getUTCMinutes()],
          [v.second(), (one) => one.getUTCSeconds()],
          [v.millisecond(), (one) => one.getUTCMilliseconds()],
          [v.weekday(), (one) => one.getUTCDay()],
          [v.dayOfYear(), dayOfYear],
        ];
        for (const [expression, one] of parts) check(values, { kind: "timestamp", unit }, expression, one);
        const near = values.map((value) => (value === null ? null : new Date(value.getTime() % 9e12)));
        check<Date>(near, { kind: "timestamp", unit: "ns" }, v.millisecond(), (one) => one.getUTCMilliseconds());
        check<Date>(values, { kind: "timestamp", unit: "s" }, v.second(), (one) => one.getUTCSeconds());
        check<Date>(values, DATE, v.year(), (one) => one.getUTCFullYear());
        check<Date>(values, DATE, v.dayOfYear(), dayOfYear);
      }),
    );
  });

  /** The expected texts are pyarrow 17's. */
  test("texts by codes", () => {
    const values = [new Date("2024-02-29T13:45:30.123Z"), new Date("1969-12-31T23:59:59Z"), null];
    const written = (format: string, unit: "s" | "ms" | "us" = "ms"): unknown[] =>
      valuesOf(computed(values, { kind: "timestamp", unit }, v.strftime(format)));
    expect(written("%Y-%m-%d")).toEqual(["2024-02-29", "1969-12-31", null]);
    expect(written("%H:%M:%S", "us")).toEqual(["13:45:30.123000", "23:59:59.000000", null]);
    expect(written("%T|%S")).toEqual(["13:45:30.123|30.123", "23:59:59.000|59.000", null]);
    expect(written("%S", "s")).toEqual(["30", "59", null]);
    expect(written("%a %A %b %B %j %U %W %w %u %V %G %g")).toEqual([
      "Thu Thursday Feb February 060 08 09 4 4 09 2024 24",
      "Wed Wednesday Dec December 365 52 52 3 3 01 1970 70",
      null,
    ]);
    expect(written("%d %e %y %C %I %p %M %n%t%%")[1]).toBe("31 31 69 19 11 PM 59 \n\t%");
    expect(written("%D %F %R %r %c %x %X %h")[0]).toBe(
      "02/29/24 2024-02-29 13:45 01:45:30 PM Thu Feb 29 13:45:30 2024 02/29/24 13:45:30 Feb",
    );
    expect(valuesOf(computed(values, DATE, v.strftime("%F %T %z%Z")))).toEqual([
      "2024-02-29 00:00:00 +0000UTC",
      "1969-12-31 00:00:00 +0000UTC",
      null,
    ]);
    fc.assert(
      fc.property(fc.array(nullable(time)), (some) => {
        const inYears = some.filter((one) => one === null || one.getUTCFullYear() >= 0);
        check(inYears, TIMESTAMP_MS, v.strftime("%Y-%m-%dT%H:%M:%SZ"), (one: Date) => one.toISOString());
      }),
    );
  });

  test("beginnings of units", () => {
    const make = (values: readonly unknown[], type: DataType, expression: Expression): unknown[] =>
      valuesOf(computed(values, type, expression)).map((one) => (one as Date | null)?.toISOString() ?? null);
    const values = [new Date("2024-02-29T13:45:30.123Z"), new Date("1969-12-31T23:59:59Z"), null];
    const rows: [Parameters<typeof v.floor>[0], string, string, string, string, string, string][] = [
      ["year", "2024-01-01", "2025-01-01", "2024-01-01", "1969-01-01", "1970-01-01", "1970-01-01"],
      ["quarter", "2024-01-01", "2024-04-01", "2024-04-01", "1969-10-01", "1970-01-01", "1970-01-01"],
      ["month", "2024-02-01", "2024-03-01", "2024-03-01", "1969-12-01", "1970-01-01", "1970-01-01"],
      ["week", "2024-02-26", "2024-03-04", "2024-03-04", "1969-12-29", "1970-01-05", "1969-12-29"],
      ["day", "2024-02-29", "2024-03-01", "2024-03-01", "1969-12-31", "1970-01-01", "1970-01-01"],
      ["hour", "2024-02-29T13", "2024-02-29T14", "2024-02-29T14", "1969-12-31T23", "1970-01-01T00", "1970-01-01T00"],
      ["minute", "2024-02-29T13:45", "2024-02-29T13:46", "2024-02-29T13:46", "1969-12-31T23:59", "1970-01-01T00:00", "1970-01-01T00:00"],
    ];
    const whole = (begun: string): string => `${begun}${"0000-01-01T00:00:00.000Z".slice(begun.length)}`;
    for (const [unit, ...expected] of rows)
      for (const unitOfColumn of ["s", "ms", "us", "ns"] as const)
        expect(
          [v.floor(unit), v.ceil(unit), v.round(unit)].map((one) => make(values, { kind: "timestamp", unit: unitOfColumn }, one)),
        ).toEqual([0, 1, 2].map((i) => [whole(expected[i] as string), whole(expected[i + 3] as string), null]));
    const days = ["2024-02-16", "2024-02-15", "2023-07-02", "2023-07-03"].map((one) => new Date(one));
    expect(make(days, DATE, v.round("month")).map((one) => String(one).slice(0, 10))).toEqual([
      "2024-03-01",
      "2024-02-01",
      "2023-07-01",
      "2023-07-01",
    ]);
    expect(make(days, DATE, v.round("year")).map((one) => String(one).slice(0, 4))).toEqual(["2024", "2024", "2023", "2024"]);
    expect(make(days, DATE, v.floor("hour"))).toEqual(make(days, DATE, col("v")));
    // A moment that begins a unit stays; digits below those of a Date count.
    const exact = [new Date("2024-01-01"), null];
    for (const unit of ["year", "quarter", "month", "week", "day", "second"] as const)
      expect(make(exact, { kind: "timestamp", unit: "us" }, v.ceil(unit))).toEqual([exact[0]?.toISOString(), null]);
    const ns: DataType = { kind: "timestamp", unit: "ns" };
    const count = computed([1n], { kind: "int64", as: "bigint" }, col("v").cast("timestamp[ns]").dt.ceil("day").cast("int64 as bigint"));
    expect(valuesOf(count)).toEqual([86_400_000_000_000n]);
    expect(() => computed([2n ** 63n - 1n], BIG_INT64, col("v").cast("timestamp[ns]").dt.ceil("year"))).toThrow(
      "which the column does not hold",
    );
    expect(typeName(computed(values, ns, v.floor("year")).type)).toBe("timestamp[ns]");
    fc.assert(
      fc.property(fc.array(nullable(time)), (some) => {
        const first = (one: Date, month: number): Date => {
          const date = new Date(one);
          date.setUTCMonth(month, 1);
          date.setUTCHours(0, 0, 0, 0);
          return date;
        };
        check(some, TIMESTAMP_MS, v.floor("year"), (one: Date) => first(one, 0));
        check(some, TIMESTAMP_MS, v.floor("month"), (one: Date) => first(one, one.getUTCMonth()));
        check(some, { kind: "timestamp", unit: "us" }, v.floor("quarter"), (one: Date) =>
          first(one, Math.floor(one.getUTCMonth() / 3) * 3),
        );
      }),
    );
  });

  test("moments of different units and days compare as moments", () => {
    const near = fc.integer({ min: -3, max: 3 }).map((n) => new Date(n * 500));
    const types: readonly DataType[] = [DATE, ...(["s", "ms", "us", "ns"] as const).map((unit): DataType => ({ kind: "timestamp", unit }))];
    fc.assert(
      fc.property(nullable(near), nullable(near), fc.constantFrom(...types), fc.constantFrom(...types), (a, b, aType, bType) => {
        const block: Block = { rowCount: 1, names: ["a", "b"], vectors: [buildVector([a], aType), buildVector([b], bType)] };
        const [x, y] = block.vectors.map((vector) => valueReader(vector)(0) as Date | null) as [Date | null, Date | null];
        const less = withColumns(block, [{ name: "r", node: nodeOf(col("a").lt(col("b"))) }], "test").vectors[2] as Vector;
        expect(valueReader(less)(0)).toBe(x === null || y === null ? null : x.getTime() < y.getTime());
        if (b === null) return;
        const equal = withColumns(block, [{ name: "r", node: nodeOf(lit(b).eq(col("a"))) }], "test").vectors[2] as Vector;
        expect(valueReader(equal)(0)).toBe(x === null ? null : x.getTime() === b.getTime());
      }),
      { numRuns: 1000 },
    );
  });
});

function dayOfYear(date: Date): number {
  const first = new Date(date);
  first.setUTCMonth(0, 1);
  return Math.round((date.getTime() - first.getTime()) / 86_400_000) + 1;
}

test("lists", () => {
  const of = nullable(fc.array(nullable(fc.integer({ min: 0, max: 3 })), { maxLength: 4 }));
  fc.assert(
    fc.property(fc.array(of), fc.integer({ min: -5, max: 5 }), (values, index) => {
      const type: DataType = { kind: "list", of: FLOAT64, as: "array" };
      check(values, type, col("v").list.length(), (list) => list.length);
      check(values, type, col("v").list.get(index), (list) => list.at(index) ?? null);
      check(values, type, col("v").list.contains(2), (list) => list.includes(2));
    }),
  );
});

describe("parts of lists", () => {
  const numbers: DataType = { kind: "list", of: FLOAT64, as: "array" };
  const element = nullable(fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constant(Number.NaN)));
  const list = nullable(fc.array(element, { maxLength: 6 }));
  const v = col("v").list;

  test("slice", () => {
    const place = fc.integer({ min: -7, max: 7 });
    fc.assert(
      fc.property(
        fc.array(list),
        place,
        fc.option(place, { nil: undefined }),
        fc.integer({ min: 1, max: 3 }),
        (values, start, end, step) => {
          check(values, numbers, v.slice(start, end, step), (one) => one.slice(start, end).filter((_, i) => i % step === 0));
        },
      ),
    );
  });

  test("sort", () => {
    const rank = (one: number | null): number => (one === null ? 2 : Number.isNaN(one) ? 1 : 0);
    fc.assert(
      fc.property(fc.array(list), fc.boolean(), fc.constantFrom("first", "last"), (values, descending, nulls) => {
        const compare = (a: number | null, b: number | null): number => {
          if (a === null || b === null) return (nulls === "first" ? -1 : 1) * (rank(a) === 2 ? (rank(b) === 2 ? 0 : 1) : -1);
          return rank(a) - rank(b) || (rank(a) === 1 ? 0 : descending ? b - a : a - b);
        };
        check(values, numbers, v.sort({ descending, nulls }), (one) => one.toSorted(compare));
      }),
    );
    const words = computed([["b", null, "a"], null, []], { kind: "list", of: STRING, as: "array" }, v.sort());
    expect(valuesOf(words)).toEqual([["a", "b", null], null, []]);
    const typed = computed([Float64Array.of(3, 1), null], { kind: "list", of: FLOAT64, as: "typed array" }, v.sort());
    expect(valuesOf(typed)).toEqual([Float64Array.of(1, 3), null]);
    expect(() => computed([[[1]]], { kind: "list", of: numbers, as: "array" }, v.sort())).toThrow(
      "takes a list of numbers, texts, times or booleans: received list<list<float64>>",
    );
  });

  test("flatten", () => {
    fc.assert(
      fc.property(fc.array(nullable(fc.array(list, { maxLength: 4 }))), (values) => {
        const present = (one: (null | (number | null)[])[]): unknown => one.flatMap((inner) => inner ?? []);
        check(values, { kind: "list", of: numbers, as: "array" }, v.flatten(), present);
      }),
    );
    check([[null], null, []], { kind: "list", of: { kind: "null" }, as: "array" }, v.flatten(), () => []);
    expect(() => computed([[1]], numbers, v.flatten())).toThrow("takes a list of lists: received list<float64>");
  });

  test("keys and values of maps", () => {
    const entry = {
      kind: "struct",
      fields: [
        { name: "key", type: STRING },
        { name: "value", type: FLOAT64 },
      ],
    } as const;
    const map = nullable(
      fc.array(nullable(fc.record({ key: fc.string({ maxLength: 2 }), value: nullable(fc.integer()) })), { maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(map), (values) => {
        const type: DataType = { kind: "list", of: entry, as: "array" };
        check(values, type, col("v").map.keys(), (one) => one.map((each) => each && each.key));
        check(values, type, col("v").map.values(), (one) => one.map((each) => each && each.value));
      }),
    );
    expect(() => computed([[1]], numbers, col("v").map.keys())).toThrow(
      "takes a map, or a list of structs of a key and a value: received list<float64>",
    );
  });

  test("arrays as lists", () => {
    const nested = (array: NdArray<Float64Array>): unknown => {
      const cut = (data: readonly number[], [size = 0, ...inner]: readonly number[]): unknown[] => {
        if (inner.length === 0) return [...data];
        const each = data.length / (size || 1);
        return Array.from({ length: size }, (_, i) => cut(data.slice(i * each, (i + 1) * each), inner));
      };
      return cut([...array.data], array.shape);
    };
    const of = (shape: readonly number[]): fc.Arbitrary<NdArray<Float64Array>> => {
      const size = shape.reduce((a, b) => a * b, 1);
      return fc.float64Array({ minLength: size, maxLength: size }).map((data) => new NdArray(data, shape));
    };
    const size = fc.nat(3);
    const toList = col("v").arr.toList();
    fc.assert(
      fc.property(fc.array(nullable(of([2, 3]))), fc.array(nullable(of([4]))), (wide, narrow) => {
        check(wide, { kind: "tensor", of: FLOAT64, shape: [2, 3] }, toList, nested);
        check(narrow, { kind: "tensor", of: FLOAT64, shape: [4] }, toList, nested);
      }),
    );
    fc.assert(
      fc.property(
        fc.array(nullable(fc.tuple(size, size, size).chain(of))),
        fc.array(nullable(size.chain((one) => of([one])))),
        (wide, narrow) => {
          check(wide, variableTensorType("float64", 3), toList, nested);
          check(narrow, variableTensorType("float64", 1), toList, nested);
        },
      ),
    );
    expect(typeName(computed([], { kind: "tensor", of: { kind: "int64" }, shape: [2, 3] }, toList).type)).toBe(
      "list<list<int64 as bigint>>",
    );
    check([[1], null], numbers, toList, (one) => one);
    expect(() => computed([1], FLOAT64, toList)).toThrow("takes a list, or an array of one dimension or more: received float64");
  });
});

const TRIGONOMETRY = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"] as const;

test("several columns at once are computed from the columns as they were", () => {
  const block = { ...blockOf([1, 2, null], FLOAT64), names: ["a"] };
  const columns = [
    { name: "b", node: nodeOf(col("a").add(1)) },
    { name: "a", node: nodeOf(col("a").mul(10)) },
  ];
  const made = withColumns(block, columns, "test");
  expect(made.names).toEqual(["a", "b"]);
  expect(made.vectors.map(valuesOf)).toEqual([
    [10, 20, null],
    [2, 3, null],
  ]);
  expect(() => columnsTransform({})).toThrow(
    "Cannot call withColumns: it takes an object of expressions by the names of columns: received {}",
  );
  expect(() => columnsTransform({ a: 1 })).toThrow('Cannot call withColumns: it takes expressions: received 1 for "a"');
  expect(() => columnsTransform({ a: col("a").download() })).toThrow("a download, which withColumn takes alone");
});

test("fields of structs, null where the struct is, also in rows that are cut out", () => {
  const type: DataType = {
    kind: "struct",
    fields: [
      { name: "city", type: STRING },
      { name: "isOpen", type: BOOL },
      { name: "none", type: { kind: "null" } },
    ],
  };
  const of = nullable(fc.record({ city: nullable(fc.string({ maxLength: 3 })), isOpen: nullable(fc.boolean()), none: fc.constant(null) }));
  fc.assert(
    fc.property(fc.array(of), (values) => {
      for (const field of ["city", "isOpen", "none"] as const) check(values, type, col("v").struct.field(field), (struct) => struct[field]);
    }),
  );
  expect(() => computed([{ city: "Rome" }], type, col("v").struct.field("zip"))).toThrow(
    'there is no "zip": there are "city", "isOpen", "none"',
  );
  expect(() => computed([1], FLOAT64, col("v").struct.field("zip"))).toThrow("takes a struct: received float64");
});

test("fields of structs as columns, in the place of those of their names", () => {
  const type: DataType = {
    kind: "struct",
    fields: [
      { name: "v", type: FLOAT64 },
      { name: "w", type: STRING },
    ],
  };
  const of = nullable(fc.record({ v: nullable(fc.integer()), w: nullable(fc.string({ maxLength: 2 })) }));
  fc.assert(
    fc.property(fc.array(of), (values) => {
      const made = unnested(blockOf(values, type), nodeOf(col("v")), "test");
      expect(made.names).toEqual(["v", "w"]);
      expect(made.vectors.map(valuesOf)).toEqual([values.map((one) => one?.v ?? null), values.map((one) => one?.w ?? null)]);
    }),
  );
  const none = blockOf([null], { kind: "null" });
  expect(unnested(none, nodeOf(col("v")), "test")).toBe(none);
  const matched = unnested(blockOf(["a1", "b", null], STRING), nodeOf(col("v").str.extract("(?<letter>.)(?<digit>\\d)")), "test");
  expect(matched.names).toEqual(["v", "letter", "digit"]);
  expect(matched.vectors.slice(1).map(valuesOf)).toEqual([
    ["a", null, null],
    ["1", null, null],
  ]);
  expect(() => unnested(blockOf([1], FLOAT64), nodeOf(col("v")), "test")).toThrow("test: unnest takes a struct: v is float64");
  expect(() => unnest(1 as never)).toThrow("Cannot call unnest: it takes an expression: received 1");
  expect(() => columnsTransform({ a: unnest(col("a")) })).toThrow("which withColumns takes in place of the object");
  expect(() => selectTransform([unnest(col("a"))])).toThrow("Cannot call selectColumns: it takes no unnest(...)");
});

test("all columns and others", () => {
  const transform = selectTransform([star(), "b", col("a").add(1).as("c")]);
  expect(transform.name).toBe("selectColumns(*, b, c: a + 1)");
  expect(transform).toMatchObject({ kind: "withColumns", columns: [{ name: "b" }, { name: "c" }] });
  expect(selectTransform([star()])).toEqual({ kind: "withColumns", name: "selectColumns(*)", columns: [] });
  expect(() => selectTransform(["a", star()])).toThrow("Cannot call selectColumns: it takes star() once, before the other columns");
  expect(() => selectTransform([star(), col("a").as("b"), "b"])).toThrow('two columns would be named "b"');
});

test("functions of numbers", () => {
  fc.assert(
    fc.property(fc.array(nullable(fc.oneof(fc.double(), fc.constantFrom(-2.5, -0, 0.5, 1.5)))), (values) => {
      for (const name of ["round", "ceil", "floor", "trunc", "abs", "sign", "sqrt", "exp", "log2", "log10", ...TRIGONOMETRY] as const)
        check(values, FLOAT64, col("v")[name](), Math[name]);
      check(values, FLOAT64, col("v").ln(), Math.log);
      check(values, FLOAT64, col("v").neg(), (one) => -one);
    }),
  );
  const wide = [-5n, 0n, 7n, 2n ** 63n - 1n, null];
  check(wide, BIG_INT64, col("v").neg(), (one) => -one);
  check(wide, BIG_INT64, col("v").abs(), (one) => (one < 0n ? -one : one));
  check(wide, BIG_INT64, col("v").round(), (one) => one);
  check(wide, BIG_INT64, col("v").trunc(), (one) => one);
  check(wide, BIG_INT64, col("v").sign(), (one) => Number(one > 0n) - Number(one < 0n));
  expect(() => computed([-(2n ** 63n)], BIG_INT64, col("v").abs())).toThrow("which int64 does not hold");
});

test("another value in place of null", () => {
  const same = (values: readonly unknown[], type: DataType, value: number | string): void => {
    const vector = computed(values, type, col("v").fillNull(value));
    expect(typeName(vector.type)).toBe(typeName(type));
    expect(valuesOf(vector)).toEqual(values.map((one) => one ?? value));
  };
  fc.assert(fc.property(texts, (values) => same(values, STRING, "none")));
  fc.assert(fc.property(fc.array(nullable(fc.integer())), (values) => same(values, INT64, 7)));
  fc.assert(fc.property(fc.array(nullable(fc.double())), (values) => same(values, FLOAT64, 0.5)));
  expect(valuesOf(computed([null, null], { kind: "null" }, col("v").fillNull(1)))).toEqual([1, 1]);
  expect(() => computed([null, 1], FLOAT64, col("v").fillNull("x"))).toThrow("takes values of one type: received float64 and string");
});

test("values by conditions: the first that is true decides, null is not true, and types become one", () => {
  const value = col("v");
  fc.assert(
    fc.property(fc.array(nullable(fc.integer({ min: -3, max: 3 }))), (values) => {
      const sign = when(value.gt(0), "plus").when(value.eq(0), value.cast("string")).otherwise("minus or null");
      expect(valuesOf(computed(values, INT64, sign))).toEqual(
        values.map((one) => (one !== null && one > 0 ? "plus" : one === 0 ? "0" : "minus or null")),
      );
      const capped = computed(values, INT64, when(value.gt(1), 1).otherwise(value));
      expect(typeName(capped.type)).toBe("int64");
      expect(valuesOf(capped)).toEqual(values.map((one) => (one !== null && one > 1 ? 1 : one)));
      const halves = computed(values, INT64, when(value.le(0), 0.5).otherwise(value));
      expect(valuesOf(halves)).toEqual(values.map((one) => (one !== null && one <= 0 ? 0.5 : one)));
    }),
  );
  fc.assert(
    fc.property(texts, (values) => {
      expect(
        valuesOf(computed(values, STRING, when(value.isNull(), "none").when(lit(true), value).otherwise(lit(1).cast("string")))),
      ).toEqual(values.map((one) => one ?? "none"));
    }),
  );
  expect(valuesOf(computed([1, 2], INT64, when(value.gt(1), value).otherwise(null)))).toEqual([null, 2]);
  expect(valuesOf(computed([1, 2], INT64, when(lit(null), 1).otherwise(2)))).toEqual([2, 2]);
  expect(() => computed([1], INT64, when(value, 1).otherwise(2))).toThrow("when in when(v, 1, 2) takes conditions that are true or false");
  expect(() => computed([1], INT64, when(value.gt(0), "x").otherwise(value))).toThrow(
    "takes values of one type: received string and int64",
  );
  expect(() => when(true as never, 1)).toThrow(
    'Cannot call when: it takes a condition that is an expression, such as col("km").gt(10): received true',
  );
});

test("rounded to digits behind the point", () => {
  expect(valuesOf(computed([0.125, -0.125, 1e300, 0.1 + 0.2, Number.NaN, null], FLOAT64, col("v").round(2)))).toEqual([
    0.13,
    -0.12,
    1e300,
    0.3,
    Number.NaN,
    null,
  ]);
  expect(valuesOf(computed([7, null], INT64, col("v").round(2)))).toEqual([7, null]);
  for (const digits of [-1, 0.5, 16, "2"])
    expect(() => col("v").round(digits as number)).toThrow("Cannot call round: it takes a number of digits from 0 to 15: received");
});

describe("casts", () => {
  test("give null for what the type does not hold, where that is asked for", () => {
    const lenient = (values: readonly unknown[], from: DataType, to: Parameters<Expression["cast"]>[0]): unknown[] => {
      const vector = computed(values, from, col("v").cast(to, { onError: "null" }));
      const cast = valuesOf(vector);
      expect(vector.nullCount).toBe(cast.filter((one) => one === null).length);
      // A value that can be cast alone is the same; others are null.
      values.forEach((one, row) => {
        let alone: unknown = null;
        try {
          [alone] = valuesOf(computed([one], from, col("v").cast(to)));
        } catch (error) {
          expect(error).toBeInstanceOf(DataError);
        }
        expect(cast[row]).toEqual(alone);
      });
      return cast;
    };
    const dirty = ["1", " 2 ", "", "x", null, "1.5", "9007199254740993", "99999999999999999999", "-1", " ", "NaN", "1e400"];
    expect(lenient(dirty, STRING, "int64")).toEqual([1, 2, null, null, null, null, null, null, -1, null, null, null]);
    for (const to of ["float64", "int8", "uint64", "int64 as bigint", "bool", "decimal<4, 1>", "dictionary<string>"] as const)
      lenient(dirty, STRING, to);
    for (const to of ["date", "timestamp[s]", "time32[s]"] as const)
      lenient(["2026-01-31", "2026-02-30", "10:00", "10:00:00.5", "2026-01-31T10:00:00.5", null, "soon"], STRING, to);
    lenient([1, 1.5, 300, Number.NaN, null, -1, 2 ** 60], FLOAT64, "uint8");
    lenient([1, 1.5, 2 ** 70, null, -1], FLOAT64, "int64");
    lenient([1, 1.25, 1e9, null, Number.NaN], FLOAT64, "decimal<4, 1>");
    lenient(["1.00", "1.50", "300.00", null], parseType("decimal<6, 2>") as DataType, "int8");
    lenient([1n, 2n ** 60n, null, -300n], BIG_INT64, "float64");
    lenient([1n, 2n ** 60n, null, -300n], BIG_INT64, "int8");
    lenient([Uint8Array.of(65), Uint8Array.of(0xff), null], BINARY, "string");
    lenient([new Date("2026-01-31"), new Date(8.64e15), null], TIMESTAMP_MS, "timestamp[ns]");
    expect(() => col("v").cast("float64", { onError: "zero" as never })).toThrow("onError");
    expect(String(col("v").cast("float64", { onError: "null" }))).toBe('cast(v, "float64", "null")');
    expect(() => computed([[1]], { kind: "list", of: FLOAT64, as: "array" }, col("v").cast("float64", { onError: "null" }))).toThrow(
      "makes no float64 of list<float64>",
    );
  });

  test("leave no bytes that are no UTF-8 behind nulls", () => {
    const utf8 = new TextDecoder("utf-8", { fatal: true });
    const decoded = computed([Uint8Array.of(0xff), Uint8Array.of(65), null], BINARY, col("v").cast("string", { onError: "null" }));
    expect(valuesOf(decoded)).toEqual([null, "A", null]);
    expect(utf8.decode(decoded.values as Uint8Array)).toBe("A");
    const hidden = { ...buildVector([Uint8Array.of(0xff)], BINARY), validity: Uint8Array.of(0), nullCount: 1 };
    const block = { rowCount: 1, names: ["v"], vectors: [hidden] };
    const [cast] = withColumns(block, [{ name: "v", node: nodeOf(col("v").cast("string")) }], "test").vectors as [Vector];
    expect(utf8.decode(cast.values as Uint8Array)).toBe("");
  });

  test("to texts of times that have none are null, or an error with the row and the value", () => {
    const moments = (onError: "null" | "throw"): Vector =>
      computed([1n, 2n ** 62n, null], BIG_INT64, col("v").cast("timestamp[s]").cast("string", { onError }));
    expect(valuesOf(moments("null"))).toEqual(["1970-01-01T00:00:01Z", null, null]);
    expect(() => moments("throw")).toThrow(
      "row 2 of the 3 in its block is 4611686018427387904, which string does not hold: A timestamp[s] is beyond the year 275,760",
    );
    const time = col("v").cast("time32[s]").cast("string", { onError: "null" });
    expect(valuesOf(computed([86_400, 86_399], FLOAT64, time))).toEqual([null, "23:59:59"]);
  });

  test("numbers to texts and back", () => {
    fc.assert(
      fc.property(fc.array(nullable(fc.double())), (values) => {
        check(values, FLOAT64, col("v").cast("string"), String);
        check(values, FLOAT64, col("v").cast("string").cast("float64"), (one) => Number(String(one)));
      }),
    );
    fc.assert(
      fc.property(fc.array(nullable(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))), (values) => {
        check(values, BIG_INT64, col("v").cast("string"), String);
        check(values, BIG_INT64, col("v").cast("string").cast("int64 as bigint"), (one) => one);
      }),
    );
  });

  test("times to texts and back, and to coarser ones", () => {
    const time = fc.date({ min: new Date("0000-01-01T00:00:00Z"), max: new Date("9999-12-31T00:00:00Z"), noInvalidDate: true });
    fc.assert(
      fc.property(fc.array(nullable(time)), (values) => {
        check(values, TIMESTAMP_MS, col("v").cast("string"), (one) => one.toISOString());
        check(values, TIMESTAMP_MS, col("v").cast("string").cast("timestamp[us]"), (one) => one);
        check(values, TIMESTAMP_MS, col("v").cast("date"), (one) => new Date(Math.floor(one.getTime() / 86_400_000) * 86_400_000));
        check(values, TIMESTAMP_MS, col("v").cast("date").cast("string"), (one) => one.toISOString().slice(0, 10));
        check(values, TIMESTAMP_MS, col("v").cast("timestamp[s]"), (one) => new Date(Math.floor(one.getTime() / 1000) * 1000));
        check(values, TIMESTAMP_MS, col("v").cast("int64"), (one) => one.getTime());
        check(values, TIMESTAMP_MS, col("v").cast("int64").cast("timestamp[ms]"), (one) => one);
      }),
    );
  });

  test("times of day and durations, as counts, texts and other units", () => {
    const ms: DataType = { kind: "time32", unit: "ms" };
    const ns: DataType = { kind: "time64", unit: "ns" };
    const us: DataType = { kind: "duration", unit: "us" };
    fc.assert(
      fc.property(fc.array(nullable(fc.nat(86_399_999))), (values) => {
        check(values, ms, col("v").cast("string"), (one) => new Date(one).toISOString().slice(11, -1));
        check(values, ms, col("v").cast("string").cast("time32[ms]"), (one) => one);
        check(values, ms, col("v").cast("time64[ns]"), (one) => BigInt(one) * 1_000_000n);
        check(values, ms, col("v").cast("time64[ns]").cast("time32[s]"), (one) => Math.floor(one / 1000));
        check(values, ms, col("v").cast("int64").cast("time32[ms]"), (one) => one);
        check(values, ms, col("v").gt(1000), (one) => one > 1000);
        check(values, ms, col("v").gt(lit("10:00").cast("time32[ms]")), (one) => one > 36_000_000);
        check(values, ms, col("v").dt.hour(), (one) => Math.floor(one / 3_600_000));
        check(values, ms, col("v").cast("time64[ns]").dt.second(), (one) => Math.floor(one / 1000) % 60);
      }),
    );
    fc.assert(
      fc.property(fc.array(nullable(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))), (values) => {
        check(values, us, col("v").cast("string"), String);
        check(values, us, col("v").cast("string").cast("duration[us]"), (one) => one);
        check(values, us, col("v").cast("int64 as bigint"), (one) => one);
        check(values, us, col("v").cast("duration[s]"), (one) => (one - (((one % 1_000_000n) + 1_000_000n) % 1_000_000n)) / 1_000_000n);
        check(values, us, col("v").le(5n), (one) => one <= 5n);
        check(values, us, col("v").eq(col("v")), () => true);
      }),
    );
    expect(valuesOf(computed([1, null], ms, col("v").fillNull(7)))).toEqual([1, 7]);
    expect(valuesOf(computed([null, 1n], ns, col("v").fillNull(7n)))).toEqual([7n, 1n]);
    const clocks = ["10:00", "10:00:00,5", "23:59:59.123000", "24:00:00"];
    expect(valuesOf(computed(clocks.slice(0, 3), STRING, col("v").cast("time32[ms]")))).toEqual([36_000_000, 36_000_500, 86_399_123]);
    expect(() => computed(clocks, STRING, col("v").cast("time32[ms]"))).toThrow('is "24:00:00", which time32[ms] does not hold');
    expect(() => computed(["10:00:00.0001"], STRING, col("v").cast("time32[ms]"))).toThrow("time64[us] does");
    expect(() => computed([-1], ms, col("v").cast("string"))).toThrow("A time32[ms] of -1 is no time of a day");
    expect(() => computed([1], ms, col("v").eq(col("v").cast("time32[s]")))).toThrow("received time32[ms] and time32[s]");
    expect(() => computed([1], ms, col("v").dt.year())).toThrow("takes a day or a moment: received time32[ms]");
    expect(() => computed([1], ms, col("v").gt("10:00"))).toThrow("received time32[ms] and string");
    expect(() => computed([1], ms, col("v").cast("duration[ms]"))).toThrow("makes no duration[ms] of time32[ms]");
  });

  test("between numbers, or an error that names the value", () => {
    const kinds = ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float64"] as const;
    const arrays = { int8: Int8Array, uint8: Uint8Array, int32: Int32Array, uint32: Uint32Array, float64: Float64Array };
    const holds = (kind: (typeof kinds)[number], value: number): boolean => {
      if (kind === "int64") return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;
      if (kind === "uint64") return Number.isInteger(value) && value >= 0 && value < 2 ** 64;
      return Object.is(arrays[kind].of(value)[0], value) || arrays[kind].of(value)[0] === value;
    };
    const number = fc.oneof(
      fc.double(),
      fc.integer({ min: -300, max: 300 }),
      fc.constantFrom(Number.NaN, 2 ** 31, 2 ** 32, 2 ** 63, -1, 127, 128),
    );
    fc.assert(
      fc.property(number, fc.constantFrom(...kinds), (value, kind) => {
        const cast = (): unknown[] => valuesOf(computed([value, null], FLOAT64, col("v").cast(kind).cast("float64")));
        if (!holds(kind, value)) expect(cast).toThrow(`is ${value}, which ${kind} does not hold`);
        else if (Number.isSafeInteger(value) || kind === "float64")
          expect(cast()).toEqual([value === 0 && kind !== "float64" ? 0 : value, null]);
      }),
      { numRuns: 500 },
    );
  });

  test("of other kinds", () => {
    check([true, false, null], BOOL, col("v").cast("int8"), Number);
    check([true, false, null], BOOL, col("v").cast("string"), String);
    check(["true", "false", null], STRING, col("v").cast("bool"), (one) => one === "true");
    check(["aé", null], STRING, col("v").cast("binary").cast("string"), (one) => one);
    check([1, null], FLOAT64, col("v").cast("float64"), (one) => one);
    check([1.1, null], FLOAT64, col("v").cast("float32"), Math.fround);
    expect(typeName(computed([null], { kind: "null" }, col("v").cast("date")).type)).toBe("date");
  });

  test.each<[readonly unknown[], DataType, Expression, string]>([
    [["1", "x"], STRING, col("v").cast("int32"), 'row 2 of the 2 in its block is "x", which int32 does not hold'],
    [["1", ""], STRING, col("v").cast("float64"), 'row 2 of the 2 in its block is "", which float64 does not hold'],
    [["9", " "], STRING, col("v").cast("uint64"), 'row 2 of the 2 in its block is " ", which uint64 does not hold'],
    [["9007199254740993"], STRING, col("v").cast("int64"), "which int64 does not hold and int64 as bigint does"],
    [[Uint8Array.of(255)], BINARY, col("v").cast("string"), "row 1 of the 1 in its block has bytes that are no UTF-8"],
    [[1], FLOAT64, col("v").cast("bool"), "makes no bool of float64"],
    [["x"], STRING, col("v").add(1), "test: add in v + 1 takes numbers: received string and float64"],
    [[1], FLOAT64, col("v").str.upper(), "str.upper in str.upper(v) takes a text: received float64"],
    [["x"], STRING, col("v").dt.year(), "takes a day or a moment: received string"],
    [[1], FLOAT64, col("v").and(true), "takes booleans: received float64 and bool"],
    [["x"], STRING, col("v").eq(1), "compares values of one kind: received string and float64"],
    [[2n ** 62n], INT64, col("v").mul(4), "is mul of 4611686018427387904 and 4, which int64 does not hold"],
    [[2n ** 62n], INT64, col("v").mul(0.5), "has 4611686018427387904, and numbers beyond 2^53 would be rounded"],
    [[5n], INT64, col("v").mod(0), "divides 5 by zero"],
    [[5n], BIG_INT64, col("v").add(0.5), "takes two whole numbers where one is a bigint: received int64 as bigint and float64"],
    [[1], FLOAT64, col("w").add(1), 'test: there is no column "w": there are "v"'],
  ])("%o as %o: an error", (values, type, expression, message) => {
    const run = (): Vector => computed(values, type, expression);
    expect(run).toThrow(DataError);
    expect(run).toThrow(message);
  });
});

test("an error names the row of the file, the rows that it may be, or none where constants alone are wrong", () => {
  const read: Block = { rowCount: 2, names: ["v"], vectors: [buildVector(["1", "x"])] };
  noteFile(read, "a.csv", 10);
  const cast = (block: Block, expression: Expression) => () =>
    withColumns(block, [{ name: "n", node: nodeOf(expression.cast("int64")) }], "test");
  expect(cast(read, col("v"))).toThrow('test: cast in cast(v, "int64"): row 12 of a.csv is "x", which');
  expect(cast(keepFile({ ...read }, read), col("v"))).toThrow(': one of rows 11 to 12 of a.csv is "x", which');
  const none = keepFile({ ...read, rowCount: 0, vectors: [buildVector([], STRING)] }, read);
  for (const block of [read, none])
    expect(cast(block, lit("x"))).toThrow('test: cast in cast("x", "int64"): each row is "x", which int64 does not hold');
});

test.each<[string, () => unknown, string]>([
  ["col of a number", () => col(1 as never), "Cannot call col: it takes the name of a column: received 1"],
  [
    "lit of an object",
    () => lit({} as never),
    "Cannot call lit: it takes an expression, a number, a bigint, a text, a boolean, a Date or null: received {}",
  ],
  ["lit of no time", () => lit(new Date(Number.NaN)), "Cannot call lit: it takes an expression"],
  ["lit beyond 64 bits", () => lit(2n ** 64n), "Cannot call lit: it takes whole numbers of 64 bits: received 18446744073709551616n"],
  ["lit of half a character", () => lit("\ud83d"), "Cannot call lit: its text has half of a character"],
  ["contains of half a character", () => col("a").str.contains("a\ude00"), "Cannot call str.contains: its text has half of a character"],
  ["add of undefined", () => col("a").add(undefined as never), "Cannot call add: it takes an expression, a number"],
  [
    "cast to no type",
    () => col("a").cast("integer" as never),
    'Cannot call cast: it takes the name of a type: received "integer"; types are int8',
  ],
  ["isIn of null", () => col("a").isIn([null as never]), "Cannot call isIn: it takes no null and no NaN"],
  ["isIn of two kinds", () => col("a").isIn([1, "a"]), "Cannot call isIn: it takes values of one kind: received number and string"],
  ["isIn of no array", () => col("a").isIn(1 as never), "Cannot call isIn: it takes an array of values: received 1"],
  ["split by nothing", () => col("a").str.split(""), 'Cannot call str.split: it takes a text of one character or more: received ""'],
  ["contains of a number", () => col("a").str.contains(1 as never), "Cannot call str.contains: it takes a text: received 1"],
  ["slice at a half", () => col("a").str.slice(0.5), "Cannot call str.slice: it takes a whole number: received 0.5"],
  ["pad without end", () => col("a").str.padStart(1e9), "Cannot call str.padStart: it takes a length from 0 to 65536"],
  [
    "a pattern of a number",
    () => col("a").str.matchRegex(1 as never),
    "Cannot call str.matchRegex: it takes a regular expression: received 1",
  ],
  [
    "a pattern that is none",
    () => col("a").str.countRegex("("),
    "Cannot call str.countRegex: it takes a regular expression: Invalid regular expression: /(/",
  ],
  [
    "a sticky pattern",
    () => col("a").str.findRegex(/a/y),
    "Cannot call str.findRegex: it takes no regular expression with the flag y: received /a/y",
  ],
  ["extract without names", () => col("a").str.extract("(a)"), "Cannot call str.extract: it takes a regular expression with named groups"],
  ["count of nothing", () => col("a").str.count(""), "Cannot call str.count: it takes a text of one character or more"],
  ["repeat below zero", () => col("a").str.repeat(-1), "Cannot call str.repeat: it takes a length from 0 to 65536: received -1"],
  ["trim of a number", () => col("a").str.trim(1 as never), "Cannot call str.trim: it takes a text: received 1"],
  ["get at a half", () => col("a").list.get(0.5), "Cannot call list.get: it takes a whole number: received 0.5"],
  [
    "an unknown code",
    () => col("a").dt.strftime("%Y %f"),
    'Cannot call dt.strftime: it takes the codes YyCmdeHIMSpjaAbhBuwUWVGgDxFRTXrczZnt% behind %: received "%f" in "%Y %f"',
  ],
  ["a code cut off", () => col("a").dt.strftime("100%"), 'received "%" in "100%"'],
  [
    "an unknown unit",
    () => col("a").dt.floor("decade" as never),
    'Cannot call dt.floor: it takes the name of a unit: received "decade"; units are year, quarter',
  ],
  ["a step of zero", () => col("a").list.slice(0, 1, 0), "Cannot call list.slice: it takes a step from 1: received 0"],
  ["sort with another option", () => col("a").list.sort({ order: 1 } as never), "order"],
  ["as a number", () => col("a").as(1 as never), "Cannot call as: it takes the name of a column: received 1"],
])("%s is refused when it is built", (_, build, message) => {
  expect(build).toThrow(message);
});

test("an expression shows itself", () => {
  expect(
    String(
      col("a")
        .add(1)
        .mul(col("b"))
        .gt(2)
        .and(col("c").isIn(["x"])),
    ),
  ).toBe('(((a + 1) * b) > 2) and isIn(c, ["x"])');
  expect(String(col("t").str.replace("a", "b").eq(lit(null)))).toBe('str.replace(t, "a", "b") = null');
  expect(String(col("a".repeat(200))).length).toBeLessThan(150);
});

test("values of uint64 from 2^63 on are operands, exactly", () => {
  const most = 2n ** 64n - 1n;
  const values = [0n, 2n ** 63n - 1n, 2n ** 63n, most, null];
  const of = (expression: Expression, type: DataType = { kind: "uint64", as: "bigint" }, given: readonly unknown[] = values): unknown[] =>
    valuesOf(resultOf(blockOf(given, type), expression));
  expect(of(col("v").eq(2n ** 63n))).toEqual([false, false, true, false, null]);
  expect(of(col("v").ge(2n ** 63n))).toEqual([false, false, true, true, null]);
  expect(of(lit(most).gt(col("v")))).toEqual([true, true, true, false, null]);
  expect(of(col("v").isIn([most, 0n]))).toEqual([true, false, false, true, null]);
  expect(of(col("v").fillNull(most))).toEqual([0n, 2n ** 63n - 1n, 2n ** 63n, most, most]);
  expect(of(lit(most).sub(col("v")))).toEqual([most, 2n ** 63n, 2n ** 63n - 1n, 0n, null]);
  expect(of(when(col("v").eq(0), most).otherwise(col("v")))).toEqual([most, 2n ** 63n - 1n, 2n ** 63n, most, null]);
  expect(of(col("v").lt(2n ** 63n), BIG_INT64, [-1n, 2n ** 63n - 1n])).toEqual([true, true]);
});
