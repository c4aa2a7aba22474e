/**
 * Steps that ask for scarce resources, on several nodes whose GPUs are pretended: with and without limits of resources, in TypeScript and
 * in Python, and with hardly any memory. Every pipeline ends.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import * as data from "shoal/data";
import { TestCluster } from "shoal/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PYTHON_FOLDER, scientificPython, unless } from "./python-places.ts";
import { useFolder } from "./session.ts";

const found = scientificPython();
const problem = "problem" in found ? found.problem : undefined;
const folder = useFolder();
const FILE = join(PYTHON_FOLDER, "batches.py");
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start({ head: { numCpus: 2, numGpus: 1 } });
  await cluster.addNode({ numCpus: 2, resources: { tpu: 1 } });
  const venv = "venv" in found ? join(found.venv, "bin", "python3") : undefined;
  await init({ address: cluster.address, logToDriver: false, runtimeEnv: { python: venv } });
});
afterAll(async () => {
  await shutdown();
  await cluster.shutdown();
});

/** Notes in a file when a piece of work begins and ends. */
async function work(log: string): Promise<void> {
  appendFileSync(log, "(");
  await new Promise((resolve) => setTimeout(resolve, 2));
  appendFileSync(log, ")");
}

function mostAtOnce(log: string): number {
  let [now, most] = [0, 0];
  for (const edge of existsSync(log) ? readFileSync(log, "utf8") : "") {
    now += edge === "(" ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
}

interface Row {
  id: number;
  padding: string;
}

/** Rows of 100 kB in tasks that give many blocks each, so that a small budget stops them on their way. */
function large(log: string, options: data.TransformOptions): data.Dataset<Row> {
  const tasks = data.readDatasource<{ task: number }>({
    name: "tasks",
    getReadTasks: () => upTo(2).map((task) => ({ read: () => [{ task }] })),
  });
  return tasks.mapBatches(async function* grow(batch) {
    const [task = 0] = batch.task as Float64Array;
    for (let block = 0; block < 8; block += 1) {
      await work(log);
      const ids = upTo(20).map((i) => (task * 8 + block) * 20 + i);
      yield { id: Float64Array.from(ids), padding: ids.map(() => "x".repeat(100_000)) };
    }
  }, options);
}

const ids = (rows: readonly { id: number }[]): number[] => rows.map(({ id }) => id).toSorted((a, b) => a - b);

test("two steps of tasks that both ask for the only GPU end without limits, when memory is full", async () => {
  const log = join(folder, "gpu");
  const steps = large(log, { numGpus: 1 }).map(
    async ({ id }) => {
      await work(log);
      return { id };
    },
    { numGpus: 1, numCpus: 0.5 },
  );
  expect(ids(await steps.withSettings({ memoryBytes: 1 }).takeAll())).toEqual(upTo(320));
  expect(mostAtOnce(log)).toBe(1);
}, 60_000);

test("limits hold for GPUs and custom resources of several nodes, and so do the fewest actors beside tasks", async () => {
  const log = join(folder, "limited");
  class Model {
    readonly #log: string;
    constructor(own: string) {
      this.#log = own;
    }
    async call({ id, padding }: Row) {
      await work(this.#log);
      return { id, length: padding.length };
    }
  }
  // The node with the tpu has no GPU, so blocks go back and forth.
  const steps = large(log, { resources: { tpu: 1 } })
    .map(async (row) => row, { numGpus: 0.5 })
    .map(Model, { numGpus: 0.5, numCpus: 0.5, concurrency: { min: 1, max: 3 }, constructorArgs: [join(folder, "model")] });
  for (const settings of [{ resourceLimits: { GPU: 1, tpu: 1 } }, { excludeResources: { CPU: 1 }, memoryBytes: 1 }])
    expect(ids(await steps.withSettings(settings).takeAll())).toEqual(upTo(320));
  await expect(steps.withSettings({ resourceLimits: { GPU: 0.75 } }).takeAll()).rejects.toThrow(
    "a task of map needs 0.5 beside them, and resourceLimits allow 0.75: raise the limit to 1",
  );
  expect([mostAtOnce(log), mostAtOnce(join(folder, "model"))]).toEqual([1, 1]);
}, 60_000);

describe.skipIf(problem !== undefined)(`with Python${unless(problem)}`, () => {
  test("steps of Python end within limits, on several nodes, and count in them", async () => {
    // Few tasks: each that asks for more than CPUs may be the first one in its worker.
    const doubled = data
      .range(100)
      .map(({ id }) => ({ id }))
      .repartition(2)
      .mapBatches<{ id: number }>(python.task(FILE, "doubled", { numGpus: 1 }), { batchSize: 50 })
      .mapBatches<{ id: number }>(python.task(FILE, "same"), { resources: { tpu: 1 }, batchSize: 50 });
    for (const settings of [{ resourceLimits: { CPU: 1, GPU: 1 } }, { memoryBytes: 1 }])
      expect(ids(await doubled.withSettings(settings).takeAll())).toEqual(upTo(100).map((id) => 2 * id));
    await expect(doubled.withSettings({ resourceLimits: { GPU: 0.5 } }).takeAll()).rejects.toThrow("needs 1 of GPU");
    const scaled = doubled.mapBatches<{ id: number }>(python.actor(FILE, "Adder", { numGpus: 1 }), { constructorArgs: [1] });
    await expect(scaled.withSettings({ resourceLimits: { GPU: 1 } }).takeAll()).rejects.toThrow("raise the limit to 2");
  }, 60_000);

  test("a budget of one byte ends through exchanges, Python and several nodes", async () => {
    const numbers = data
      .range(40_000)
      .map(({ id }) => ({ id, key: id % 7 }))
      .withSettings({ memoryBytes: 1 });
    const same = python.task(FILE, "same");
    const sorted = numbers
      .randomShuffle({ seed: 3 })
      .mapBatches<{ id: number; key: number }>(same, { batchSize: 5000 })
      .sort("id")
      .mapBatches<{ id: number; key: number }>(python.actor(FILE, "Adder"), { constructorArgs: [0], batchSize: 5000 });
    expect(ids(await sorted.takeAll())).toEqual(upTo(40_000));
    const grouped = numbers.repartition(5).mapBatches<{ id: number; key: number }>(same).groupBy("key").count();
    expect((await grouped.takeAll()).reduce((sum, row) => sum + row["count()"], 0)).toBe(40_000);
    const joined = numbers.join(numbers.mapBatches<{ id: number; key: number }>(same).selectColumns(["id"]), { on: "id" });
    expect(await joined.count()).toBe(40_000);
  }, 60_000);
});
