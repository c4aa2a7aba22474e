/**
 * Preprocessors: each gives what Ray 2.60 gives for the same rows (`test/vectors/data/preprocessors`), for the rows of the fit and for fresh ones, in this process, through
 * tasks, and after it was written as JSON.
 */
import { readFileSync } from "node:fs";
import { NdArray } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { useSession } from "./session.ts";

useSession({ numCpus: 2 });

type Columns = Readonly<Record<string, readonly unknown[]>>;
interface Recorded {
  readonly columns: Columns;
  readonly fresh: Columns;
  readonly results: Readonly<Record<string, Readonly<Record<"fit" | "fresh", Columns>>>>;
}
const RAY = JSON.parse(readFileSync(new URL("../vectors/data/preprocessors/ray.json", import.meta.url), "utf8")) as Recorded;
const BINS = [-3, 0, 1, 4, 8];

const CASES: Readonly<Record<string, [make: () => data.Preprocessor, columns: readonly string[]]>> = {
  StandardScaler: [() => new data.StandardScaler({ columns: ["x", "y"] }), ["x", "y"]],
  MinMaxScaler: [() => new data.MinMaxScaler({ columns: ["x", "y"] }), ["x", "y"]],
  MaxAbsScaler: [() => new data.MaxAbsScaler({ columns: ["x", "y"] }), ["x", "y"]],
  "Normalizer l2": [() => new data.Normalizer({ columns: ["x", "y"] }), ["x", "y"]],
  "Normalizer l1": [() => new data.Normalizer({ columns: ["x", "y"], norm: "l1" }), ["x", "y"]],
  "Normalizer max": [() => new data.Normalizer({ columns: ["x", "y"], norm: "max" }), ["x", "y"]],
  "PowerTransformer yeo": [() => new data.PowerTransformer({ columns: ["x"], power: 0.5 }), ["x"]],
  "PowerTransformer yeo 2": [() => new data.PowerTransformer({ columns: ["x"], power: 2 }), ["x"]],
  "PowerTransformer box": [() => new data.PowerTransformer({ columns: ["y"], power: 0.5, method: "box-cox" }), ["y"]],
  "SimpleImputer mean": [() => new data.SimpleImputer({ columns: ["n"] }), ["n"]],
  "SimpleImputer most_frequent": [() => new data.SimpleImputer({ columns: ["n"], strategy: "most_frequent" }), ["n"]],
  "SimpleImputer constant": [() => new data.SimpleImputer({ columns: ["n"], strategy: "constant", fillValue: -1 }), ["n"]],
  OrdinalEncoder: [() => new data.OrdinalEncoder({ columns: ["c", "k"] }), ["c", "k"]],
  "OrdinalEncoder lists": [() => new data.OrdinalEncoder({ columns: ["l"] }), ["l"]],
  OneHotEncoder: [() => new data.OneHotEncoder({ columns: ["c", "k"] }), ["c", "k"]],
  "OneHotEncoder max": [() => new data.OneHotEncoder({ columns: ["k"], maxCategories: { k: 2 } }), ["k"]],
  MultiHotEncoder: [() => new data.MultiHotEncoder({ columns: ["l"] }), ["l"]],
  LabelEncoder: [() => new data.LabelEncoder({ labelColumn: "c" }), ["c"]],
  UniformKBins: [() => new data.UniformKBinsDiscretizer({ columns: ["x"], bins: 4 }), ["x"]],
  "UniformKBins left": [() => new data.UniformKBinsDiscretizer({ columns: ["x"], bins: 4, right: false }), ["x"]],
  CustomKBins: [() => new data.CustomKBinsDiscretizer({ columns: ["x"], bins: BINS }), ["x"]],
  "CustomKBins lowest": [() => new data.CustomKBinsDiscretizer({ columns: ["x"], bins: BINS, includeLowest: true }), ["x"]],
  "CustomKBins left": [() => new data.CustomKBinsDiscretizer({ columns: ["x"], bins: BINS, right: false }), ["x"]],
  Concatenator: [() => new data.Concatenator({ columns: ["x", "y"] }), ["x", "y", "c"]],
  Tokenizer: [() => new data.Tokenizer({ columns: ["t"] }), ["t"]],
  CountVectorizer: [() => new data.CountVectorizer({ columns: ["t"] }), ["t"]],
  "CountVectorizer max": [() => new data.CountVectorizer({ columns: ["t"], maxFeatures: 2 }), ["t"]],
  HashingVectorizer: [() => new data.HashingVectorizer({ columns: ["t"], numFeatures: 8 }), ["t"]],
  FeatureHasher: [() => new data.FeatureHasher({ columns: ["x", "k"], numFeatures: 4, outputColumn: "h" }), ["x", "k"]],
  Chain: [() => new data.Chain(new data.SimpleImputer({ columns: ["n"] }), new data.StandardScaler({ columns: ["n"] })), ["n"]],
};

/** Rows with plain values, and numbers rounded to what two programs agree on. */
function shown(rows: readonly Readonly<Record<string, unknown>>[]): unknown {
  const plain = (value: unknown): unknown => {
    if (value instanceof NdArray) return Array.from(value.data as Float64Array, plain);
    if (Array.isArray(value)) return value.map(plain);
    if (ArrayBuffer.isView(value)) return Array.from(value as Float64Array, plain);
    return typeof value === "number" ? Number(value.toPrecision(12)) + 0 : (value ?? null);
  };
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])));
}

function rowsOf(columns: Columns): Record<string, unknown>[] {
  const length = Object.values(columns)[0]?.length ?? 0;
  return Array.from({ length }, (_, row) => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[row]])));
}

function selected(columns: Columns, names: readonly string[]): Columns {
  return Object.fromEntries(names.map((name) => [name, columns[name] as readonly unknown[]]));
}

/** Ray orders equally frequent words as it met them, and Shoal by code point. Here that changes "cat" and "", of two each. */
function byCodePoint(name: string, recorded: Recorded["results"][string]): Recorded["results"][string] {
  if (name !== "CountVectorizer") return recorded;
  const ordered = ({ t = [] }: Columns): Columns => ({ t: (t as number[][]).map(([a, b, the, cat, none]) => [a, b, the, none, cat]) });
  return { fit: ordered(recorded.fit), fresh: ordered(recorded.fresh) };
}

test("every recorded result has a case", () => {
  expect(Object.keys(CASES).sort()).toEqual(Object.keys(RAY.results).sort());
});

test.each(Object.entries(CASES))("%s gives what Ray gives", async (name, [make, columns]) => {
  const rows = rowsOf(selected(RAY.columns, columns));
  const fresh = rowsOf(selected(RAY.fresh, columns));
  const preprocessor = await make().fit(data.fromItems(rows).repartition(3));
  const recorded = byCodePoint(name, RAY.results[name] as Recorded["results"][string]);
  expect(shown(preprocessor.transformBatch(rows))).toEqual(shown(rowsOf(recorded.fit)));
  expect(shown(preprocessor.transformBatch(fresh))).toEqual(shown(rowsOf(recorded.fresh)));
  expect(shown(await preprocessor.transform(data.fromItems(rows)).takeAll())).toEqual(shown(rowsOf(recorded.fit)));
  const again = data.preprocessorFromJson(JSON.stringify(preprocessor));
  expect(shown(again.transformBatch(fresh))).toEqual(shown(rowsOf(recorded.fresh)));
  expect(JSON.parse(JSON.stringify(again))).toEqual(JSON.parse(JSON.stringify(preprocessor)));
});

test("RobustScaler divides by the range of exact quantiles", async () => {
  // scikit-learn's RobustScaler for these numbers.
  const scaler = await new data.RobustScaler({ columns: ["x"] }).fit(data.fromItems([{ x: 1 }, { x: 2 }, { x: 3 }, { x: 4 }, { x: 105 }]));
  expect(scaler.transformBatch({ x: [1, 2, 3, 4, 105] })).toEqual({ x: Float64Array.of(-1, -0.5, 0, 0.5, 51) });
});

test("labels come back from their numbers", async () => {
  const encoder = await new data.LabelEncoder({ labelColumn: "c" }).fit(data.fromItems([{ c: "dog" }, { c: "cat" }, { c: null }]));
  expect(encoder.inverse([1, 0, null])).toEqual(["dog", "cat", null]);
  expect(() => encoder.inverse([2])).toThrow('Cannot find the label of 2: column "c" has 2 labels, from 0');
});

test("a function cuts texts in tasks, and cannot be written as JSON", async () => {
  const vectorizer = new data.CountVectorizer({ columns: ["t"], tokenize: (text) => text.toLowerCase().split(/\W+/) });
  const rows = await (await vectorizer.fitTransform(data.fromItems([{ t: "One, two" }, { t: "ONE" }]))).takeAll();
  expect(shown(rows)).toEqual([{ t: [1, 1] }, { t: [1, 0] }]);
  expect(() => JSON.stringify(vectorizer)).toThrow("Cannot write CountVectorizer as JSON: its option tokenize is a function");
});

test("output columns stand beside those that are read", async () => {
  const scaler = new data.MaxAbsScaler({ columns: ["x"], outputColumns: ["scaled"] });
  expect(await (await scaler.fitTransform(data.range(3).map(({ id }) => ({ x: id, other: "o" })))).takeAll()).toEqual([
    { x: 0, other: "o", scaled: 0 },
    { x: 1, other: "o", scaled: 0.5 },
    { x: 2, other: "o", scaled: 1 },
  ]);
});

test("a column of nulls alone stays null", async () => {
  const rows = [{ x: null }, { x: null }];
  for (const scaler of [new data.StandardScaler({ columns: ["x"] }), new data.MinMaxScaler({ columns: ["x"] })])
    expect((await scaler.fit(data.fromItems(rows))).transformBatch(rows)).toEqual(rows);
});

describe("bad input", () => {
  test.each([
    [() => new data.StandardScaler({ columns: [] }), "columns"],
    [() => new data.StandardScaler({ columns: ["x", "x"] }), "an array of names is needed, none of them twice"],
    [
      () => new data.StandardScaler({ columns: ["x"], outputColumns: ["a", "b"] }),
      "takes an output column for each of its 1 columns: received 2",
    ],
    [() => new data.StandardScaler({ column: "x" } as never), "columns"],
    [() => new data.RobustScaler({ columns: ["x"], quantileRange: [0.8, 0.2] }), "[low, high] is needed, from 0 to 1 and ascending"],
    [() => new data.SimpleImputer({ columns: ["x"], strategy: "constant" }), 'takes fillValue with the strategy "constant"'],
    [() => new data.UniformKBinsDiscretizer({ columns: ["x", "y"], bins: { x: 3 } }), 'takes bins for each column: received none for "y"'],
    [() => new data.CustomKBinsDiscretizer({ columns: ["x"], bins: [3, 2] }), "two or more ascending numbers are needed"],
    [() => new data.HashingVectorizer({ columns: ["x"], numFeatures: 2 ** 30 }), "numFeatures"],
    [() => new data.Chain(), "Cannot make Chain: it takes one or more preprocessors"],
    [() => data.preprocessorFromJson("{"), "Cannot read a preprocessor: its text is no JSON"],
    [() => data.preprocessorFromJson({ kind: "Scaler", version: 1, options: {}, state: null }), 'of the kind "Scaler" in version 1'],
    [() => data.preprocessorFromJson({ kind: "MinMaxScaler", version: 2, options: {}, state: null }), "in version 2"],
    [
      () => new data.MinMaxScaler({ columns: ["x"] }).transformBatch({ x: [1] }),
      "Cannot transform with MinMaxScaler: it has not been fitted",
    ],
    [() => new data.Tokenizer({ columns: ["t"] }).transformBatch({ text: ["a"] }), 'There is no column "t"'],
    [() => new data.Tokenizer({ columns: ["t"] }).transformBatch({ t: [1] }), 'Column "t" has 1 where a text is needed'],
    [() => new data.Normalizer({ columns: ["t"] }).transformBatch({ t: ["a"] }), 'Column "t" has "a" where a number is needed'],
    [() => new data.Concatenator({ columns: ["x"] }).transformBatch({ x: [1, null] }), 'Column "x" has null where a number is needed'],
  ])("%s", (make, message) => {
    expect(make).toThrow(message);
  });
});
