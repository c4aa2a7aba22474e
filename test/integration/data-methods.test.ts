/** Methods of datasets that look at them, in in-process mode: what they give is compared with plain arrays. */
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { useSession } from "./session.ts";

useSession({ mode: "inProcess", numCpus: 2 });

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const rides = data
  .range(100)
  .map(({ id }) => ({ id, city: id % 4 === 3 ? null : `c${id % 4 === 0 ? 0 : 1}`, km: id % 5 === 0 ? null : id }));

describe("a summary", () => {
  test("has the statistics of each column over all blocks", async () => {
    const km = upTo(100).filter((id) => id % 5 !== 0);
    const mean = km.reduce((a, b) => a + b, 0) / km.length;
    const summary = await rides.repartition(7).summary();
    expect(summary.columns).toEqual(["id", "city", "km"]);
    expect(summary.column("km")).toMatchObject({
      count: 100,
      missingPct: 20,
      mean: expect.closeTo(mean, 9),
      std: expect.closeTo(Math.sqrt(km.reduce((a, b) => a + (b - mean) ** 2, 0) / km.length), 9),
      min: 1,
      max: 99,
      zeroPct: 0,
    });
    expect(summary.column("city")).toEqual({
      count: 100,
      missingPct: 25,
      "approxTopK[0]": { value: "c1", count: 50 },
      "approxTopK[1]": { value: "c0", count: 25 },
    });
    expect(
      (
        await data
          .range(3)
          .map(({ id }) => ({ odd: id % 2 === 1 }))
          .summary()
      ).column("odd"),
    ).toMatchObject({ mean: expect.closeTo(1 / 3, 9), max: true });
  });

  test("is refused for what can be read once, before it is read", async () => {
    const once = data.fromAsyncIterable([{ n: 1 }, { n: 2 }]);
    await expect(once.summary()).rejects.toThrow("an iterable can be read once");
    expect(await once.count()).toBe(2);
    await expect(rides.summary({ columns: ["no" as never] })).rejects.toThrow('Cannot summarize "no"');
    await expect(rides.summary({ column: ["km"] } as never)).rejects.toThrow("columns");
  });

  test("and its aggregates heed nulls as they are told to", async () => {
    expect(await rides.sum("km", { ignoreNulls: false })).toBeNull();
    expect(await rides.std("id", { ddof: 0 })).toBeCloseTo(Math.sqrt((100 ** 2 - 1) / 12), 9);
    const perCity = await rides.groupBy("city").max("km", { ignoreNulls: false }).sort("city").takeAll();
    expect(perCity.map((row) => row["max(km)"])).toEqual([null, null, null]);
  });
});
