/** Rows that end the process of each task or actor that gets them: the call is cut until such a row or batch is alone, and it alone is lost. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ActorDiedError, WorkerCrashedError } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

const DEADLY = 700;

/** Ends its process at one row. */
function deadly(row: { id: number }): { id: number } {
  if (row.id === DEADLY) process.kill(process.pid, "SIGKILL");
  return { id: row.id };
}

class Deadly {
  call(row: { id: number }): { id: number } {
    return deadly(row);
  }
}

class DeadlyBatches {
  call({ id }: data.Batch<{ id: number }>): { id: Float64Array } {
    return { id: Float64Array.from(id, (one) => deadly({ id: one }).id) };
  }
}

const without = (count: number, isLost: (id: number) => boolean): number[] =>
  Array.from({ length: count }, (_, id) => id).filter((id) => !isLost(id));

/** The rows, the number of losses and the first loss of a run that may lose any number of tasks. */
async function lenient(
  rows: data.Dataset<{ id: number }>,
): Promise<[ids: number[], count: number | undefined, message: string | undefined]> {
  const run = rows.withSettings({ maxErroredBlocks: -1 });
  const ids = (await run.takeAll()).map(({ id }) => id);
  const stats = await run.stats();
  return [ids, stats?.erroredBlocks, stats?.firstErrors[0]?.error.message];
}

describe("in pools", () => {
  test("a row is alone in the end, and it alone is left out", async () => {
    const one = (await data.range(3000).materialize()).repartition(1);
    const [ids, count, message] = await lenient(one.map(Deadly, { concurrency: 1 }));
    expect(ids).toEqual(without(3000, (id) => id === DEADLY));
    expect([count, message]).toEqual([1, expect.stringContaining("its actor died 3 times in a row with the same rows (1 row)")]);
  }, 60_000);

  test("a batch stays whole", async () => {
    const one = (await data.range(1000).materialize()).repartition(1);
    const [ids, count] = await lenient(one.mapBatches(DeadlyBatches, { concurrency: 1, batchSize: 8 }));
    expect(ids).toEqual(without(1000, (id) => Math.floor(id / 8) === Math.floor(DEADLY / 8)));
    expect(count).toBe(1);
  }, 60_000);

  test("is named where nothing may be left out", async () => {
    const file = join(folder, "pool.csv");
    writeFileSync(file, `id\n${without(1000, () => false).join("\n")}\n`);
    const error = await failureOf(data.readCsv<{ id: number }>(file).map(Deadly, { concurrency: 1 }).takeAll());
    expect(error).toBeInstanceOf(ActorDiedError);
    expect(error.message).toContain(`with the same rows (row ${DEADLY + 1} of ${file})`);
  }, 60_000);
});

describe("in tasks", () => {
  test("a row of stored blocks is alone in the end", async () => {
    const kept = await data.range(3000).repartition(1).materialize();
    const [ids, count, message] = await lenient(kept.map(deadly, { maxRetries: 0 }));
    expect(ids).toEqual(without(3000, (id) => id === DEADLY));
    expect([count, message]).toEqual([1, expect.stringContaining("map(deadly): its process died each time with the same rows (1 row)")]);
  }, 60_000);

  test("a row of a task that reads and maps is named by its file, and the other files are whole", async () => {
    const path = join(folder, "tasks");
    mkdirSync(path);
    for (let i = 0; i < 4; i += 1) {
      const ids = Array.from({ length: 500 }, (_, k) => 500 * i + k);
      writeFileSync(join(path, `${i}.csv`), `id\n${ids.join("\n")}\n`);
    }
    const rows = data.readCsv<{ id: number }>(path, { maxRetries: 0 }).map(deadly);
    const error = await failureOf(rows.takeAll());
    expect(error).toBeInstanceOf(WorkerCrashedError);
    expect(error.message).toContain(`with the same rows (row 201 of ${join(path, "1.csv")})`);
    const [ids, count] = await lenient(rows);
    expect([ids, count]).toEqual([without(2000, (id) => id === DEADLY), 1]);
    expect(await rows.withSettings({ maxErroredBlocks: 1 }).writeCsv(join(folder, "written"))).toMatchObject({ rowCount: 1999 });
  }, 60_000);

  test("a function that ends each process is not tried with each row", async () => {
    const log = join(folder, "deaths");
    const kept = await data.range(20_000).repartition(1).materialize();
    const rows = kept.map(
      async ({ id }) => {
        const { appendFileSync } = await import("node:fs");
        appendFileSync(log, ".");
        process.kill(process.pid, "SIGKILL");
        return { id };
      },
      { maxRetries: 0 },
    );
    const error = await failureOf(rows.takeAll());
    expect(error).toBeInstanceOf(WorkerCrashedError);
    expect(error.message).toContain("its process died each time with the same rows");
    expect(readFileSync(log).length).toBeLessThan(100);
  }, 60_000);

  test("a death that does not come again costs nothing", async () => {
    const mark = join(folder, "died");
    const once = data.range(2000).map(
      async ({ id }) => {
        const { existsSync, writeFileSync: write } = await import("node:fs");
        if (id === 700 && !existsSync(mark)) {
          write(mark, "");
          process.kill(process.pid, "SIGKILL");
        }
        return { id };
      },
      { maxRetries: 0 },
    );
    expect((await once.takeAll()).map(({ id }) => id)).toEqual(without(2000, () => false));
  }, 60_000);
});
