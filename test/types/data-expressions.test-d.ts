/** Expressions: the rows that they give, by the types of the columns that they read, and the columns that they may name. */
import type { NdArray } from "../../src/index.ts";
import * as data from "../../src/data/index.ts";
import { col, lit, monotonicallyIncreasingId, random, star, udf, unnest, uuid, when } from "../../src/data/index.ts";
import { exactly } from "./api.ts";

interface Ride {
  readonly city: string;
  readonly km: number;
  readonly fare: number | null;
  readonly id: bigint;
  readonly at: Date;
  readonly tags: string[];
  readonly from: { readonly street: string; readonly zip: number | null } | null;
}
declare const rides: data.Dataset<Ride>;
declare const nested: data.Dataset<{
  lists: ((number | null)[] | null)[] | null;
  headers: { key: string; value: Date | null }[];
  array: NdArray<Float64Array>;
}>;
declare const anything: data.Dataset;

/** The type of a column that an expression gives. */
async function valueOf<R extends data.AnyRow, N extends keyof R>(dataset: data.Dataset<R>, name: N): Promise<R[N]> {
  const [row] = await dataset.take(1);
  return (row as R)[name];
}

// --- Columns of numbers ------------------------------------------------------------------------------------------------

exactly<data.Dataset<Ride & { half: number }>>()(rides.withColumn("half", col("km").div(2)));
exactly<Uint8Array>()(await valueOf(rides.withColumn("x", col("city").download()), "x"));
exactly<Uint8Array | null>()(await valueOf(rides.withColumn("x", col("city").download({ onError: "null" })), "x"));
// @ts-expect-error it is no value to compute with
col("city").download().eq("x");
exactly<number>()(await valueOf(rides.withColumn("x", col("km").add(col("km")).mul(3).round()), "x"));
exactly<number | null>()(await valueOf(rides.withColumn("x", col("fare").div(col("km"))), "x"));
exactly<number>()(await valueOf(rides.withColumn("x", col("fare").fillNull(0).div(col("km"))), "x"));
exactly<bigint>()(await valueOf(rides.withColumn("x", col("id").add(1)), "x"));
exactly<number>()(await valueOf(rides.withColumn("x", col("id").cast("float64").sqrt()), "x"));
exactly<number | null>()(await valueOf(rides.withColumn("x", col("km").add(null)), "x"));

// --- Choices -----------------------------------------------------------------------------------------------------------

exactly<string>()(
  await valueOf(rides.withColumn("x", when(col("km").gt(9), "long").when(col("fare").isNull(), col("city")).otherwise("")), "x"),
);
exactly<number | null>()(await valueOf(rides.withColumn("x", when(col("km").gt(9), col("km")).otherwise(null)), "x"));
// @ts-expect-error: there is no such column
rides.withColumn("x", when(col("kilometres").gt(9), 1).otherwise(0));
// @ts-expect-error: otherwise is missing
rides.withColumn("x", when(col("km").gt(9), 1));

// --- Columns of other kinds --------------------------------------------------------------------------------------------

exactly<boolean>()(await valueOf(rides.withColumn("x", col("km").gt(1).and(col("city").eq("Rome"))), "x"));
exactly<boolean | null>()(await valueOf(rides.withColumn("x", col("fare").gt(1)), "x"));
exactly<boolean>()(await valueOf(rides.withColumn("x", col("fare").isNull()), "x"));
exactly<string>()(await valueOf(rides.withColumn("x", col("city").str.upper().str.concat("-", col("km").cast("string"))), "x"));
exactly<string | null>()(await valueOf(rides.withColumn("x", col("fare").cast("string")), "x"));
exactly<Date>()(await valueOf(rides.withColumn("x", col("city").cast("timestamp[ms]")), "x"));
exactly<number | null>()(await valueOf(rides.withColumn("x", col("city").cast("float64", { onError: "null" })), "x"));
exactly<number>()(await valueOf(rides.withColumn("x", col("at").dt.year()), "x"));
exactly<string>()(await valueOf(rides.withColumn("x", col("at").dt.floor("week").dt.strftime("%F")), "x"));
exactly<string | null>()(await valueOf(rides.withColumn("x", col("tags").list.get(0)), "x"));
exactly<string[]>()(await valueOf(rides.withColumn("x", col("city").str.split(",")), "x"));
exactly<string>()(await valueOf(rides.withColumn("x", col("city")), "x"));
exactly<Record<"a" | "b", string | null> | null>()(
  await valueOf(rides.withColumn("x", col("city").str.extract("(?<=-)(?<a>.)(?<b>.)")), "x"),
);
exactly<Record<string, string | null> | null>()(await valueOf(rides.withColumn("x", col("city").str.extract(/(?<a>.)/)), "x"));
exactly<boolean>()(await valueOf(rides.withColumn("x", col("city").str.isAlpha()), "x"));
exactly<string[]>()(await valueOf(rides.withColumn("x", col("tags").list.sort().list.slice(0, 2)), "x"));
exactly<(number | null)[] | null>()(await valueOf(nested.withColumn("x", col("lists").list.flatten()), "x"));
exactly<string[]>()(await valueOf(nested.withColumn("x", col("headers").map.keys()), "x"));
exactly<(Date | null)[]>()(await valueOf(nested.withColumn("x", col("headers").map.values()), "x"));
exactly<string | null>()(await valueOf(nested.withColumn("x", col("headers").map.keys().list.get(0)), "x"));
exactly<data.NestedList<number>>()(await valueOf(nested.withColumn("x", col("array").arr.toList()), "x"));
exactly<string>()(await valueOf(rides.withColumn("x", lit("a")), "x"));
exactly<null>()(await valueOf(rides.withColumn("x", lit(null)), "x"));

// --- Datasets ----------------------------------------------------------------------------------------------------------

exactly<data.Dataset<Ride>>()(rides.filter(col("km").gt(1)));
exactly<string>()(await valueOf(rides.withColumn("km", col("city")), "km"));
const chosen = rides.selectColumns(["city", col("km").mul(2).as("double")]);
exactly<string>()(await valueOf(chosen, "city"));
exactly<number>()(await valueOf(chosen, "double"));
exactly<data.Dataset<Pick<Ride, "city">>>()(rides.selectColumns(["city"]));
exactly<number>()(await valueOf(anything.withColumn("x", col("whatever").add(1)), "x"));
anything.filter(col("whatever").isIn([1, 2]));

// @ts-expect-error: there is no such column
rides.filter(col("miles").gt(1));
// @ts-expect-error: there is no such column in the other side
rides.withColumn("x", col("km").add(col("miles")));
// @ts-expect-error: the column is gone
rides.selectColumns(["city", col("km").as("k")]).filter(col("km").gt(1));
// @ts-expect-error: an expression without a name
rides.selectColumns([col("km").mul(2)]);
// @ts-expect-error: a function belongs in map
rides.withColumn("x", (row: Ride) => row.km);
// @ts-expect-error: an object is no value of an expression
col("km").add({});
// @ts-expect-error: there is no such type
col("km").cast("integer");
// @ts-expect-error: null equals nothing
col("km").isIn([null]);
// @ts-expect-error: filters by expressions run where their input is made
rides.filter(col("km").gt(1), { numCpus: 2 });

// --- Several columns, and fields of structs ----------------------------------------------------------------------------

exactly<string | null>()(await valueOf(rides.withColumn("x", col("from").struct.field("street")), "x"));
const several = rides.withColumns({ half: col("km").div(2), city: col("city").str.length() });
exactly<number>()(await valueOf(several, "half"));
exactly<number>()(await valueOf(several, "city"));
exactly<bigint>()(await valueOf(several, "id"));
// @ts-expect-error: there is no such column
rides.withColumns({ x: col("nowhere").add(1) });

// --- Several columns at once --------------------------------------------------------------------------------------------

const starred = rides.selectColumns([star(), "at", col("km").cast("string").as("km"), col("km").mul(2).as("double")]);
exactly<string>()(await valueOf(starred, "km"));
exactly<number>()(await valueOf(starred, "double"));
exactly<number | null>()(await valueOf(starred, "fare"));
const flat = rides.withColumns(unnest(col("from")));
exactly<string | null>()(await valueOf(flat, "street"));
exactly<number | null>()(await valueOf(flat, "zip"));
exactly<string>()(await valueOf(flat, "city"));
exactly<string | null>()(await valueOf(rides.withColumns(unnest(col("city").str.extract("(?<a>.)"))), "a"));
anything.withColumns(unnest(col("whatever"))).filter(col("more").gt(1));
// @ts-expect-error there is no such column
rides.withColumns(unnest(col("nowhere")));
// @ts-expect-error there is no such column
rides.selectColumns([star(), "nowhere"]);
exactly<number | null>()(await valueOf(rides.withColumn("x", random({ seed: 1 }).add(col("fare"))), "x"));
exactly<string>()(await valueOf(rides.withColumn("x", uuid()), "x"));
exactly<number>()(await valueOf(rides.filter(random().lt(0.5)).withColumn("x", monotonicallyIncreasingId()), "x"));

// --- Functions of users -------------------------------------------------------------------------------------------------

const total = udf((km: Float64Array, fare: data.Column<number | null>) => fare.map((one, i) => one && one * (km[i] ?? 0)));
exactly<number | null>()(await valueOf(rides.withColumn("x", total(col("km"), col("fare"))), "x"));
const whole = udf((km: Float64Array) => km.map(Math.floor), { type: "int32" });
exactly<number>()(await valueOf(rides.filter(whole(col("km")).gt(3)).withColumn("x", whole(col("km"))), "x"));
exactly<string | null>()(
  await valueOf(rides.withColumn("x", udf((city: data.Column<string>) => city.map(() => null), { type: "string" })(col("city"))), "x"),
);
const pair = udf((km: Float64Array) => Array.from(km, (one) => ({ half: one / 2, name: String(one) })));
exactly<string>()(await valueOf(rides.withColumns(unnest(pair(col("km")))), "name"));
// @ts-expect-error there is no such column
rides.withColumn("x", whole(col("miles")));
// @ts-expect-error it takes one column
whole(col("km"), col("fare"));
// @ts-expect-error it gives no texts
udf((km: Float64Array) => km, { type: "string" });
// @ts-expect-error it is to give its values at once
udf(async (km: Float64Array) => km);
