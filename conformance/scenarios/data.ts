/** Datasets: the same inputs and steps on `shoal/data` and on `ray.data`. */
import { aggregate, dataset, expression, fn, path, type Step } from "../data-steps.ts";
import type { Outcome, Scenario } from "../system.ts";

interface Case extends Pick<Scenario, "name" | "differs" | "withoutRay"> {
  readonly steps: readonly Step[];
  /** The rows are compared as a set: neither side says in which order they come, or chance does. */
  readonly anyOrder?: boolean;
}

const TAKE_ALL: Step = ["takeAll"];
const LETTERS = ["fromItems", [
  { key: "a", other: 1, value: 1 },
  { key: "b", other: 1, value: 2 },
  { key: "a", other: 2, value: 4 },
  { key: "a", other: 1, value: 7 },
  { key: "b", other: 2, value: 0 },
]] as const satisfies Step; // biome-ignore format: one row a line
const WITH_NULLS: Step = ["fromItems", [
  { key: "a", value: 1.5 },
  { key: "b", value: null },
  { key: "a", value: null },
  { key: "a", value: 2.5 },
  { key: "c", value: -3.5 },
]]; // biome-ignore format: one row a line
const WITH_NAN: Step = ["fromItems", [{ x: 2.5 }, { x: "NaN" }, { x: -1.5 }, { x: 0.5 }]];
const WORDS: Step = ["fromItems", [
  { key: "a", value: "x", n: 4 },
  { key: "b", value: "x", n: null },
  { key: "a", value: "y", n: 0 },
  { key: "a", value: "x", n: 9 },
  { key: "a", value: null, n: 2 },
]]; // biome-ignore format: one row a line
const CITIES: Step = [
  "fromItems",
  [
    { id: 1, city: "Rome" },
    { id: 2, city: "Oslo" },
    { id: 2, city: "Bergen" },
    { id: 9, city: "Lima" },
  ],
];
const RIDES: Step = [
  "fromItems",
  [
    { id: 1, km: 5 },
    { id: 2, km: 7 },
    { id: 3, km: 8 },
    { id: 1, km: 2 },
  ],
];
const MANY: Step = ["range", 1000];

const grouped = (input: Step, ...args: [string, ...unknown[]]): readonly Step[] => [
  input,
  ["groupBy", "key"],
  ["aggregate", { result: aggregate(...args) }],
  ["sort", "key"],
  TAKE_ALL,
];
const roundTrip = (format: string, input: Step, ...transforms: Step[]): readonly Step[] => [
  input,
  ...transforms,
  [`write${format}`, path("out")],
  [`read${format}`, path("out")],
  TAKE_ALL,
];
const fixture = (read: string, name: string, options?: object): readonly Step[] => [
  ["fixture", name, name],
  [read, path(name), ...(options === undefined ? [] : [options])],
  TAKE_ALL,
];

const SOURCES: readonly Case[] = [
  { name: "range", steps: [["range", 5], TAKE_ALL] },
  { name: "an empty range", steps: [["range", 0], ["count"]] },
  { name: "items that are objects", steps: [LETTERS, TAKE_ALL] },
  { name: "items that are none", steps: [["fromItems", [3, 1, 2]], TAKE_ALL] },
  { name: "nulls in items", steps: [WITH_NULLS, TAKE_ALL] },
  {
    name: "a field that some items lack",
    differs: "ours have the same columns in each row, with null",
    steps: [["fromItems", [{ a: 1, b: 2 }, { a: 3 }]], TAKE_ALL],
  },
  {
    name: "lists and objects in items",
    steps: [
      [
        "fromItems",
        [
          { list: [1, 2], inner: { a: "x" } },
          { list: [], inner: { a: "y" } },
        ],
      ],
      TAKE_ALL,
    ],
  },
  {
    name: "whole numbers beyond 2^53",
    steps: [["file", "a.csv", "n\n9007199254740993\n-9223372036854775808\n"], ["readCsv", path("a.csv")], TAKE_ALL],
  },
  { name: "no items", steps: [["fromItems", []], ["count"]] },
  { name: "schema has the columns in their order", steps: [LETTERS, ["schema"]] },
  { name: "columns", steps: [LETTERS, ["columns"]] },
];

const TRANSFORMS: readonly Case[] = [
  { name: "map", steps: [["range", 4], ["map", fn("square")], TAKE_ALL] },
  { name: "flatMap", steps: [["range", 3], ["flatMap", fn("twice")], TAKE_ALL] },
  { name: "flatMap to none and to many", steps: [["range", 4], ["flatMap", fn("asMany")], TAKE_ALL] },
  { name: "filter", steps: [["range", 7], ["filter", fn("isEven")], TAKE_ALL] },
  { name: "filter that keeps nothing", steps: [["range", 7], ["filter", fn("never")], ["count"]] },
  { name: "mapBatches", steps: [["range", 4], ["mapBatches", fn("double")], TAKE_ALL] },
  { name: "mapBatches with a batch size", steps: [["range", 10], ["repartition", 1], ["mapBatches", fn("sizeOf"), { batchSize: 4 }], TAKE_ALL] },
  { name: "mapBatches with a generator", steps: [["range", 4], ["repartition", 1], ["mapBatches", fn("halves"), { batchSize: 4 }], TAKE_ALL] },
  { name: "mapBatches with a class", steps: [["range", 4], ["mapBatches", fn("AddConstant"), { constructorArgs: [10], concurrency: 2 }], TAKE_ALL] },
  { name: "selectColumns", steps: [LETTERS, ["selectColumns", ["value", "key"]], TAKE_ALL] },
  { name: "selectColumns gives their order", steps: [LETTERS, ["selectColumns", ["value", "key"]], ["columns"]] },
  { name: "selectColumns of what is not there", steps: [LETTERS, ["selectColumns", ["nothing"]], TAKE_ALL] },
  { name: "dropColumns", steps: [LETTERS, ["dropColumns", ["other"]], TAKE_ALL] },
  { name: "renameColumns", steps: [LETTERS, ["renameColumns", { other: "another" }], TAKE_ALL] },
  { name: "dropColumns of what is not there", steps: [LETTERS, ["dropColumns", ["nothing"]], TAKE_ALL] },
  { name: "renameColumns of what is not there", steps: [LETTERS, ["renameColumns", { nothing: "something" }], TAKE_ALL] },
  { name: "map to texts", steps: [["range", 3], ["mapBatches", fn("rowsOfBatch")], TAKE_ALL] },
  { name: "map to nulls", steps: [["range", 5], ["map", fn("nullAtThree")], TAKE_ALL] },
  { name: "mapBatches of nothing", steps: [["range", 0], ["mapBatches", fn("double")], ["count"]] },
  { name: "mapBatches with several in a row", steps: [["range", 8], ["mapBatches", fn("AddConstant"), { constructorArgs: [1], concurrency: 1 }], ["filter", fn("isEven")], ["mapBatches", fn("double")], TAKE_ALL] },
  { name: "limit behind a filter", steps: [MANY, ["filter", fn("isEven")], ["limit", 2], TAKE_ALL] },
  { name: "limit below 0", differs: "Ray takes it for 0, ours is an error", steps: [["range", 3], ["limit", -1], TAKE_ALL] },
  { name: "limit", steps: [MANY, ["limit", 3], TAKE_ALL] },
  { name: "limit 0", steps: [MANY, ["limit", 0], ["count"]] },
  { name: "limit beyond the end", steps: [["range", 3], ["limit", 10], ["count"]] },
  { name: "union", differs: "ours follow each other; Ray takes a block of each in turn, also where the order is kept", steps: [["range", 2], ["union", dataset(["range", 1]), dataset(["range", 3])], TAKE_ALL] },
  { name: "union with nothing", steps: [["range", 2], ["union", dataset(["range", 0])], TAKE_ALL] },
  { name: "union of whole numbers and fractions", steps: [["fromItems", [{ x: 1 }]], ["union", dataset(["fromItems", [{ x: 0.5 }]])], ["sum", "x"]] },
  { name: "zip", steps: [["range", 4], ["zip", dataset(["range", 4], ["map", fn("nullAtThree")], ["selectColumns", ["value"]])], TAKE_ALL] },
  { name: "zip of equal names", steps: [["range", 3], ["zip", dataset(["range", 3])], TAKE_ALL] },
  { name: "zip of different lengths", steps: [["range", 3], ["zip", dataset(["range", 4])], TAKE_ALL] },
  { name: "repartition to 0 blocks", differs: "Ray loses all rows, ours is an error", steps: [["range", 3], ["repartition", 0], TAKE_ALL] },
  { name: "repartition of fewer rows than blocks", steps: [["range", 2], ["repartition", 5], TAKE_ALL] },
  { name: "randomSample of all", steps: [["range", 50], ["randomSample", 1, { seed: 1 }], ["count"]] },
  { name: "randomSample of none", steps: [["range", 50], ["randomSample", 0, { seed: 1 }], ["count"]] },
  { name: "randomSample of more than all", steps: [["range", 50], ["randomSample", 1.5], ["count"]] },
  { name: "randomizeBlockOrder keeps all rows", steps: [["range", 20], ["repartition", 5], ["randomizeBlockOrder", { seed: 3 }], TAKE_ALL], anyOrder: true },
  { name: "split", steps: [["range", 12], ["repartition", 4], ["split", 2], ["each", "count"]] },
  { name: "split into equal parts", steps: [["range", 11], ["split", 3, { equal: true }], ["each", "count"]] },
  { name: "split into more parts than rows", steps: [["range", 2], ["split", 3, { equal: true }], ["each", "count"]] },
  { name: "splitAtIndices", steps: [["range", 10], ["splitAtIndices", [2, 7]], ["each", "takeAll"]] },
  { name: "splitAtIndices beyond the end", steps: [["range", 4], ["splitAtIndices", [3, 9]], ["each", "count"]] },
  { name: "splitAtIndices that descend", steps: [["range", 4], ["splitAtIndices", [3, 1]], ["each", "count"]] },
  { name: "splitProportionately", steps: [["range", 10], ["splitProportionately", [0.2, 0.5]], ["each", "takeAll"]] },
  { name: "splitProportionately of too much", steps: [["range", 10], ["splitProportionately", [0.5, 0.5]], ["each", "count"]] },
  { name: "trainTestSplit", steps: [["range", 10], ["trainTestSplit", { testSize: 0.3 }], ["each", "takeAll"]] },
  { name: "trainTestSplit by a number of rows", steps: [["range", 10], ["trainTestSplit", { testSize: 4 }], ["each", "count"]] },
  { name: "trainTestSplit with strata", steps: [["range", 40], ["map", fn("residue")], ["filter", fn("isEven")], ["trainTestSplit", { testSize: 0.25, stratify: "residue" }], ["each", "count"]] },
  { name: "repartition keeps rows and order", steps: [["range", 10], ["repartition", 3], TAKE_ALL] },
  { name: "randomShuffle keeps all rows", steps: [["range", 20], ["randomShuffle", { seed: 7 }], TAKE_ALL], anyOrder: true },
  { name: "materialize", steps: [["range", 4], ["map", fn("square")], ["materialize"], TAKE_ALL] },
]; // biome-ignore format: a case a line

/** A scenario of each function of expressions, on the column `x`. In one block, as Ray has no functions for a block of nulls alone. */
const computing = (
  input: Step,
  calls: readonly (Step | readonly Step[])[],
  differs: Readonly<Record<string, string>> = {},
): readonly Case[] =>
  calls.map((given) => {
    const steps = (typeof given[0] === "string" ? [given] : given) as readonly Step[];
    const shown = steps.map(([name, ...args]) => `${name}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`).join(".");
    return {
      name: `expression ${shown}`,
      steps: [input, ["repartition", 1], ["withColumn", "made", expression("x", ...steps)], ["selectColumns", ["made"]], TAKE_ALL],
      ...(differs[shown] === undefined ? {} : { differs: differs[shown] }),
    };
  });
const EXPRESSION_TEXTS: Step = ["fromItems", ["Hello World", "it's 3rd", "", null, "aXa", "٣", " a b ", "a1b22"].map((x) => ({ x }))];
const EXPRESSION_LISTS: Step = ["fromItems", [[3, 1, null, 2], [], [5]].map((x) => ({ x }))];
const EXPRESSION_TIMES: Step = ["fromItems", ["2024-02-29T13:45:30.123", "1969-12-31T23:59:59.000", null].map((x) => ({ x }))];
const IN_TIME: Step = ["cast", "timestamp[ms]"];
const EXPRESSIONS: readonly Case[] = [
  ...computing(
    EXPRESSION_TEXTS,
    [
      ["str.length"],
      ["str.byteLength"],
      ["str.capitalize"],
      ["str.title"],
      ["str.swapCase"],
      ["str.reverse"],
      ["str.repeat", 2],
      ["str.center", 9, "*"],
      ["str.padStart", 6, "-"],
      ["str.trim"],
      ["str.trim", "ab "],
      ["str.trimStart", "aH"],
      ["str.find", "a"],
      ["str.count", "a"],
      ["str.findRegex", "[0-9]+"],
      ["str.countRegex", "[a-z]+"],
      ["str.matchRegex", "^a.*[0-9]$"],
      ["str.matchLike", "%a_b%"],
      ["str.replaceRegex", "[0-9]+", "#"],
      ["str.replaceSlice", 1, -1, "_"],
      ["str.split", "a"],
      ["str.splitRegex", "[0-9]"],
      ["str.splitWhitespace"],
      ["str.extract", "(?<letter>[a-z])(?<digits>[0-9]+)"],
      ["str.isAlpha"],
      ["str.isAlnum"],
      ["str.isDigit"],
      ["str.isDecimal"],
      ["str.isNumeric"],
      ["str.isSpace"],
      ["str.isLower"],
      ["str.isUpper"],
      ["str.isTitle"],
      ["str.isPrintable"],
      ["str.isAscii"],
    ],
    {
      'str.replaceSlice(1, -1, "_")': "Ray cuts bytes, so it breaks a character in two, which is an error",
    },
  ),
  ...computing(EXPRESSION_LISTS, [
    ["list.length"],
    ["list.slice", 1],
    ["list.slice", 0, 3, 2],
    ["list.sort"],
    ["list.sort", { descending: true, nulls: "first" }],
  ]),
  ...computing(["fromItems", [{ x: [[1, 2], [], [3]] }, { x: [] }]], [["list.flatten"]]),
  ...computing(
    [
      "fromItems",
      [
        {
          x: [
            { key: "a", value: 1 },
            { key: "b", value: 2 },
          ],
        },
        { x: [] },
      ],
    ],
    [["map.keys"], ["map.values"]],
  ),
  ...computing(EXPRESSION_TIMES, [
    ...(["year", "quarter", "month", "week", "day", "hour", "minute", "second"] as const).flatMap((unit) => [
      [IN_TIME, ["dt.floor", unit]] as const,
      [IN_TIME, ["dt.ceil", unit]] as const,
      [IN_TIME, ["dt.round", unit]] as const,
    ]),
    [IN_TIME, ["dt.strftime", "%Y-%m-%d %H:%M:%S %j %a %b %p %I %U %V %G"]],
  ]),
  ...computing(EXPRESSION_TIMES, [[IN_TIME, ["dt.floor", "month"], ["dt.ceil", "month"]]], {
    'cast("timestamp[ms]").dt.floor("month").dt.ceil("month")':
      "what begins a month stays in ours, and goes to the next in Ray, which leaves the beginnings of weeks and days",
  }),
];

const ORDER: readonly Case[] = [
  { name: "sort", steps: [["fromItems", [3, 1, 2]], ["sort", "item"], TAKE_ALL] },
  { name: "sort descending", steps: [["fromItems", [3, 1, 2]], ["sort", "item", { descending: true }], TAKE_ALL] },
  { name: "sort by two keys", steps: [LETTERS, ["sort", ["key", "value"]], TAKE_ALL] },
  { name: "sort by two keys in two directions", steps: [LETTERS, ["sort", ["key", "value"], { descending: [true, false] }], TAKE_ALL] },
  { name: "sort of texts", steps: [["fromItems", ["b", "a", "B", "é", "z", "10", "9", ""]], ["sort", "item"], TAKE_ALL] },
  { name: "sort with nulls", steps: [WITH_NULLS, ["selectColumns", ["value"]], ["sort", "value"], TAKE_ALL] },
  { name: "sort with nulls, descending", steps: [WITH_NULLS, ["selectColumns", ["value"]], ["sort", "value", { descending: true }], TAKE_ALL] },
  { name: "sort with NaN", steps: [WITH_NAN, ["sort", "x"], TAKE_ALL] },
  { name: "sort by a key with nulls, and another", steps: [MANY, ["limit", 20], ["map", fn("keyOfFour")], ["sort", ["key", "id"]], TAKE_ALL] },
  { name: "sort by a key with nulls and another, in two directions", steps: [MANY, ["limit", 20], ["map", fn("keyOfFour")], ["sort", ["key", "id"], { descending: [true, false] }], TAKE_ALL] },
  { name: "sort by two keys with nulls", steps: [MANY, ["limit", 20], ["map", fn("keyOfFour")], ["selectColumns", ["key", "value"]], ["sort", ["key", "value"]], TAKE_ALL] },
  { name: "sort of nothing", steps: [["range", 0], ["sort", "id"], ["count"]] },
  { name: "sort, and the first", steps: [MANY, ["sort", "id", { descending: true }], ["limit", 2], TAKE_ALL] },
  { name: "sort of booleans", steps: [["fromItems", [true, false, true]], ["sort", "item"], TAKE_ALL] },
  { name: "sort with too few directions", steps: [LETTERS, ["sort", ["key", "value"], { descending: [true] }], TAKE_ALL] },
  { name: "sort by what is not there", steps: [LETTERS, ["sort", "nothing"], TAKE_ALL] },
]; // biome-ignore format: a case a line

const GROUPS: readonly Case[] = [
  { name: "groupBy count", steps: grouped(LETTERS, "count") },
  { name: "groupBy sum, with nulls", steps: grouped(WITH_NULLS, "sum", "value") },
  { name: "groupBy min, with nulls", steps: grouped(WITH_NULLS, "min", "value") },
  { name: "groupBy max, with nulls", steps: grouped(WITH_NULLS, "max", "value") },
  { name: "groupBy mean, with nulls", steps: grouped(WITH_NULLS, "mean", "value") },
  { name: "groupBy std is the sample's", steps: grouped(LETTERS, "std", "value") },
  { name: "groupBy std of one value", differs: "null, as SQL has it, where Ray gives NaN; both give null of no value", steps: grouped(WITH_NULLS, "std", "value") },
  { name: "groupBy absMax", steps: grouped(WITH_NULLS, "absMax", "value") },
  { name: "groupBy quantile", steps: grouped(LETTERS, "quantile", "value", 0.5) },
  { name: "groupBy countDistinct", steps: grouped(LETTERS, "countDistinct", "other") },
  { name: "groupBy asList", steps: grouped(LETTERS, "asList", "value") },
  { name: "groupBy missingValuePercentage", steps: grouped(WITH_NULLS, "missingValuePercentage", "value") },
  { name: "groupBy zeroPercentage", steps: grouped(LETTERS, "zeroPercentage", "value") },
  { name: "groupBy count of a column, with nulls", steps: grouped(WITH_NULLS, "count", "value") },
  { name: "groupBy quantile, with nulls", steps: grouped(WITH_NULLS, "quantile", "value", 0.5) },
  ...["sum", "min", "max", "mean", "absMax"].map((kind) => ({ name: `groupBy ${kind}, null where a value is`, steps: grouped(WITH_NULLS, kind, "value", { ignoreNulls: false }) })),
  { name: "groupBy count of values", steps: grouped(WITH_NULLS, "count", "value", { ignoreNulls: true }) },
  { name: "groupBy std of all values that there are", steps: grouped(LETTERS, "std", "value", { ddof: 0 }) },
  { name: "groupBy countDistinct, with null", steps: grouped(WITH_NULLS, "countDistinct", "value", { ignoreNulls: false }) },
  { name: "groupBy zeroPercentage of all rows", steps: grouped(WITH_NULLS, "zeroPercentage", "value", { ignoreNulls: false }) },
  { name: "groupBy valueCounter", differs: "nulls are no values in ours", steps: grouped(WORDS, "valueCounter", "value") },
  { name: "groupBy approxTopK", steps: grouped(WORDS, "approxTopK", "value", 2) },
  { name: "groupBy approxQuantile", steps: grouped(LETTERS, "approxQuantile", "value", [0, 0.25, 0.5, 0.75, 1]) },
  { name: "approxQuantile of few", steps: [MANY, ["limit", 300], ["aggregate", { result: aggregate("approxQuantile", "id", [0.1, 0.5, 0.9]) }]] },
  { name: "groupBy quantile between values", steps: grouped(LETTERS, "quantile", "value", 0.3) },
  { name: "groupBy asList, with nulls", differs: "nulls are no values in ours, in no aggregate; in Ray they are in this one", steps: grouped(WITH_NULLS, "asList", "value") },
  { name: "groupBy unique", steps: grouped(["fromItems", [{ key: "a", value: 1 }, { key: "b", value: 2 }, { key: "a", value: 1 }]], "unique", "value") },
  { name: "groupBy absMax, with nulls", steps: grouped(WITH_NULLS, "absMax", "value") },
  { name: "groupBy min of texts", steps: [LETTERS, ["groupBy", "other"], ["aggregate", { first: aggregate("min", "key"), last: aggregate("max", "key") }], ["sort", "other"], TAKE_ALL] },
  { name: "groupBy with all aggregates of nulls", steps: [MANY, ["limit", 60], ["map", fn("keyOfFour")], ["groupBy", "key"], ["aggregate", { n: aggregate("count"), values: aggregate("count", "value"), sum: aggregate("sum", "value"), mean: aggregate("mean", "value"), std: aggregate("std", "value"), min: aggregate("min", "value"), max: aggregate("max", "value") }], ["sort", "key"], TAKE_ALL] },
  { name: "groupBy of what is not there", steps: [LETTERS, ["groupBy", "nothing"], ["count"], TAKE_ALL] },
  { name: "a sum of what is not there", steps: [LETTERS, ["groupBy", "key"], ["sum", "nothing"], TAKE_ALL] },
  { name: "groupBy two keys", steps: [LETTERS, ["groupBy", ["key", "other"]], ["count"], ["sort", ["key", "other"]], TAKE_ALL] },
  { name: "a null key", steps: [["fromItems", [{ k: "a" }, { k: null }, { k: "a" }]], ["groupBy", "k"], ["count"], TAKE_ALL], anyOrder: true },
  { name: "groupBy in a number of partitions", steps: [MANY, ["map", fn("residue")], ["groupBy", "residue", { numPartitions: 2 }], ["count"], ["sort", "residue"], TAKE_ALL] },
  { name: "sort with boundaries", steps: [["range", 15], ["sort", "id", { boundaries: [10, 5] }], TAKE_ALL] },
  { name: "sort with boundaries, descending", steps: [["range", 15], ["sort", "id", { boundaries: [5, 10], descending: true }], TAKE_ALL] },
  { name: "groupBy names its column", steps: [LETTERS, ["groupBy", "key"], ["sum", "value"], ["columns"]] },
  { name: "mapGroups", steps: [LETTERS, ["groupBy", "key"], ["mapGroups", fn("groupSize")], ["sort", "key"], TAKE_ALL] },
  { name: "mapGroups of many", steps: [MANY, ["map", fn("residue")], ["renameColumns", { residue: "key", id: "value" }], ["groupBy", "key"], ["mapGroups", fn("largest")], ["sort", "key"], TAKE_ALL] },
  { name: "groupBy of no rows", steps: [MANY, ["filter", fn("never")], ["groupBy", "id"], ["count"], ["count"]] },
  { name: "groupBy of residues", steps: [MANY, ["map", fn("residue")], ["groupBy", "residue"], ["aggregate", { n: aggregate("count"), sum: aggregate("sum", "id") }], ["sort", "residue"], TAKE_ALL] },
  { name: "sum", steps: [MANY, ["sum", "id"]] },
  { name: "min", steps: [WITH_NULLS, ["min", "value"]] },
  { name: "max", steps: [WITH_NULLS, ["max", "value"]] },
  { name: "mean", steps: [MANY, ["mean", "id"]] },
  { name: "std", steps: [["range", 5], ["std", "id"]] },
  { name: "std of all values that there are", steps: [["range", 5], ["aggregate", { std: aggregate("std", "id", { ddof: 0 }) }]] },
  { name: "sum with nulls", steps: [WITH_NULLS, ["sum", "value"]] },
  { name: "sum of texts", steps: [LETTERS, ["sum", "key"]] },
  { name: "sum of no rows", steps: [["range", 0], ["sum", "id"]] },
  { name: "mean with nulls", steps: [WITH_NULLS, ["mean", "value"]] },
  { name: "min of texts", steps: [LETTERS, ["min", "key"]] },
  { name: "unique with nulls", differs: "nulls are no values in ours", steps: [WITH_NULLS, ["unique", "value"]], anyOrder: true },
  { name: "unique", steps: [LETTERS, ["unique", "key"]], anyOrder: true },
  { name: "aggregate of all rows", steps: [LETTERS, ["aggregate", { n: aggregate("count"), largest: aggregate("max", "value") }]] },
]; // biome-ignore format: a case a line

const JOINS = ["inner", "left", "right", "full", "leftSemi", "rightSemi", "leftAnti", "rightAnti"] as const;
const LEFT_KEYS: Step = [
  "fromItems",
  [
    { key: "a", n: 1, x: 1 },
    { key: "a", n: 2, x: 2 },
    { key: null, n: 1, x: 3 },
    { key: "b", n: 1, x: 4 },
  ],
];
const RIGHT_KEYS: Step = [
  "fromItems",
  [
    { key: "a", n: 1, y: 5 },
    { key: null, n: 1, y: 6 },
    { key: "c", n: 1, y: 7 },
    { key: "a", n: 1, y: 8 },
  ],
];
const OTHER_NAMES: Step = [
  "fromItems",
  [
    { city: 1, name: "Rome" },
    { city: 7, name: "Lima" },
  ],
];
const joined = (left: Step, right: Step, options: object): Pick<Case, "steps" | "anyOrder"> => ({
  steps: [left, ["join", dataset(right), options], TAKE_ALL],
  anyOrder: true,
});

const JOINING: readonly Case[] = [
  ...JOINS.map((type) => ({ name: `a join of type ${type}`, ...joined(RIDES, CITIES, { on: "id", type }) })),
  ...JOINS.map((type) => ({ name: `a join by two keys with nulls of type ${type}`, ...joined(LEFT_KEYS, RIGHT_KEYS, { on: ["key", "n"], type }) })),
  { name: "a join by keys of other names", ...joined(RIDES, OTHER_NAMES, { on: "id", rightOn: "city", type: "inner" }) },
  { name: "a join with a suffix", ...joined(RIDES, RIDES, { on: "id", type: "inner", rightSuffix: "Again" }) },
  { name: "a join of equal names without a suffix", ...joined(RIDES, RIDES, { on: "id", type: "inner" }) },
  { name: "a join by what is not there", ...joined(RIDES, CITIES, { on: "nothing", type: "inner" }) },
  { name: "a join with keys of other types", ...joined(RIDES, ["fromItems", [{ id: "1", city: "Rome" }]], { on: "id", type: "inner" }) },
  { name: "a join with nothing in common", ...joined(RIDES, ["fromItems", [{ id: 70, city: "Rome" }]], { on: "id", type: "inner" }) },
  { name: "a join of many", steps: [MANY, ["join", dataset(MANY, ["map", fn("residue")]), { on: "id", type: "inner" }], ["groupBy", "residue"], ["count"], ["sort", "residue"], TAKE_ALL] },
]; // biome-ignore format: a case a line

const MOMENTS: readonly Step[] = [
  ["fromItems", ["2024-02-29T13:45:30.000", "1969-12-31T23:59:59.000", null].map((x) => ({ x }))],
  ["repartition", 1],
  ["withColumn", "made", expression("x", IN_TIME)],
  ["selectColumns", ["made"]],
];
const SUMMARIES: readonly Case[] = [
  { name: "summary of numbers", steps: [MANY, ["limit", 300], ["map", fn("square")], ["summary"]] },
  { name: "summary of numbers with nulls", steps: [WITH_NULLS, ["summary", { columns: ["value"] }]] },
  { name: "summary of numbers with NaN", steps: [WITH_NAN, ["summary"]] },
  { name: "summary of whole numbers in several blocks", steps: [["range", 10], ["union", dataset(["fromItems", [{ id: 3 }, { id: null }]])], ["summary"]] },
  { name: "summary of texts", steps: [["fromItems", ["x", "y", "x", "x", null, "y", ""].map((t) => ({ t }))], ["summary"]] },
  { name: "summary of moments", steps: [...MOMENTS, ["summary"]] },
  { name: "summary of some columns", steps: [WORDS, ["summary", { columns: ["n"] }]] },
  { name: "summary of columns of all types", steps: [WORDS, ["selectColumns", ["value", "n"]], ["filter", fn("hasText")], ["summary"]] },
  { name: "summary of no rows", steps: [MANY, ["repartition", 1], ["filter", expression("id", ["lt", 0])], ["summary"]] },
  { name: "summary of what is not there", steps: [MANY, ["summary", { columns: ["nothing"] }]] },
  { name: "summary of no columns", steps: [MANY, ["summary", { columns: [] }]] },
  { name: "summary of booleans", differs: "Ray has no extremes of booleans, and fails", steps: [["fromItems", [{ b: true }, { b: false }]], ["summary"]] },
  { name: "summary of nulls", differs: "ours tells how many are missing, too", steps: [["fromItems", [{ n: null }, { n: null }]], ["summary"]] },
  { name: "summary of lists", differs: "lists are no keys in ours, so there are no most frequent ones", steps: [["fromItems", [{ l: [1] }, { l: [1] }]], ["summary"]] },
  { name: "summary of whole numbers beyond 2^53", differs: "Ray fails on them", steps: [["file", "a.csv", "n\n9007199254740993\n-5\n"], ["readCsv", path("a.csv")], ["summary"]] },
]; // biome-ignore format: a case a line

const CONSUMING: readonly Case[] = [
  { name: "count", steps: [MANY, ["count"]] },
  { name: "take", steps: [MANY, ["take", 3]] },
  {
    name: "take beyond the end",
    steps: [
      ["range", 2],
      ["take", 5],
    ],
  },
  {
    name: "takeAll with a limit",
    steps: [
      ["range", 3],
      ["takeAll", { limit: 3 }],
    ],
  },
  { name: "takeAll of more than its limit", steps: [MANY, ["takeAll", { limit: 3 }]] },
  { name: "takeBatch", steps: [MANY, ["takeBatch", 3]] },
  {
    name: "iterBatches",
    steps: [
      ["range", 10],
      ["iterBatches", { batchSize: 4 }],
    ],
  },
  {
    name: "iterBatches without the last",
    steps: [
      ["range", 10],
      ["iterBatches", { batchSize: 4, dropLast: true }],
    ],
  },
  { name: "stats of what has run", steps: [["range", 10], ["materialize"], ["stats"]] },
  {
    name: "iterBatches of nothing",
    steps: [
      ["range", 0],
      ["iterBatches", { batchSize: 4 }],
    ],
  },
  {
    name: "take of none",
    steps: [
      ["range", 5],
      ["take", 0],
    ],
  },
  { name: "count behind a filter", steps: [MANY, ["filter", fn("isEven")], ["count"]] },
  {
    name: "an error in the constructor of a class",
    steps: [["range", 5], ["mapBatches", fn("FailsToStart"), { concurrency: 1 }], TAKE_ALL],
  },
  { name: "a batch that is none", steps: [["range", 2], ["mapBatches", fn("noBatch")], TAKE_ALL] },
  { name: "an error behind an exchange", steps: [["range", 20], ["repartition", 3], ["map", fn("failAtThree")], TAKE_ALL] },
  { name: "an error before a sort", steps: [["range", 20], ["map", fn("failAtThree")], ["sort", "id"], TAKE_ALL] },
  {
    name: "count of a map that fails",
    differs: "Ray does not call the function, as it gives a row for each; ours does",
    steps: [["range", 5], ["map", fn("failAtThree")], ["count"]],
  },
  {
    name: "an error before a write",
    steps: [["range", 20], ["map", fn("failAtThree")], ["writeCsv", path("out")], ["readCsv", path("out")], ["count"]],
  },
  { name: "an error of the user's function", steps: [["range", 5], ["map", fn("failAtThree")], TAKE_ALL] },
  { name: "a row that is none", steps: [["range", 2], ["map", fn("noRow")], TAKE_ALL] },
  { name: "columns of different lengths", steps: [["range", 2], ["repartition", 1], ["mapBatches", fn("uneven")], TAKE_ALL] },
];

const FILES: readonly Case[] = [
  { name: "csv, written and read", steps: roundTrip("Csv", LETTERS) },
  { name: "json, written and read", steps: roundTrip("Json", LETTERS) },
  { name: "parquet, written and read", steps: roundTrip("Parquet", WITH_NULLS) },
  { name: "csv with nulls, written and read", steps: roundTrip("Csv", WITH_NULLS) },
  { name: "json with nulls, written and read", steps: roundTrip("Json", WITH_NULLS) },
  { name: "csv that pandas wrote", differs: "an empty field of a text is null, as pandas wrote it; Ray reads an empty text, which ours is where it is in quotes", steps: fixture("readCsv", "pandas.csv") },
  { name: "json lines that pandas wrote", steps: fixture("readJson", "pandas.jsonl") },
  { name: "parquet that pandas wrote", steps: fixture("readParquet", "pandas.parquet") },
  ...["snappy", "zstd", "gzip"].map((codec) => ({ name: `nested parquet of pyarrow, ${codec}`, steps: fixture("readParquet", `nested-${codec}.parquet`) })),
  { name: "two columns of a parquet file", steps: fixture("readParquet", "nested-zstd.parquet", { columns: ["id", "flag"] }) },
  { name: "text, a line a row", steps: [["file", "a.txt", "one\ntwo\n\nthree\n"], ["readText", path("a.txt")], TAKE_ALL] },
  { name: "text with ends of lines of Windows", steps: [["file", "a.txt", "one\r\ntwo\r\n"], ["readText", path("a.txt")], TAKE_ALL] },
  { name: "whole files as bytes", steps: [["file", "a.bin", "12345"], ["readBinaryFiles", path("a.bin")], TAKE_ALL] },
  { name: "types of csv columns", steps: [["file", "a.csv", "n,x,t,b\n1,1.5,abc,true\n2,,def,false\n"], ["readCsv", path("a.csv")], TAKE_ALL] },
  { name: "types of csv columns, by name", steps: [["file", "a.csv", "n,x,t,b,d,e\n1,1.5,abc,true,2026-01-02,\n2,,def,false,2026-01-03,\n"], ["readCsv", path("a.csv")], ["types"]] },
  { name: "days and moments in csv", differs: "a day is a Date at its midnight", steps: [["file", "a.csv", "d,t\n2026-01-02,2026-01-02T03:04:05\n,\n"], ["readCsv", path("a.csv")], TAKE_ALL] },
  { name: "whole numbers and fractions in csv", steps: [["file", "a.csv", "x\n1\n2.5\n"], ["readCsv", path("a.csv")], ["types"]] },
  { name: "types of files that differ", steps: [["file", "d/a.csv", "x\n1\n"], ["file", "d/b.csv", "x\n\n2.5\n"], ["readCsv", path("d")], ["sum", "x"]] },
  { name: "csv with a header alone", steps: [["file", "a.csv", "a,b\n"], ["readCsv", path("a.csv")], ["count"]] },
  { name: "an empty csv file", differs: "no rows; Ray raises an error", steps: [["file", "a.csv", ""], ["readCsv", path("a.csv")], ["count"]] },
  { name: "an empty json file", steps: [["file", "a.jsonl", ""], ["readJson", path("a.jsonl")], ["count"]] },
  { name: "json that is cut off", steps: [["file", "a.jsonl", '{"a": 1}\n{"a": '], ["readJson", path("a.jsonl")], ["count"]] },
  { name: "json with fields that some lines lack", steps: [["file", "a.jsonl", '{"a": 1}\n{"b": 2}\n'], ["readJson", path("a.jsonl")], TAKE_ALL] },
  { name: "json with lists and objects", steps: [["file", "a.jsonl", '{"a": [1, 2], "b": {"c": "x"}}\n{"a": [], "b": {"c": null}}\n'], ["readJson", path("a.jsonl")], TAKE_ALL] },
  { name: "parquet that is none", steps: [["file", "a.parquet", "PAR0 and more that is no footer"], ["readParquet", path("a.parquet")], ["count"]] },
  { name: "types of a parquet file", steps: [["fixture", "nested-zstd.parquet", "nested-zstd.parquet"], ["readParquet", path("nested-zstd.parquet")], ["selectColumns", ["id", "when", "flag"]], ["types"]] },
  { name: "columns of parquet that are not there", differs: "Ray gives a column of its own with nulls", steps: fixture("readParquet", "nested-zstd.parquet", { columns: ["nothing"] }) },
  { name: "parquet, sorted, written and read", steps: roundTrip("Parquet", MANY, ["limit", 30], ["map", fn("keyOfFour")], ["sort", ["key", "id"]]) },
  { name: "csv of texts that need quotes", steps: roundTrip("Csv", ["fromItems", [{ t: 'a "b", c', n: 1 }, { t: "two\nlines", n: 2 }, { t: "é", n: 3 }]]) },
  { name: "an empty dataset, written and read", steps: [MANY, ["filter", fn("never")], ["writeParquet", path("out")], ["readParquet", path("out")], ["count"]] },
  { name: "a quoted empty text in csv", steps: [["file", "a.csv", 'a,b\n1,""\n2,x\n'], ["readCsv", path("a.csv")], TAKE_ALL] },
  { name: "leading zeros in csv", differs: "007 is a text, as nothing of a file is lost", steps: [["file", "a.csv", "zip\n007\n123\n"], ["readCsv", path("a.csv")], TAKE_ALL] },
  { name: "a record of csv that is too short", steps: [["file", "a.csv", "a,b\n1,2\n3\n"], ["readCsv", path("a.csv")], TAKE_ALL] },
  { name: "a folder, in the order of its paths", steps: [["file", "d/b.csv", "a\n2\n"], ["file", "d/a.csv", "a\n1\n"], ["readCsv", path("d")], TAKE_ALL] },
  { name: "paths as a column", steps: [["file", "d/a.csv", "a\n1\n"], ["readCsv", path("d/a.csv"), { includePaths: true }], TAKE_ALL] },
  { name: "hive partitions", steps: [["file", "d/city=Rome/a.csv", "a\n1\n"], ["file", "d/city=Oslo/a.csv", "a\n2\n"], ["readCsv", path("d")], TAKE_ALL], anyOrder: true },
  { name: "hive partitions of numbers", differs: "2026 in a path is a number; Ray gives a text", steps: [["file", "d/year=2026/a.csv", "a\n1\n"], ["readCsv", path("d")], TAKE_ALL] },
  { name: "partitioning none", steps: [["file", "d/year=2026/a.csv", "a\n1\n"], ["readCsv", path("d"), { partitioning: "none" }], TAKE_ALL] },
  { name: "partitionBy, read back", steps: [LETTERS, ["writeParquet", path("out"), { partitionBy: ["key"] }], ["readParquet", path("out")], ["selectColumns", ["key", "value"]], TAKE_ALL], anyOrder: true },
  { name: "a path that is not there", steps: [["readCsv", path("nothing.csv")], TAKE_ALL] },
  { name: "write mode append", steps: [LETTERS, ["writeCsv", path("out")], LETTERS, ["writeCsv", path("out"), { mode: "append" }], ["readCsv", path("out")], ["count"]] },
  { name: "write mode overwrite", steps: [LETTERS, ["writeCsv", path("out")], LETTERS, ["writeCsv", path("out"), { mode: "overwrite" }], ["readCsv", path("out")], ["count"]] },
  { name: "write mode error", steps: [LETTERS, ["writeCsv", path("out")], LETTERS, ["writeCsv", path("out"), { mode: "error" }]] },
  { name: "write mode create", steps: [LETTERS, ["writeCsv", path("out"), { mode: "create" }], MANY, ["writeCsv", path("out"), { mode: "create" }]] },
  { name: "write mode ignore", steps: [LETTERS, ["writeCsv", path("out")], MANY, ["writeCsv", path("out"), { mode: "ignore" }], ["readCsv", path("out")], ["count"]] },
]; // biome-ignore format: a case a line

const SECTIONS: Readonly<Record<string, readonly Case[]>> = {
  "3.1 Sources": SOURCES,
  "3.2 Transforms": TRANSFORMS,
  "3.2 Expressions": EXPRESSIONS,
  "3.3 Order": ORDER,
  "3.3 Groups": GROUPS,
  "3.3 Joins": JOINING,
  "3.3 Summaries": SUMMARIES,
  "3.4 Consuming": CONSUMING,
  "3.5 Files": FILES,
};

export const scenarios: readonly Scenario[] = Object.entries(SECTIONS).flatMap(([section, cases]) =>
  cases.map(({ steps, anyOrder, ...scenario }) => ({
    section: `Data ${section}`,
    ...scenario,
    run: async (system) => {
      const outcome = await system.dataset(steps);
      return anyOrder === true ? inOneOrder(outcome) : outcome;
    },
  })),
);

function inOneOrder(outcome: Outcome): Outcome {
  if (!("value" in outcome)) return outcome;
  const sorted = (outcome.value as object[]).map((row) => [keyOf(row), row] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  return { value: sorted.map(([, row]) => row) };
}

function keyOf(row: object): string {
  return typeof row === "object" ? JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))) : String(row);
}
