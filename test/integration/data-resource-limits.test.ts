/** Limits of resources of a pipeline: how many tasks and actors work at once, that a pipeline ends with the least that is accepted, and what is refused. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as data from "shoal/data";
import { expect, test } from "vitest";
import { useFolder, useSession } from "./session.ts";

useSession({ numCpus: 4, resources: { tpu: 2 } });
const folder = useFolder();

/** Works for some milliseconds, and notes from when to when. The clock is the machine's: those of the processes' starts differ where the time of day was set between them. */
async function work(log: string, ms: number): Promise<void> {
  const from = process.hrtime.bigint();
  await new Promise((resolve) => setTimeout(resolve, ms));
  appendFileSync(log, `${from} ${process.hrtime.bigint()}\n`);
}

class Worker {
  readonly #log: string;

  constructor(log: string) {
    this.#log = log;
  }

  async call(row: { id: number }) {
    await work(this.#log, 5);
    return row;
  }
}

/** How many pieces of work were under way at once, at most. */
function mostAtOnce(log: string): number {
  const edges = readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [from, to] = line.split(" ").map(BigInt) as [bigint, bigint];
      return [
        { at: from, change: 1 },
        { at: to, change: -1 },
      ];
    })
    .toSorted((a, b) => Number(a.at - b.at) || a.change - b.change);
  let now = 0;
  let most = 0;
  for (const { change } of edges) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

const ids = (rows: readonly { id: number }[]): number[] => rows.map(({ id }) => id).toSorted((a, b) => a - b);
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Rows that are read in sixteen tasks, which work for each, and two steps of tasks of their own behind them. */
function steps(log: string, resources: data.TransformOptions = {}) {
  const slow = async (row: { id: number }) => {
    await work(log, 5);
    return row;
  };
  return data
    .fromItems(upTo(64).map((id) => ({ id })))
    .map(slow, { ...resources, maxRetries: 2 })
    .map(slow, { ...resources, maxRetries: 1 });
}

test.each([1, 2])("with a limit of %i CPUs so many tasks of all steps work at once, within a budget of one byte, too", async (CPU) => {
  for (const memoryBytes of [undefined, 1]) {
    const log = join(folder, `tasks-${memoryBytes}`);
    const rows = await steps(log).withSettings({ resourceLimits: { CPU }, memoryBytes }).takeAll();
    expect(rows.map(({ id }) => id)).toEqual(upTo(64));
    expect(mostAtOnce(log)).toBeLessThanOrEqual(CPU);
  }
});

test("without a limit more work at once, and what is left out of the cluster's CPUs is a limit", async () => {
  const free = join(folder, "free");
  await steps(free).takeAll();
  expect(mostAtOnce(free)).toBeGreaterThan(1);
  const log = join(folder, "left");
  await steps(log)
    .withSettings({ excludeResources: { CPU: 3 } })
    .takeAll();
  expect(mostAtOnce(log)).toBe(1);
  await expect(
    steps(log)
      .withSettings({ excludeResources: { CPU: 3.5 } })
      .takeAll(),
  ).rejects.toThrow("needs 1 of CPU, and excludeResources leave 0.5 of the 4 that the cluster has");
});

test("custom resources have limits, and an endless read of one CPU lets the steps behind it work", async () => {
  const log = join(folder, "tpu");
  expect(
    ids(
      await steps(log, { resources: { tpu: 1 } })
        .withSettings({ resourceLimits: { tpu: 1 } })
        .takeAll(),
    ),
  ).toEqual(upTo(64));
  expect(mostAtOnce(log)).toBe(1);
  const endless = data
    .readDatasource<{ id: number }>({
      name: "endless",
      getReadTasks: () => [
        {
          *read() {
            for (let id = 0; ; id += 1) yield { id: new Float64Array(200_000).fill(id) };
          },
        },
      ],
    })
    .mapBatches(({ id }) => ({ id: (id as Float64Array).slice(0, 1) }), { batchSize: 200_000, maxRetries: 1 });
  for (const memoryBytes of [undefined, 1])
    expect(ids(await endless.withSettings({ resourceLimits: { CPU: 1 }, memoryBytes }).take(5))).toEqual(upTo(5));
});

test("exchanges end within limits", async () => {
  const numbers = data.range(300_000).map(({ id }) => ({ id, key: id % 7 }));
  for (const CPU of [1, 2]) {
    const limited = numbers.withSettings({ resourceLimits: { CPU } });
    const sorted = limited.sort("id", { descending: true });
    expect(await sorted.limit(2).takeAll()).toMatchObject([{ id: 299_999 }, { id: 299_998 }]);
    expect(await limited.groupBy("key").count().count()).toBe(7);
    expect(await limited.join(limited.selectColumns(["id"]), { on: "id" }).count()).toBe(300_000);
  }
});

test("a pool grows within what the limit leaves, and leaves a task room", async () => {
  const log = join(folder, "pool");
  const slow = async (row: { id: number }) => {
    await work(log, 5);
    return row;
  };
  const pooled = data
    .fromItems(upTo(64).map((id) => ({ id })))
    .map(slow, { maxRetries: 1 })
    .map(Worker, { concurrency: { min: 1, max: 4 }, constructorArgs: [log] });
  expect(ids(await pooled.withSettings({ resourceLimits: { CPU: 2 } }).takeAll())).toEqual(upTo(64));
  expect(mostAtOnce(log)).toBeLessThanOrEqual(2);
  // The first pool leaves the second one enough to begin, and gives back unused workers.
  const two = pooled
    .map(Worker, { concurrency: { min: 1, max: 3, initial: 3 }, constructorArgs: [log] })
    .withSettings({ resourceLimits: { CPU: 4 } });
  expect(ids(await two.takeAll())).toEqual(upTo(64));
  const refused = join(folder, "refused");
  const alone = pooled.map(Worker, { constructorArgs: [refused] }).withSettings({ resourceLimits: { CPU: 2 } });
  await expect(alone.takeAll()).rejects.toThrow(
    "the fewest actors of the pipeline hold 2 of CPU as long as it runs (map(Worker): 1 of 1, map(Worker): 1 of 1), and a task of map(slow) needs 1 beside them",
  );
  expect(existsSync(refused)).toBe(false);
});
