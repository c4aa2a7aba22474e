/** What is wrong in functions of users and in files: where it was, what is left out and counted, and what is written when a program is interrupted. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TaskError } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

const csv = join(folder, "rides.csv");
writeFileSync(csv, `id,km\n${Array.from({ length: 100 }, (_, id) => `${id},${id / 2}\n`).join("")}`);
const rides = data.readCsv<{ id: number; km: number }>(csv);

async function taskError(dataset: data.Dataset): Promise<TaskError> {
  const error = await failureOf(dataset.takeAll());
  expect(error).toBeInstanceOf(TaskError);
  return error as TaskError;
}

describe("an error of a function says where the row came from", () => {
  test("in map: the step, the file, the row, and the user's line first", async () => {
    const error = await taskError(
      rides.map(function parse({ id }) {
        if (id === 41) throw new RangeError("bad row");
        return { id };
      }),
    );
    expect(error.message).toBe(`Task map(parse) at row 42 of ${csv} failed: RangeError: bad row`);
    expect(error.cause).toBeInstanceOf(RangeError);
    expect(error.details).toEqual({ file: csv, firstRow: 42, lastRow: 42 });
    expect(error.stack?.split("\n")[1]).toMatch(/parse.*data-faults\.test\.ts:\d+:\d+/);
  });

  test("behind steps that pick and change rows", async () => {
    const picked = rides
      .filter(({ id }) => id % 3 === 0)
      .withColumn("twice", data.col("km").mul(2))
      .filter(data.col("id").gt(20))
      .renameColumns({ km: "way" })
      .map((row) => ({ ...row, more: 1 }));
    const fail = (id: number): never => {
      throw new Error(`no ${id}`);
    };
    const failing = [
      picked.filter(({ id }) => id === 30 && fail(id)),
      picked.flatMap(async ({ id }) => (id === 30 ? fail(id) : [])),
      picked.flatMap(function* ({ id }) {
        yield { id };
        if (id === 30) fail(id);
      }),
    ];
    for (const dataset of failing) expect((await taskError(dataset)).message).toContain(`at row 31 of ${csv} failed: Error: no 30`);
  });

  test("in mapBatches and behind flatMap: the rows that it may have been", async () => {
    const failing = (): never => {
      throw new Error("no batch");
    };
    expect((await taskError(rides.filter(({ id }) => id > 3).mapBatches(failing))).message).toContain(`rows 5 to 100 of ${csv}`);
    const many = rides.flatMap((row) => [row, row]).map(({ id }) => (id === 9 ? failing() : { id }));
    expect((await taskError(many)).message).toContain(`rows 1 to 100 of ${csv}`);
  });

  test("in files of Parquet, whatever row groups are read", async () => {
    const { files } = await data
      .range(1000)
      .map(({ id }) => ({ id }))
      .repartition(1)
      .writeParquet(join(folder, "parquet"));
    const failing = data.readParquet<{ id: number }>(join(folder, "parquet")).map(({ id }) => {
      if (id === 700) throw new Error("no");
      return { id };
    });
    expect((await taskError(failing)).message).toContain(`at row 701 of ${files[0] as string} failed: Error: no`);
  });

  test("without a file: the row of its block, or the group", async () => {
    const sorted = rides.sort("km").map(({ id }) => {
      if (id === 41) throw new Error("no");
      return { id };
    });
    expect((await taskError(sorted)).message).toBe("Task map at row 42 of the 100 in its block failed: Error: no");
    const groups = rides
      .map(({ id }) => ({ id, city: id < 50 ? "Rome" : "Oslo" }))
      .groupBy("city")
      .mapGroups(
        (group) => {
          if (group.length === 50 && group[0]?.city === "Oslo") throw new Error("no");
          return group;
        },
        { batchFormat: "rows" },
      );
    const error = await taskError(groups);
    expect(error.message).toBe('Task groupBy(city).mapGroups at the group city = "Oslo" failed: Error: no');
    expect(error.details).toEqual({ group: { city: "Oslo" } });
  });

  test("in a class, and what is no error is shown, too", async () => {
    class Failing {
      call({ id }: { id: number }): { id: number } {
        // biome-ignore lint/style/useThrowOnlyError: users do
        if (id === 5) throw "a text";
        return { id };
      }
    }
    const error = await taskError(rides.map(Failing, { concurrency: 1 }));
    expect(error.message).toMatch(/^Task map\(Failing\) at row 6 of the 100 in its block threw a non-error value: .*a text/);
    expect(error.cause).toBe("a text");
  });
});

test("retryOn sees what the function threw", async () => {
  const log = join(folder, "retried");
  writeFileSync(log, "");
  const flaky = data.range(10).map(
    async ({ id }) => {
      const { appendFileSync, readFileSync } = await import("node:fs");
      if (id !== 7 || readFileSync(log, "utf8").length === 2) return { id };
      appendFileSync(log, "x");
      throw new RangeError("again");
    },
    { retryOn: [RangeError] },
  );
  expect(await flaky.count()).toBe(10);
});
