/** Training loops of TypeScript: what `report`, `allReduce`, checkpoints, datasets and callbacks do in two ranks, and what is refused. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { python } from "shoal";
import * as data from "shoal/data";
import {
  allReduce,
  Checkpoint,
  collective,
  CSVLoggerCallback,
  DataParallelTrainer,
  getAllReportedCheckpoints,
  getCheckpoint,
  getContext,
  getDatasetShard,
  report,
  Result,
  TBXLoggerCallback,
  TorchTrainer,
  type TrainCallback,
  TrainingFailedError,
} from "shoal/train";
import { describe, expect, test } from "vitest";
import { TRAINABLE } from "../../src/runs/trainable.ts";
import { failureOf, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

const TWO = { numWorkers: 2 };

type Config = NonNullable<ConstructorParameters<typeof DataParallelTrainer>[0]["runConfig"]>;

function config(name: string, more: Config = {}): Config {
  return { name, storagePath: folder, ...more };
}

test("two ranks know their places, report together, and the result is rank 0's last report", async () => {
  const trainer = new DataParallelTrainer({
    trainLoopPerWorker: async ({ epochs }: { epochs: number }) => {
      const { worldRank, worldSize, localRank, localWorldSize, nodeRank, experimentName } = getContext();
      const { RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR } = process.env;
      console.log(`rank ${worldRank} begins`);
      for (let epoch = 0; epoch < epochs; epoch += 1) {
        await report({
          epoch,
          worldRank,
          places: [worldSize, localRank, localWorldSize, nodeRank],
          name: experimentName,
          environment: [RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR].join(),
        });
      }
    },
    trainLoopConfig: { epochs: 2 },
    scalingConfig: TWO,
    runConfig: config("places"),
  });
  const result = await trainer.fit();
  expect(result.metrics).toEqual({ epoch: 1, worldRank: 0, places: [2, 0, 2, 0], name: "places", environment: "0,2,0,127.0.0.1" });
  expect(result.checkpoint).toBeUndefined();
  expect((await result.metricsColumns())["epoch"]).toEqual([0, 1]);
  expect(readFileSync(join(result.path, "rank-1.log"), "utf8")).toBe("rank 1 begins\n");

  const again = await failureOf(trainer.fit());
  expect(again.message).toContain('Cannot start the run "places": a run of this name has finished');
  expect((await Result.fromPath(result.path)).metrics).toMatchObject({ epoch: 1, worldRank: 0 });
});

async function writeBeside(): Promise<void> {
  const { worldRank } = getContext();
  if (worldRank === 0) writeFileSync("mine.txt", "of rank 0");
  await report({ folder: process.cwd(), packages: typeof (await import("vitest/config")).defineConfig });
}

test("ranks work in folders of the run, which stay where something was written", async () => {
  const { metrics, path } = await new DataParallelTrainer({
    trainLoopPerWorker: writeBeside,
    scalingConfig: TWO,
    runConfig: config("rank folders"),
  }).fit();
  expect(metrics).toEqual({ folder: join(path, "rank-0"), packages: "function" });
  expect(readFileSync(join(path, "rank-0", "mine.txt"), "utf8")).toBe("of rank 0");
  expect(existsSync(join(path, "rank-1"))).toBe(false);
});

const where = async (): Promise<void> => await report({ folder: process.cwd() });

test("ranks work in the program's folder with chdirToRankDir: false, and in the workingDir that they are given", async () => {
  const stays = new DataParallelTrainer({ trainLoopPerWorker: where, runConfig: config("stays", { chdirToRankDir: false }) });
  expect((await stays.fit()).metrics).toEqual({ folder: process.cwd() });
  const workingDir = mkdtempSync(join(folder, "working-"));
  writeFileSync(join(workingDir, "there.txt"), "yes");
  const reads = async (): Promise<void> => await report({ there: readFileSync("there.txt", "utf8") });
  const given = new DataParallelTrainer({ trainLoopPerWorker: reads, runtimeEnv: { workingDir }, runConfig: config("given") });
  expect((await given.fit()).metrics).toEqual({ there: "yes" });
  const both = { trainLoopPerWorker: where, runtimeEnv: { workingDir }, runConfig: config("both", { chdirToRankDir: true }) };
  expect((await new DataParallelTrainer(both).fit()).metrics).toEqual({ folder: join(folder, "both", "rank-0") });
});

test("a checkpoint cannot have the name of a rank's folder", async () => {
  const names = async (): Promise<void> => {
    mkdirSync("own");
    await report({ step: 1 }, { checkpoint: Checkpoint.fromDirectory("own"), checkpointDirName: "rank-1" });
  };
  const error = await failureOf(new DataParallelTrainer({ trainLoopPerWorker: names, runConfig: config("named rank") }).fit());
  expect(error.message).toContain("Cannot store a checkpoint: its name is that of a rank's working folder: received rank-1");
});

/** A linear model on 64 rows of which each rank has its part; the gradients are averaged. */
async function descend({ steps }: { steps: number }): Promise<void> {
  const { worldRank, worldSize } = getContext();
  const rows = Array.from({ length: 64 }, (_, i) => [Math.sin(i), Math.cos(3 * i), 2 * Math.sin(i) - Math.cos(3 * i) + 0.5] as const);
  const own = rows.filter((_, i) => i % worldSize === worldRank);
  const weights = new Float64Array(2);
  const bias = new Float64Array(1);
  for (let step = 0; step < steps; step += 1) {
    const [weightsGradient, biasGradient] = [new Float64Array(2), new Float64Array(1)];
    for (const [x, y, target] of own) {
      const error = (weights[0] as number) * x + (weights[1] as number) * y + (bias[0] as number) - target;
      weightsGradient[0] = (weightsGradient[0] as number) + (2 * error * x) / own.length;
      weightsGradient[1] = (weightsGradient[1] as number) + (2 * error * y) / own.length;
      biasGradient[0] = (biasGradient[0] as number) + (2 * error) / own.length;
    }
    await allReduce([weightsGradient, biasGradient], { op: "average" });
    for (const [i, gradient] of weightsGradient.entries()) weights[i] = (weights[i] as number) - 0.1 * gradient;
    bias[0] = (bias[0] as number) - 0.1 * (biasGradient[0] as number);
  }
  const large = new Float32Array(100_000).fill(worldRank + 1);
  await allReduce(large);
  await report({ weights: [...weights], bias: bias[0] as number, large: large[99_999] as number });
}

test("gradients that two ranks average train the model that one rank trains", async () => {
  const train = async (numWorkers: number): Promise<{ weights: number[]; bias: number; large: number }> => {
    const trainer = new DataParallelTrainer<{ steps: number }, { weights: number[]; bias: number; large: number }>({
      trainLoopPerWorker: descend,
      trainLoopConfig: { steps: 40 },
      scalingConfig: { numWorkers },
      runConfig: config(`descend on ${numWorkers}`),
    });
    return (await trainer.fit()).metrics as { weights: number[]; bias: number; large: number };
  };
  const [one, two] = [await train(1), await train(2)];
  for (const [i, weight] of one.weights.entries()) expect(two.weights[i]).toBeCloseTo(weight, 10);
  expect(two.bias).toBeCloseTo(one.bias, 10);
  expect([one.large, two.large]).toEqual([1, 3]);
});

async function writeParts({ root }: { root: string }): Promise<number> {
  const { worldRank } = getContext();
  for (let step = 0; step < 4; step += 1) {
    const own = mkdtempSync(join(root, "part-"));
    writeFileSync(join(own, `rank-${worldRank}.json`), JSON.stringify({ step }));
    mkdirSync(join(own, "deep"));
    writeFileSync(join(own, "deep", `${worldRank}.bin`), new Uint8Array(10));
    await report(
      { score: [3, 9, 1, 2][step] as number },
      { checkpoint: Checkpoint.fromDirectory(own), deleteLocalCheckpointAfterUpload: true },
    );
    const kept = getCheckpoint() as Checkpoint;
    const step2 = await kept.asDirectory((path) => JSON.parse(readFileSync(join(path, `rank-${worldRank}.json`), "utf8")).step);
    if (step2 !== step) throw new Error("the newest checkpoint is another one");
  }
  const scores = getAllReportedCheckpoints<{ score: number }>().map(({ metrics }) => metrics.score);
  if (scores.join() !== "3,9,1,2") throw new Error(`other checkpoints were reported: ${scores.join()}`);
  return worldRank;
}

test("the parts of all ranks become one checkpoint, and the best and the newest are kept", async () => {
  const root = mkdtempSync(join(folder, "parts-"));
  const heard: unknown[] = [];
  const result = await new DataParallelTrainer({
    trainLoopPerWorker: writeParts,
    trainLoopConfig: { root },
    scalingConfig: TWO,
    runConfig: config("parts", {
      checkpointConfig: { numToKeep: 1, checkpointScoreAttribute: "score" },
      callbacks: [{ afterReport: ({ metrics, checkpoint }) => void heard.push([metrics, checkpoint?.path.slice(-1)]) }],
    }),
  }).fit();
  expect(result.bestCheckpoints.map(({ metrics }) => metrics)).toEqual([{ score: 9 }, { score: 2 }]);
  expect(result.getBestCheckpoint("score", "max")?.path).toBe(join(result.path, "checkpoint_000001"));
  expect(new Set(readdirSync(join(result.path, "checkpoint_000003"), { recursive: true, encoding: "utf8" }))).toEqual(
    new Set([".checkpoint.json", "deep", "deep/0.bin", "deep/1.bin", "rank-0.json", "rank-1.json"]),
  );
  expect(readdirSync(root)).toEqual([]);
  expect(heard[0]).toEqual([[{ score: 3 }, { score: 3 }], "0"]);
  await result.checkpoint?.setMetadata({ kind: "linear" });
  expect(await (await Result.fromPath(result.path)).checkpoint?.getMetadata()).toEqual({ kind: "linear" });
});

/** Reports without waiting for uploads, of which the first is held up by a file in its place. Throws where a rank does not hear of them. */
async function uploadLater({ root }: { root: string }): Promise<void> {
  const { worldRank, storagePath, experimentName } = getContext();
  const reportLater = async (step: number, checkpointDirName?: string): Promise<string> => {
    const own = mkdtempSync(join(root, "own-"));
    writeFileSync(join(own, "step.json"), JSON.stringify({ step }));
    const checkpoint = worldRank === 0 ? Checkpoint.fromDirectory(own) : undefined;
    await report({ step }, { checkpoint, checkpointDirName, checkpointUploadMode: "async" });
    return own;
  };
  const stored = (): number[] => getAllReportedCheckpoints<{ step: number }>().map(({ metrics }) => metrics.step);
  const obstacle = join(storagePath, experimentName, ".checkpoint_000000.partial");
  if (worldRank === 0) writeFileSync(obstacle, "");
  const first = await reportLater(0);
  if (getCheckpoint() !== undefined || stored().length > 0) throw new Error("the report was waited for");
  await collective.barrier();
  if (worldRank === 0) setTimeout(() => rmSync(obstacle), 200);
  await reportLater(1, "named");
  if (stored()[0] !== 0) throw new Error(`the upload before was not waited for: ${stored().join()}`);
  // The files of the first are stored, so that the folder may be used again.
  writeFileSync(join(first, "step.json"), "{}");
  while (stored().length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  if (!getCheckpoint()?.path.endsWith("/named")) throw new Error("the newest checkpoint is another one");
  await report({ stored: stored(), isFolderThere: existsSync(first) });
}

test("an asynchronous upload goes on beside the loop, which is told of its end, and the next report waits for it", async () => {
  const result = await new DataParallelTrainer({
    trainLoopPerWorker: uploadLater,
    trainLoopConfig: { root: mkdtempSync(join(folder, "later-")) },
    scalingConfig: TWO,
    runConfig: config("later", { loggingConfig: { logLevel: "ERROR" } }),
  }).fit();
  expect(result.metrics).toEqual({ stored: [0, 1], isFolderThere: true });
  const kept = result.bestCheckpoints.map(
    async ({ checkpoint }) => await checkpoint.asDirectory((path) => readFileSync(join(path, "step.json"), "utf8")),
  );
  expect(await Promise.all(kept)).toEqual(['{"step":0}', '{"step":1}']);
  expect(result.checkpoint?.path).toBe(join(result.path, "named"));
});

test("a checkpoint that is not uploaded stays where it was put, and is the run's own in the run's folder", async () => {
  const elsewhere = mkdtempSync(join(folder, "elsewhere-"));
  const put = (path: string): Checkpoint => {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "model"), "weights");
    return Checkpoint.fromDirectory(path);
  };
  const result = await new DataParallelTrainer({
    trainLoopPerWorker: async () => {
      const { storagePath, experimentName } = getContext();
      const inRun = (name: string): string => join(storagePath, experimentName, name);
      const checkpointUploadMode = "none";
      await report({ step: 0 }, { checkpoint: put(inRun("by hand")), checkpointUploadMode });
      await report({ step: 1 }, { checkpoint: put(inRun("checkpoint_000004")), checkpointUploadMode });
      await report({ step: 2 }, { checkpoint: put(elsewhere) });
      await report({ step: 3 }, { checkpoint: put(elsewhere), checkpointUploadMode });
      if (getCheckpoint()?.path !== elsewhere) throw new Error("the newest checkpoint is another one");
      await report({ step: 4 }, { checkpoint: Checkpoint.fromDirectory(inRun("none")), checkpointUploadMode });
    },
    scalingConfig: { numWorkers: 0 },
    runConfig: config("not uploaded"),
  })
    .fit()
    .catch((error: Error) => error);
  expect((result as Error).message).toMatch(/Cannot keep the checkpoint .*\/none: there is no such folder/);
  const { bestCheckpoints } = await Result.fromPath(join(folder, "not uploaded"));
  expect(bestCheckpoints.map(({ checkpoint, metrics }) => [checkpoint.path.split("/").at(-1), metrics])).toEqual([
    ["by hand", { step: 0 }],
    ["checkpoint_000004", { step: 1 }],
    // Counted on from the name that the loop took.
    ["checkpoint_000005", { step: 2 }],
  ]);
  expect(readdirSync(elsewhere)).toEqual(["model"]);
});

async function readShards({ root }: { root: string }): Promise<void> {
  const { worldRank } = getContext();
  for (let epoch = 0; epoch < 2; epoch += 1) {
    const ids: number[] = [];
    for await (const batch of getDatasetShard<{ id: number }>("train").iterBatches({ batchSize: 7 })) ids.push(...batch.id.map(Number));
    writeFileSync(join(root, `${epoch}-${worldRank}.json`), JSON.stringify(ids));
  }
  let rows = 0;
  for await (const _ of getDatasetShard("check")) rows += 1;
  let bad = 0;
  for await (const _ of getDatasetShard("bad")) bad += 1;
  await report({ rows, bad });
}

function failOnEach(): never {
  throw new Error("a bad row");
}

test("ranks get parts of a dataset without overlap in each epoch, and all of what is not split", async () => {
  const root = mkdtempSync(join(folder, "shards-"));
  const result = await new DataParallelTrainer({
    trainLoopPerWorker: readShards,
    trainLoopConfig: { root },
    scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
    runConfig: config("shards"),
    datasets: { train: data.range(101), check: data.range(5), bad: data.range(3).map(failOnEach) },
    dataConfig: { datasetsToSplit: ["train"], executionOptions: { bad: { maxErroredBlocks: -1 } } },
  }).fit();
  expect(result.metrics).toEqual({ rows: 5, bad: 0 });
  for (const epoch of [0, 1]) {
    const [a, b] = [0, 1].map((rank) => JSON.parse(readFileSync(join(root, `${epoch}-${rank}.json`), "utf8")) as number[]) as [
      number[],
      number[],
    ];
    expect([a.length, b.length]).toEqual([50, 50]);
    expect(new Set([...a, ...b]).size).toBe(100);
  }
});

test("ranks that outnumber the rows get an error that says so", async () => {
  const run = new DataParallelTrainer({
    trainLoopPerWorker: readShards,
    trainLoopConfig: { root: mkdtempSync(join(folder, "few-")) },
    scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
    runConfig: config("few"),
    datasets: { train: data.range(1), check: data.range(1), bad: data.range(1) },
    dataConfig: { datasetsToSplit: ["train"] },
  }).fit();
  await expect(run).rejects.toThrow(/Cannot give split [01] any row: the dataset "train" has 1 row for 2 splits/);
});

test("with equal: false no row is left out", async () => {
  const root = mkdtempSync(join(folder, "unequal-"));
  await new DataParallelTrainer({
    trainLoopPerWorker: readShards,
    trainLoopConfig: { root },
    scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
    runConfig: config("unequal"),
    datasets: { train: data.range(101), check: data.range(1), bad: data.range(1) },
    dataConfig: { datasetsToSplit: ["train"], equal: false },
  }).fit();
  for (const epoch of [0, 1]) {
    const seen = [0, 1].flatMap((rank) => JSON.parse(readFileSync(join(root, `${epoch}-${rank}.json`), "utf8")) as number[]);
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 101 }, (_, id) => id));
  }
});

test("small values pass between ranks, and what a loop returns does not matter", async () => {
  const result = await new DataParallelTrainer({
    trainLoopPerWorker: async () => {
      const { worldRank } = getContext();
      await collective.barrier();
      const shared = await collective.broadcastFromRankZero({ seed: 7 + worldRank });
      await report(shared);
      return () => "no value of JSON";
    },
    scalingConfig: TWO,
    runConfig: config("small values"),
  }).fit();
  expect(result.metrics).toEqual({ seed: 7 });
});

test("ranks wait for others no longer than they are told to", async () => {
  for (const wait of [() => collective.barrier({ timeoutMs: 300 }), () => collective.broadcastFromRankZero(1, { timeoutMs: 300 })]) {
    const error = await failureOf(
      new DataParallelTrainer({
        trainLoopPerWorker: async () => {
          if (getContext().worldRank === 0) await new Promise((resolve) => setTimeout(resolve, 30_000));
          else await wait();
        },
        scalingConfig: TWO,
        runConfig: config(`limited wait ${String(wait).length}`),
      }).fit(),
    );
    expect(error.message).toContain("not all ranks came within 300 ms");
  }
});

test("numWorkers 0 runs the loop in this process", async () => {
  const seen: number[] = [];
  const result = await new DataParallelTrainer({
    trainLoopPerWorker: async () => {
      seen.push(process.pid);
      const array = Float32Array.of(3);
      await allReduce(array);
      await report({ world: getContext().worldSize, sum: array[0] as number });
      return { seen };
    },
    scalingConfig: { numWorkers: 0 },
    runConfig: config("here"),
  }).fit();
  expect(seen).toEqual([process.pid]);
  expect(result.returnValue).toEqual({ seen });
  expect(result.metrics).toEqual({ world: 1, sum: 3 });
});

test.each(["afterReport", "afterException"] as const)("a callback whose %s fails ends the run, and blames no rank", async (method) => {
  let attempts = 0;
  const callback: TrainCallback = {
    [method]: async () => {
      await Promise.resolve();
      throw new RangeError("the disk is full");
    },
  };
  const error = await failureOf(
    new DataParallelTrainer({
      trainLoopPerWorker: async () => {
        attempts += 1;
        await report({ attempts });
        throw new Error("the loop fails");
      },
      scalingConfig: { numWorkers: 0 },
      runConfig: config(`broken ${method}`, { callbacks: [callback], failureConfig: { maxFailures: 3 } }),
    }).fit(),
  );
  expect(error).toBeInstanceOf(TrainingFailedError);
  expect((error as Error).message).toBe(
    `Training run broken ${method} failed: ${method} of a callback of runConfig failed: the disk is full`,
  );
  expect((error as Error).cause).toBeInstanceOf(RangeError);
  expect(attempts).toBe(1);
});

test("trackers of callbacks follow a run over its attempts", async () => {
  const { path } = await new DataParallelTrainer({
    trainLoopPerWorker: async () => {
      const { attempt } = getContext();
      for (let step = 1; step <= 2; step += 1) await report({ step, attempt });
      if (attempt === 1) throw new Error("once");
    },
    scalingConfig: { numWorkers: 0 },
    runConfig: config("tracked", { callbacks: [new CSVLoggerCallback(), new TBXLoggerCallback()], failureConfig: { maxFailures: 1 } }),
  }).fit();
  const [header = "", ...rows] = readFileSync(join(path, "progress.csv"), "utf8").trim().split("\n");
  const columns = header.split(",");
  const place = ["attempt", "step"].map((name) => columns.indexOf(name));
  expect(rows.map((row) => place.map((at) => Number(row.split(",")[at])))).toEqual([
    [1, 1],
    [1, 2],
    [2, 1],
    [2, 2],
  ]);
  expect(readdirSync(path).filter((name) => name.startsWith("events.out.tfevents"))).toHaveLength(1);
});

test.each(["sync", "async"] as const)(
  "a trainer is a trial of Tune: with the trial's parameters, in its folder, until the scheduler stops it (%s)",
  async (checkpointUploadMode) => {
    const trainer = new DataParallelTrainer({
      trainLoopPerWorker: async ({ lr, momentum, steps }: { lr: number; momentum: number; steps: number }) => {
        const start = (await getCheckpoint()?.getMetadata())?.["step"] ?? 0;
        for (let step = Number(start) + 1; step <= steps; step += 1) {
          const checkpoint = getContext().worldRank === 0 ? Checkpoint.fromDirectory(mkdtempSync(join(tmpdir(), "own-"))) : undefined;
          await checkpoint?.setMetadata({ step });
          const metrics = { step, lr, momentum, trial: getContext().trialName ?? "" };
          await report(metrics, { checkpoint, checkpointUploadMode, deleteLocalCheckpointAfterUpload: true });
        }
      },
      trainLoopConfig: { lr: 1, momentum: 0.5, steps: 5 },
      scalingConfig: TWO,
    });
    const definition = trainer[TRAINABLE]();
    expect(definition.resources({ scalingConfig: { numWorkers: 1 } }).bundles).toEqual([{}, { CPU: 1 }]);
    const reports: unknown[] = [];
    const runTrial = async (stopAt: number, checkpoint: Checkpoint | undefined): Promise<Checkpoint | undefined> => {
      let last: Checkpoint | undefined;
      await definition.run({
        config: { lr: 0.1, trainLoopConfig: { momentum: 0.9 } },
        checkpoint,
        folder: join(folder, `trial ${checkpointUploadMode}`),
        name: "trial_1",
        signal: new AbortController().signal,
        report: async (metrics, stored) => {
          reports.push(metrics);
          last = stored;
          return metrics["step"] === stopAt ? "stop" : "continue";
        },
      });
      return last;
    };
    const paused = await runTrial(2, undefined);
    await runTrial(4, paused);
    expect(reports).toEqual([1, 2, 3, 4].map((step) => ({ step, lr: 0.1, momentum: 0.9, trial: "trial_1" })));
  },
);

describe("what is refused before anything starts", () => {
  const trainLoopPerWorker = async (): Promise<void> => {};
  test.each([
    [
      { trainLoopPerWorker, train_config: { lr: 1 } },
      'Cannot set options of DataParallelTrainer: there is no option "train_config": it is trainLoopConfig',
    ],
    [{ trainLoopPerWorker, numWorkers: 2 }, "it is scalingConfig: { numWorkers }"],
    [{ trainLoopPerWorker, scalingConfig: { num_workers: 2 } }, "it is spelled numWorkers"],
    [{ trainLoopPerWorker, scalingConfig: { numWorkers: -1 } }, "Cannot set numWorkers of scalingConfig"],
    [{ trainLoopPerWorker, scalingConfig: { numWorkers: { min: 3, max: 2 } } }, "Cannot set numWorkers of scalingConfig"],
    [{ trainLoopPerWorker, scalingConfig: { trainer_resources: {} } }, "the controller runs in the program that calls fit"],
    [{ trainLoopPerWorker, datasets: { train: [1, 2] } }, "Cannot set datasets of DataParallelTrainer"],
    [{ trainLoopPerWorker, dataConfig: { datasetsToSplit: ["train"] } }, 'there is no dataset "train"'],
    [
      { trainLoopPerWorker, rayCompatibility: true },
      "Cannot set rayCompatibility of DataParallelTrainer: it says what `import ray` finds in loops of Python",
    ],
    [
      { trainLoopPerWorker: python.task("train.py", "loop"), rayCompatibility: "yes" },
      "Cannot set rayCompatibility of DataParallelTrainer: true or false is needed",
    ],
    [{ trainLoopPerWorker, dataConfig: { enable_shard_locality: false } }, "it is spelled enableShardLocality"],
    [{ trainLoopPerWorker: "train.py" }, "Cannot set trainLoopPerWorker of DataParallelTrainer"],
    [{}, "Cannot set trainLoopPerWorker of DataParallelTrainer"],
  ])("%o", (options, message) => {
    expect(() => new DataParallelTrainer(options as never)).toThrow(message);
  });

  test("a loop of TypeScript for PyTorch", () => {
    expect(() => new TorchTrainer({ trainLoopPerWorker })).toThrow("loops of TypeScript run in a DataParallelTrainer");
  });

  test("more ranks than the machine has CPUs, with the numbers", async () => {
    const trainer = new DataParallelTrainer({ trainLoopPerWorker, scalingConfig: { numWorkers: 3 }, runConfig: config("too many") });
    const error = await failureOf(trainer.fit());
    expect(error).toBeInstanceOf(TrainingFailedError);
    expect(error.message).toContain(
      "there is no room for 3 ranks: they need 3 × (CPU: 1); the cluster has CPU: 2 in all, of which CPU: 2 are free; at most 2 fit: ask for fewer, be elastic with numWorkers: { min: 2, max: 3 }",
    );
  });

  test("a GPU where there is none, without advice that does not help", async () => {
    const scalingConfig = { numWorkers: 1, useGpu: true };
    const error = (await failureOf(
      new DataParallelTrainer({ trainLoopPerWorker, scalingConfig, runConfig: config("no GPU") }).fit(),
    )) as TrainingFailedError;
    expect(error.message).toContain(
      "there is no room for a rank: they need 1 × (GPU: 1); the cluster has GPU: 0 in all, of which GPU: 0 are free; not one fits: lower resourcesPerWorker, or add a node that has as much",
    );
    expect(error.hint).toBeUndefined();
  });

  test("a loop that cannot be sent", async () => {
    const socket = new (await import("node:net")).Socket();
    const trainer = new DataParallelTrainer({ trainLoopPerWorker: () => socket.destroyed, runConfig: config("unsendable") });
    expect((await failureOf(trainer.fit())).message).toContain("socket");
  });

  test("metrics that are no JSON, and calls outside of a loop", async () => {
    const trainer = new DataParallelTrainer({
      trainLoopPerWorker: () => report({ loss: { deep: new Map() } } as never),
      runConfig: config("no JSON"),
    });
    const error = (await failureOf(trainer.fit())) as TrainingFailedError;
    expect(error.message).toContain("Training run no JSON failed: rank 0 failed: Cannot report: loss.deep must be a value of JSON");
    expect([...error.workerFailures.keys()]).toEqual([0]);
    expect((await failureOf(report({}))).message).toContain("this code runs in no training loop");
    expect(existsSync(join(folder, "no JSON", "error.txt"))).toBe(true);
  });
});

test("an operation on arrays fails at once where another rank's loop has ended, before its first or after some", async () => {
  for (const first of [0, 1]) {
    const begun = Date.now();
    const error = await failureOf(
      new DataParallelTrainer({
        trainLoopPerWorker: async () => {
          const count = getContext().worldRank === 0 ? first + 1 : first;
          for (let step = 0; step < count; step += 1) await allReduce(Float64Array.of(1));
        },
        scalingConfig: TWO,
        runConfig: config(`ends after ${first}`),
      }).fit(),
    );
    const text = [error, error.cause].map((each) => (each as Error | undefined)?.message).join();
    expect(text).toContain(`the loop of rank 1 has ended after ${first} operation`);
    expect(Date.now() - begun).toBeLessThan(30_000);
  }
});

test("an operation on arrays ends after its timeoutMs", async () => {
  const error = await failureOf(
    new DataParallelTrainer({
      trainLoopPerWorker: async () => {
        if (getContext().worldRank === 0) await allReduce(Float64Array.of(1), { timeoutMs: 500 });
        else await report({ late: await new Promise<number>((resolve) => setTimeout(resolve, 5000, 1)) });
      },
      scalingConfig: TWO,
      runConfig: config("late"),
    }).fit(),
  );
  const text = [error, error.cause].map((each) => (each as Error | undefined)?.message).join();
  expect(text).toContain("not all ranks came within 500 ms");
});
