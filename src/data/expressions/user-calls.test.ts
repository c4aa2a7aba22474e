/** Users' functions in expressions: their arguments, their results, and the errors of invalid results. */
import { describe, expect, test } from "vitest";
import { NdArray } from "../../core/index.ts";
import { pythonFunction } from "../../core/internal.ts";
import { type Block, rowsOf, vectorOf } from "../blocks/block.ts";
import { noteFile } from "../blocks/memory/origin.ts";
import { Column } from "../blocks/column.ts";
import { typeName } from "../blocks/data-type.ts";
import type { Vector } from "../blocks/vector.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { valueReader } from "../blocks/value-reader.ts";
import { isUserCode, keepsNothing } from "../engine/tasks/transform.ts";
import { DataError } from "../errors.ts";
import { columnsTransform, columnTransform, filterTransform, selectTransform } from "./column-transforms.ts";
import { unnested, withColumns } from "./evaluate.ts";
import { col, type Expression, lit, nodeOf, random, udf, unnest } from "./expression.ts";

const block: Block = {
  rowCount: 3,
  names: ["km", "city", "fare"],
  vectors: [buildVector([1, 2, 3]), buildVector(["Rome", null, "Oslo"]), buildVector([10, null, 30])],
};

function computed(expression: Expression, of: Block = block): Vector {
  return vectorOf(withColumns(of, [{ name: "x", node: nodeOf(expression) }], "test"), "x") as Vector;
}

function valuesOf(expression: Expression): unknown[] {
  const vector = computed(expression);
  const read = valueReader(vector);
  return Array.from({ length: vector.length }, (_, row) => read(row));
}

describe("functions of users", () => {
  test("see whole columns, and values that are the same for all rows as columns too", () => {
    const seen: unknown[] = [];
    const look = udf((...columns: (ArrayLike<unknown> & Iterable<unknown>)[]) => {
      seen.push(...columns);
      return Array.from(columns[0] ?? []);
    });
    computed(look(col("km"), col("city"), col("fare"), col("km").mul(2), 7));
    expect(seen[0]).toEqual(Float64Array.of(1, 2, 3));
    expect(seen[1]).toBeInstanceOf(Column);
    expect((seen[1] as Column<string>).toArray()).toEqual(["Rome", null, "Oslo"]);
    expect((seen[2] as Column<number>).toArray()).toEqual([10, null, 30]);
    expect(seen[3]).toEqual(Float64Array.of(2, 4, 6));
    expect(seen[4]).toEqual(Float64Array.of(7, 7, 7));
  });

  test("give arrays, typed arrays and columns, of the type that is named or of what they are", () => {
    const types = (expression: Expression): string => typeName(computed(expression).type);
    const doubled = udf((km: Float64Array) => km.map((one) => one * 2), { type: "int32" });
    expect([types(doubled(col("km"))), valuesOf(doubled(col("km")))]).toEqual(["int32", [2, 4, 6]]);
    expect(types(udf((km: Float64Array) => Int16Array.from(km), { type: "int16" })(col("km")))).toBe("int16");
    expect(types(udf((km: Float64Array) => Int16Array.from(km))(col("km")))).toBe("int16");
    const wide = udf((km: Float64Array) => BigInt64Array.from(km, BigInt), { type: "int64 as bigint" });
    expect([types(wide(col("km"))), valuesOf(wide(col("km")))]).toEqual(["int64 as bigint", [1n, 2n, 3n]]);
    expect(valuesOf(udf((city: Column<string | null>) => city, { type: "string" })(col("city")))).toEqual(["Rome", null, "Oslo"]);
    const lengths = udf((city: Column<string | null>) => city.map((one) => one && one.length));
    expect(valuesOf(lengths(col("city")))).toEqual([4, null, 4]);
    expect(types(udf((km: Float64Array) => new NdArray(new Float32Array(2 * km.length), [km.length, 2]))(col("km")))).toBe(
      "tensor<float32, 2>",
    );
    expect(valuesOf(doubled(doubled(col("km")).add(1)).gt(6))).toEqual([false, true, true]);
    expect(valuesOf(doubled(lit(3)))).toEqual([6, 6, 6]);
  });

  test("may give structs, whose fields become columns by one call", () => {
    let calls = 0;
    const both = udf((km: Float64Array) => {
      calls += 1;
      return Array.from(km, (one) => ({ half: one / 2, name: `${one} km` }));
    });
    const made = unnested(block, nodeOf(unnest(both(col("km"))).expression), "test");
    expect(rowsOf(made)[1]).toEqual({ km: 2, city: null, fare: null, half: 1, name: "2 km" });
    expect(calls).toBe(1);
  });

  test("are not shown blocks without rows", () => {
    const fail = udf(
      (_km: unknown): number[] => {
        throw new Error("seen");
      },
      { type: "int8" },
    );
    const none = { ...block, rowCount: 0, vectors: block.vectors.map(({ type }) => buildVector([], type)) };
    expect(computed(fail(col("km")), none)).toMatchObject({ type: { kind: "int8" }, length: 0 });
  });
});

test("a function that throws is told with the step, the file and the rows", () => {
  const parse = udf(function parse(_km: unknown): number[] {
    throw new RangeError("no number");
  });
  const read: Block = { ...block };
  noteFile(read, "rides.csv", 10);
  const run = (): unknown => withColumns(read, [{ name: "x", node: nodeOf(parse(col("km"))) }], "withColumn(x: parse(km))");
  expect(run).toThrow(/withColumn\(x: parse\(km\)\)[^]*rows 11 to 13 of rides.csv[^]*no number/);
});

test.each<[string, (...columns: never[]) => unknown, object, string]>([
  ["a promise", async () => [1, 2, 3], {}, "test: udf(km) gave a promise"],
  ["too few values", () => [1], {}, "test: udf(km) gives a value for each of the 3 rows that it is shown: received 1 values"],
  ["no column", () => 5, {}, 'an NdArray or a Column: test: udf(km) gave 5 for "udf"'],
  ["no column of a type", () => 5, { type: "int8" }, "test: udf(km) gives an array, a typed array or a Column: received 5"],
  ["another type", () => ["a", "b", "c"], { type: "float64" }, "test: udf(km): value 0"],
  ["numbers out of range", () => [1, 300, 2], { type: "int8" }, "test: udf(km): value 1"],
  ["fractions", () => Float64Array.of(1, 2.5, 3), { type: "int32" }, "test: udf(km): value 1"],
  ["values of two types", () => [1, "a", 2], {}, "test: udf(km): value 1"],
])("%s is an error", (_, fn, options, message) => {
  const run = (): unknown => computed(udf(fn as (km: unknown) => never, options as never)(col("km")));
  expect(run).toThrow(DataError);
  expect(run).toThrow(message);
});

test.each<[string, () => unknown, string]>([
  [
    "a class",
    () => udf(class Model {} as never),
    "Cannot call udf: it takes a function: received the class Model; classes belong in mapBatches",
  ],
  ["a value", () => udf(1 as never), "Cannot call udf: it takes a function: received 1"],
  [
    "Python",
    () => udf(pythonFunction("/code.py", "f", {}) as never),
    "Cannot call udf: it takes a function of JavaScript: those of Python belong in mapBatches",
  ],
  ["a type that is none", () => udf(() => [], { type: "integer" as never }), "the name of a type is needed"],
  ["another option", () => udf(() => [], { typ: "int8" } as never), "typ"],
  [
    "no column",
    () => (udf((): number[] => []) as () => unknown)(),
    "Cannot call udf: it takes a column for each of its parameters: received none",
  ],
  ["an object as a column", () => udf((km: Float64Array) => km)({} as never), "Cannot call udf: it takes an expression, a number"],
])("%s is refused when it is built", (_, build, message) => {
  expect(build).toThrow(message);
});

test("steps with functions of users keep blocks, and show them by name", () => {
  const half = udf(function half(km: Float64Array) {
    return km.map((one) => one / 2);
  });
  const steps = [
    filterTransform(half(col("km")).gt(1), undefined),
    columnTransform("x", half(col("km")).add(1)),
    columnsTransform(unnest(half(col("km")))),
    columnsTransform({ x: half(random()) }),
    selectTransform([half(col("km").neg()).as("x")]),
  ];
  for (const step of steps) expect([isUserCode(step), keepsNothing([step])]).toEqual([true, false]);
  expect(steps.map(({ name }) => name)).toEqual(
    [
      "filter(half(km) > 1)",
      "withColumn(x: half(km) + 1)",
      "withColumns(unnest(half(km)))",
      "withColumns(x: half(random(SEED)))",
      "selectColumns(x: half(neg(km)))",
    ].map((name) => (name.includes("SEED") ? (expect.stringMatching(/^withColumns\(x: half\(random\(\d+\)\)\)$/) as string) : name)),
  );
  const plain = columnTransform("x", col("km").add(1));
  expect([isUserCode(plain), keepsNothing([plain])]).toEqual([false, true]);
});
