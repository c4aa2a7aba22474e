/**
 * Faults in functions of users and in files: the error names the place, rows are left out and counted, and an interrupted program leaves
 * whole files.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { TaskError } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { failureOf, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

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

  test("of an own aggregate and of an own source name the row", async () => {
    const broken = data.aggregator({
      init: () => 0,
      accumulateRow: (sum: number, { id }: { id: number }) => {
        if (id === 77) throw new Error("no 77");
        return sum + id;
      },
      merge: (a, b) => a + b,
    });
    expect((await taskError(rides.groupBy("id").aggregate({ total: broken }))).message).toBe(
      `Task aggregate(total) at row 78 of ${csv} failed: Error: no 77`,
    );
    const read = function* () {
      yield { id: 1 };
      throw new Error("no second");
    };
    const source = data.readDatasource<{ id: number }>({ name: "mine", getReadTasks: () => [{ read: () => [{ id: 0 }] }, { read }] });
    expect((await taskError(source)).message).toBe("Task mine at row 2 of read task 2 failed: Error: no second");
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

describe("maxErroredBlocks", () => {
  const failing = data.range(8000).map(function picky({ id }) {
    if (id % 2000 === 1999) throw new RangeError(`no ${id}`);
    return { id };
  });

  test("so many tasks are left out, and counted with their errors", async () => {
    const lenient = failing.withSettings({ maxErroredBlocks: 4 });
    // Eight tasks of 1000 rows each, of which each second one fails.
    expect((await lenient.takeAll()).map(({ id }) => id)).toEqual([0, 2, 4, 6].flatMap((part) => upTo(1000).map((i) => part * 1000 + i)));
    const stats = await lenient.stats();
    expect(stats?.erroredBlocks).toBe(4);
    expect(stats?.firstErrors.map(({ operator }) => operator)).toEqual(Array(4).fill("range(8000)->map(picky)"));
    expect(stats?.firstErrors.map(({ error }) => (error.cause as Error).message).sort()).toEqual([
      "no 1999",
      "no 3999",
      "no 5999",
      "no 7999",
    ]);
    expect(stats?.operators[0]).toMatchObject({ tasks: 8, rows: 4000, blocks: 4, erroredBlocks: 4, queuedBlocks: 0, workers: 0 });
    expect(String(stats)).toContain(
      "Left out because of errors: 4 blocks\n* range(8000)->map(picky): Task map(picky) at row 1000 of the 1000 in",
    );
  });

  test("one more fails the run, and by default the first does", async () => {
    for (const settings of [{ maxErroredBlocks: 3 }, {}])
      await expect(failing.withSettings(settings).takeAll()).rejects.toThrow("Task map(picky)");
    for (const maxErroredBlocks of [-1, Number.POSITIVE_INFINITY])
      expect(await failing.withSettings({ maxErroredBlocks }).count()).toBe(4000);
    for (const maxErroredBlocks of [-2, 1.5, "1"])
      expect(() => failing.withSettings({ maxErroredBlocks: maxErroredBlocks as number })).toThrow("maxErroredBlocks");
  });

  test("in pools of actors, and behind an exchange", async () => {
    class Picky {
      call({ id }: { id: number }): { id: number } {
        if (id === 500) throw new Error("no");
        return { id };
      }
    }
    const pool = data.range(1000).map(Picky, { concurrency: 2 }).withSettings({ maxErroredBlocks: 1 });
    const found = (await pool.takeAll()).map(({ id }) => id);
    expect(found).not.toContain(500);
    expect(found.length).toBeGreaterThan(0);
    const groups = data
      .range(1000)
      .map(({ id }) => ({ id, odd: id % 2 }))
      .groupBy("odd")
      .mapGroups((): { n: number[] } => {
        throw new Error("no");
      });
    expect(await groups.withSettings({ maxErroredBlocks: -1 }).takeAll()).toEqual([]);
  });

  test("bad files are left out, of every kind", async () => {
    for (const kind of ["csv", "parquet"] as const) {
      const from = join(folder, `bad ${kind}`);
      const good = data.range(100).map(({ id }) => ({ id }));
      await (kind === "csv" ? good.writeCsv(from) : good.writeParquet(from));
      writeFileSync(join(from, `bad.${kind}`), "id\n1\n2,3\n");
      const all = (kind === "csv" ? data.readCsv(from) : data.readParquet(from)).withSettings({ maxErroredBlocks: 1 });
      expect(await all.count()).toBe(100);
      expect((await all.stats())?.firstErrors[0]?.error.message).toContain(`bad.${kind}`);
      await expect(all.withSettings({ maxErroredBlocks: 0 }).count()).rejects.toThrow(`bad.${kind}`);
    }
  });

  test("one bad file among many small ones costs itself alone", async () => {
    const from = join(folder, "many small");
    mkdirSync(from);
    for (let i = 0; i < 60; i += 1) writeFileSync(join(from, `${String(i).padStart(2, "0")}.csv`), i === 17 ? "id\n1,2\n" : `id\n${i}\n`);
    const rows = await data.readCsv(from).withSettings({ maxErroredBlocks: 1 }).takeAll();
    expect(rows.map(({ id }) => id as number)).toEqual(Array.from({ length: 60 }, (_, i) => i).filter((i) => i !== 17));
  });

  test("leaves whole files of the other tasks", async () => {
    const written = failing.withSettings({ maxErroredBlocks: 4 });
    const { rowCount, files } = await written.writeCsv(join(folder, "left out"));
    expect([rowCount, files.length]).toEqual([4000, 4]);
    expect((await written.stats())?.erroredBlocks).toBe(4);
  });
});

test("a file or a folder without permission is named, with the cause, where it is listed, read and written", () => {
  chmodSync(folder, 0o755);
  for (const name of ["closed", "open", "open/closed", "readable"]) mkdirSync(join(folder, name));
  for (const name of ["closed/a.csv", "open/b.csv", "open/closed/c.csv"]) writeFileSync(join(folder, name), "x\n1\n");
  for (const name of ["closed", "open/closed", "open/b.csv"]) chmodSync(join(folder, name), 0);
  // A user who may not do everything: the tests may run as root.
  const program = `
    import { init, shutdown } from ${JSON.stringify(pathToFileURL(join(REPOSITORY, "dist", "index.js")).href)};
    import * as data from ${JSON.stringify(pathToFileURL(join(REPOSITORY, "dist", "data", "index.js")).href)};
    if (process.getuid() === 0) { process.setgroups([]); process.setgid(65534); process.setuid(65534); }
    await init({ mode: "inProcess", numCpus: 1, logToDriver: false });
    const one = data.fromItems([{ x: 1 }]);
    const attempts = {
      folder: () => data.readCsv("closed").takeAll(),
      inFolder: () => data.readCsv("open").takeAll(),
      glob: () => data.readCsv("*/*.csv").takeAll(),
      file: () => data.readCsv("open/b.csv").takeAll(),
      parquet: () => data.readParquet("open/b.csv").takeAll(),
      write: () => one.writeCsv("readable/new"),
      append: () => one.writeParquet("readable", { mode: "append" }),
    };
    for (const [name, run] of Object.entries(attempts)) {
      const error = await run().then(() => new Error("none"), (error) => error);
      let cause = error;
      while (cause.cause !== undefined) cause = cause.cause;
      console.log(JSON.stringify([name, error.message, cause.code]));
    }
    await shutdown();`;
  const file = join(folder, "permissions.mjs");
  writeFileSync(file, program);
  const { stdout, stderr } = spawnSync(process.execPath, [file], { cwd: folder, encoding: "utf8", timeout: 30_000 });
  for (const name of ["closed", "open/closed"]) chmodSync(join(folder, name), 0o755);
  expect(stderr).toBe("");
  const found = stdout
    .replaceAll(/[.]staging-[0-9a-f]+/g, ".staging")
    .trim()
    .split("\n");
  expect(found.map((line) => JSON.parse(line) as unknown)).toEqual(
    [
      ["folder", "list the folder", "closed"],
      ["inFolder", "list the folder", "open/closed"],
      ["glob", "list the folder", "closed"],
      ["file", "read", "open/b.csv"],
      ["parquet", "open", "open/b.csv"],
      ["write", "make the folder", "readable/new/.staging"],
      ["append", "make the folder", "readable/.staging"],
    ].map(([name, verb, path]) => [name, `Cannot ${verb} ${folder}/${path}: this process may not do that (permission denied)`, "EACCES"]),
  );
});

describe("stats()", () => {
  test("is that of the last rows that were taken, too", async () => {
    const rows = data.range(100).map(({ id }) => ({ id }));
    await rows.take(3);
    expect((await rows.stats())?.operators.map(({ name }) => name)).toContain("limit(3)");
    await rows.takeBatch(4);
    expect((await rows.stats())?.operators.map(({ name }) => name)).toContain("limit(4)");
    await rows.takeAll();
    expect((await rows.stats())?.operators.map(({ rows: given }) => given)).toEqual([100]);
  });

  test("tells of each operator how long it worked, what it gave and what it does", async () => {
    const sorted = data
      .range(20_000)
      .map(({ id }) => {
        for (const end = performance.now() + 0.01; performance.now() < end; );
        return { id, key: id % 7 };
      })
      .sort("key");
    await sorted.count();
    const stats = (await sorted.stats()) as data.DataStatistics;
    const [read, sort] = stats.operators as [data.OperatorReport, data.OperatorReport];
    expect([read.rows, sort.rows, sort.queuedBlocks, sort.workers]).toEqual([20_000, 20_000, 0, 0]);
    // 10 us a row at least, by two workers at a time.
    expect(read.wallMs).toBeGreaterThan(190);
    if (process.platform === "linux") expect(read.maxMemoryBytes).toBeGreaterThan(2 ** 20);
    expect(read.cpuMs).toBeGreaterThan(100);
    expect(read.durationMs).toBeGreaterThan(90);
    expect(read.durationMs).toBeLessThanOrEqual(stats.durationMs);
    expect(JSON.parse(JSON.stringify(stats))).toMatchObject({ erroredBlocks: 0, operators: [{ name: read.name }, { name: "sort(key)" }] });
    expect(String(stats)).toMatch(
      /^range\(20000\)->map: 8 tasks in \d\.\d\d s\n\* gave 20,000 rows, 0\.3 MiB, in 8 blocks, [\d,]+ rows\/s\n\* worked \d\.\d\d s, \d\.\d\d s of it on a processor\nsort\(key\): .*\nRun: \d\.\d\d s$/s,
    );
  });

  test("counts the block that a limit cuts, also in the middle of a pipeline", async () => {
    const items = data
      .fromItems(upTo(100))
      .limit(30)
      .map((row) => row);
    expect(await items.count()).toBe(30);
    expect((await items.stats())?.operators.map(({ name, rows }) => [name, rows]).slice(1)).toEqual([
      ["limit(30)", 30],
      ["map", 30],
    ]);
  });
});
