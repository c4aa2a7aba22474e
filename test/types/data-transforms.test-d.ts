/** Transforms of datasets: the rows that functions and classes make, and what each of them may be given. */
import * as data from "../../src/data/index.ts";
import { exactly } from "./api.ts";

declare const texts: data.Dataset<{ text: string; size: number }>;

// --- Functions ---------------------------------------------------------------------------------------------------------

exactly<data.Dataset<{ length: number }>>()(texts.map(({ text }) => ({ length: text.length })));
exactly<data.Dataset<{ length: number }>>()(texts.map(async ({ text }) => ({ length: text.length })));
exactly<data.Dataset<{ word: string }>>()(texts.flatMap(({ text }) => text.split(" ").map((word) => ({ word }))));
exactly<data.Dataset<{ text: string; size: number }>>()(texts.filter(({ size }) => size > 1));
texts.map(({ size }) => ({ size }), { concurrency: 2, numCpus: 0.5 });
// @ts-expect-error: a row is an object
texts.map(({ size }) => size);
// @ts-expect-error: there is no such column
texts.map(({ other }) => ({ other }));
// @ts-expect-error: functions have no constructor
texts.map(({ size }) => ({ size }), { constructorArgs: [1] });
// @ts-expect-error: tasks are so many and no fewer
texts.map(({ size }) => ({ size }), { concurrency: { min: 1, max: 2 } });

const squares = texts.mapBatches(({ size }) => ({ square: Float64Array.from(size, (x) => x * x) }));
const square: number = (await squares.take(1))[0]?.square ?? 0;
texts.mapBatches((rows) => rows.map(({ size }) => ({ half: size / 2, square })), { batchFormat: "rows", batchSize: 10 });

// --- Classes -----------------------------------------------------------------------------------------------------------

class Embed {
  readonly #model: string;

  constructor(model: string) {
    this.#model = model;
  }

  call(batch: data.Batch<{ text: string }>) {
    return { ...batch, model: batch.text.map(() => this.#model), length: Float64Array.from(batch.text, (text) => text.length) };
  }
}

const embedded = texts.mapBatches(Embed, { constructorArgs: ["small"], batchSize: 256, concurrency: { min: 1, max: 4 }, numCpus: 1 });
const [row] = await embedded.take(1);
exactly<string | undefined>()(row?.text);
exactly<number | undefined>()(row?.length);
exactly<string | undefined>()(row?.model);
texts.mapBatches(Embed, { constructorArgs: ["small"], compute: new data.ActorPoolStrategy({ minSize: 1, maxSize: 2 }), maxRestarts: 2 });
// @ts-expect-error: its constructor takes an argument
texts.mapBatches(Embed);
// @ts-expect-error: of another type
texts.mapBatches(Embed, { constructorArgs: [1] });
// @ts-expect-error: the pool has no such option
texts.mapBatches(Embed, { constructorArgs: ["small"], name: "one" });
// @ts-expect-error: the dataset has no such column
data.range(3).mapBatches(Embed, { constructorArgs: ["small"] });

class Shout {
  call({ text }: { text: string }) {
    return { loud: text.toUpperCase() };
  }
}
exactly<string | undefined>()((await texts.map(Shout).take(1))[0]?.loud);
exactly<string | undefined>()((await texts.map(Shout, { concurrency: 2 }).take(1))[0]?.loud);
// @ts-expect-error: of another column
data.range(3).map(Shout);

class Later {
  async call({ size }: { size: number }) {
    return { next: size + 1 };
  }
}
exactly<number | undefined>()((await texts.map(Later).take(1))[0]?.next);

class Words {
  *call({ text }: { text: string }) {
    for (const word of text.split(" ")) yield { word };
  }
}
exactly<string | undefined>()((await texts.flatMap(Words).take(1))[0]?.word);

class WordLists {
  async call({ text }: { text: string }) {
    return text.split(" ").map((word) => ({ word }));
  }
}
exactly<string | undefined>()((await texts.flatMap(WordLists).take(1))[0]?.word);

class Long {
  call({ text }: { text: string }) {
    return text.length > 10;
  }
}
exactly<data.Dataset<{ text: string; size: number }>>()(texts.filter(Long, { concurrency: 1 }));

class Halves {
  async *call(rows: readonly { size: number }[]) {
    for (const { size } of rows) yield [{ half: size / 2 }];
  }
}
exactly<number | undefined>()((await texts.mapBatches(Halves, { batchFormat: "rows" }).take(1))[0]?.half);

class NoCall {
  run(): void {}
}
// @ts-expect-error: no method call
texts.map(NoCall);

// --- Joins ---------------------------------------------------------------------------------------------------------------

declare const sizes: data.Dataset<{ size: number; name: string; text: number }>;

const joined = texts.join(sizes, { on: "size", rightSuffix: "Right" });
type Values<T> = T extends data.Dataset<infer Row> ? { [Name in keyof Row]: Row[Name] } : never;
declare const joinedRow: Values<typeof joined>;
exactly<{ text: string; size: number; name: string; textRight: number }>()(joinedRow);
const outer = texts.join(sizes, { on: "size", type: "full", leftSuffix: "Left" });
declare const outerRow: Values<typeof outer>;
exactly<{ textLeft: string | null; size: number; name: string | null; text: number | null }>()(outerRow);
exactly<string | undefined>()((await texts.join(sizes, { on: "text", rightOn: "name", type: "leftAnti" }).take(1))[0]?.text);
// @ts-expect-error: there is no such column on this side
texts.join(sizes, { on: "name" });
// @ts-expect-error: there is no such column on the other side
texts.join(sizes, { on: "size", rightOn: "other" });
// @ts-expect-error: there is no such type
texts.join(sizes, { on: "size", type: "outer" });

// --- Groups ------------------------------------------------------------------------------------------------------------

const perText = texts.groupBy("text");
exactly<data.GroupedDataset<{ text: string; size: number }, "text">>()(perText);
exactly<string | undefined>()((await perText.aggregate({ n: data.count() }).take(1))[0]?.text);
exactly<number | undefined>()((await perText.aggregate({ n: data.count() }).take(1))[0]?.n);
exactly<number | null | undefined>()((await perText.sum("size").sort("sum(size)").take(1))[0]?.["sum(size)"]);
/** Aggregates name columns of the rows, and give values of their types. */
declare const visits: data.Dataset<{ city: string | null; at: Date; km: number | null; id: bigint; price: string }>;
const aggregates = {
  last: data.max("at"),
  least: data.min("city"),
  km: data.sum("km"),
  ids: data.sum("id"),
  price: data.sum("price"),
  mean: data.mean("km"),
  list: data.asList("km"),
  all: data.asList("km", { ignoreNulls: false }),
  cities: data.unique("city"),
  top: data.approxTopK("city", 3),
  counts: data.valueCounter("at"),
  rows: data.count(),
  own: data.aggregator({ init: () => [""], accumulateRow: (state: string[]) => state, merge: (a) => a }),
};
interface Visits {
  last: Date | null;
  least: string | null;
  km: number | null;
  ids: bigint | null;
  price: string | null;
  mean: number | null;
  list: number[];
  all: (number | null)[];
  cities: string[];
  top: data.FrequentValue<string>[];
  counts: data.ValueCounts<Date>;
  rows: number;
  own: string[];
}
const visited = visits.groupBy("id").aggregate(aggregates);
declare const visitedRow: Values<typeof visited>;
exactly<Values<data.Dataset<{ id: bigint } & Visits>>>()(visitedRow);
const all = await visits.aggregate(aggregates);
exactly<Date | null>()(all.last);
exactly<bigint | null>()(await visits.sum("id"));
exactly<Date | null>()(await visits.max("at"));
exactly<bigint | null | undefined>()((await visits.groupBy("city").sum("id").take(1))[0]?.["sum(id)"]);
/** Whether nulls are in a list is known at run time alone. */
declare const leavesOut: boolean;
declare const nullOptions: data.NullOptions;
const lists = await visits.aggregate({
  left: data.asList("km", { ignoreNulls: true }),
  some: data.asList("km", { ignoreNulls: leavesOut }),
  any: data.unique("km", nullOptions),
  distinct: data.unique("km", { ignoreNulls: leavesOut }),
});
exactly<number[]>()(lists.left);
exactly<(number | null)[]>()(lists.some);
exactly<(number | null)[]>()(lists.any);
exactly<(number | null)[]>()(lists.distinct);
/** A column that not all rows have is null in the others, and never undefined. */
declare const partial: data.Dataset<{ km?: number }>;
const parts = await partial.aggregate({ last: data.max("km"), list: data.asList("km") });
exactly<number | null>()(parts.last);
exactly<number[]>()(parts.list);
exactly<number | null>()(await partial.max("km"));
exactly<number | null>()(await partial.min("km"));
/** A name that is known at run time alone: values are those of a dataset without types. */
declare const someName: string;
const named = await visits.aggregate({ sum: data.sum(someName), mean: data.mean(someName), list: data.asList(someName) });
exactly<number | null>()(named.sum);
exactly<number | null>()(named.mean);
exactly<any[]>()(named.list);
exactly<number | null | undefined>()(
  (
    await visits
      .groupBy("id")
      .aggregate({ km: data.sum(someName) })
      .take(1)
  )[0]?.km,
);
declare const untyped: data.Dataset;
exactly<number | null>()((await untyped.aggregate({ km: data.sum("km"), last: data.max("at") })).km);
// @ts-expect-error: there is no such column
visits.groupBy("id").aggregate({ km: data.sum("kilometres") });
// @ts-expect-error: there is no such column
await visits.aggregate({ km: data.max("kilometres") });

exactly<typeof visits>()(visits.dropDuplicates("id", { keep: "last" }));
exactly<typeof visits>()(visits.dropDuplicates(["city", "at"]));
exactly<typeof visits>()(visits.dropDuplicates());
/** A dataset of more columns is one of fewer. */
const fewer: data.Dataset<{ at: Date }> = visits;
fewer.sort("at");
// @ts-expect-error: there is no such column
visits.dropDuplicates("other");

const longest = perText.mapGroups((rows) => rows.map(({ text }) => ({ longest: text })), { batchFormat: "rows" });
exactly<string | undefined>()((await longest.take(1))[0]?.longest);
// @ts-expect-error: there is no such column
perText.sum("other");

/** Aggregates of groups are a dataset also where the row is a type parameter. */
function counted<R extends data.AnyRow>(rows: data.Dataset<R>, key: keyof R & string): data.Dataset<any> {
  return rows.groupBy(key).count().sort("count()").limit(3);
}
counted(texts, "text");

// --- Nearest rows, pivots and samples ----------------------------------------------------------------------------------

declare const trades: data.Dataset<{ id: number; at: Date; ticker: string }>;
declare const quotes: data.Dataset<{ at: Date; ticker: string; bid: number }>;
declare const moments: data.Dataset<{ time: Date; bid: number }>;

const priced = trades.joinAsof(quotes, { on: "at", by: "ticker" });
const bid: number | null | undefined = (await priced.take(1))[0]?.bid;
const time: Date | null | undefined = (await trades.joinAsof(moments, { on: "at", rightOn: "time" }).take(1))[0]?.time;
// @ts-expect-error: there is no such column
trades.joinAsof(quotes, { on: "other" });
// @ts-expect-error: the other side has no such column
trades.joinAsof(moments, { on: "at", rightOn: "at" });

const wide = quotes.groupBy("at").pivot("ticker", { columns: ["ABC", "XYZ"], aggregate: data.max("bid") });
exactly<number | null | undefined>()((await wide.take(1))[0]?.XYZ);
const several = quotes.groupBy("at").pivot("ticker", { columns: ["ABC"], aggregate: { most: data.max("bid"), n: data.count() } });
exactly<number | null | undefined>()((await several.take(1))[0]?.most_ABC);
// @ts-expect-error: there is no such column
quotes.groupBy("at").pivot("other", { columns: ["ABC"], aggregate: data.count() });
exactly<data.Dataset<{ id: number; at: Date; ticker: string }>>()(trades.groupBy("ticker").sample({ rows: 1 }));
void [bid, time];

// --- Language models ---------------------------------------------------------------------------------------------------

const answered = data.llm.httpProcessor({
  url: "http://localhost/v1/chat/completions",
  preprocess: (row: { text: string; size: number }) => row.text,
  postprocess: (row, { text }) => ({ ...row, answer: text }),
})(texts);
const failure: string | null | undefined = (await answered.take(1))[0]?.error;
const answer: string | null | undefined = (await answered.take(1))[0]?.answer;
void [failure, answer];
