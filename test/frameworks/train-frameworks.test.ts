/** Frameworks on two ranks of Shoal, each in a separate environment: together the ranks learn the same as one process. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import * as data from "shoal/data";
import {
  type Checkpoint,
  DataParallelTrainer,
  HorovodTrainer,
  JaxTrainer,
  LightGBMTrainer,
  type RunConfig,
  type ScalingConfig,
  TensorflowTrainer,
  TorchTrainer,
} from "shoal/train";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unless } from "../integration/python-places.ts";
import { environment, type EnvironmentName } from "./environments.ts";

interface Learned {
  losses: number[];
  alone: number[];
}

interface Common {
  scalingConfig: ScalingConfig;
  runConfig: RunConfig;
  runtimeEnv: { python: string };
}

const loopOf = (file: string, name = "train_loop") =>
  python.task<(config: object) => void>(new URL(`loops/${file}.py`, import.meta.url), name);

function expectAlike(actual: readonly number[] | undefined, expected: readonly number[] | undefined): void {
  expect(actual).toHaveLength(expected?.length ?? -1);
  for (const [index, value] of (expected ?? []).entries()) expect(actual?.[index]).toBeCloseTo(value, 5);
}

/** The tests of an environment, which are skipped where there is none. */
function inEnvironment(name: EnvironmentName, tests: (common: (run: string, maxFailures?: number) => Common) => void): void {
  const found = environment(name);
  const problem = "problem" in found ? found.problem : undefined;
  describe.skipIf(problem !== undefined)(`${name}${unless(problem)}`, () => {
    const storagePath = mkdtempSync(join(tmpdir(), `test-shoal-${name}-`));
    beforeAll(() => init({ numCpus: 2, logToDriver: false }));
    afterAll(async () => {
      await shutdown();
      rmSync(storagePath, { recursive: true, force: true });
    });
    let runs = 0;
    tests((run, maxFailures = 0) => ({
      scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
      runConfig: { name: `${run}-${(runs += 1)}`, storagePath, failureConfig: { maxFailures } },
      runtimeEnv: { python: "venv" in found ? found.venv : "" },
    }));
  });
}

inEnvironment("torch", (common) => {
  test.each(["prepare_model", "fully_shard"])("FSDP by %s learns as one process does, and no rank holds all of it", async (way) => {
    const { metrics, checkpoint } = await new TorchTrainer<object, Learned & { held: number }>({
      trainLoopPerWorker: loopOf("fsdp"),
      trainLoopConfig: { way, steps: 3 },
      ...common(way),
    }).fit();
    expectAlike(metrics?.losses, metrics?.alone);
    expect(metrics?.held).toBeLessThan(97);
    // Each rank has written its part.
    if (way === "fully_shard")
      expect(readdirSync(join(checkpoint?.path ?? "", "dcp")).toSorted()).toEqual([".metadata", "__0_0.distcp", "__1_0.distcp"]);
  });
});

inEnvironment("deepspeed", (common) => {
  test.each([1, 2, 3])("ZeRO %i learns as one process does", async (stage) => {
    const { metrics, checkpoint } = await new TorchTrainer<object, Learned & { stage: number }>({
      trainLoopPerWorker: loopOf("deepspeed_zero"),
      trainLoopConfig: { stage, steps: 3 },
      ...common(`zero-${stage}`),
    }).fit();
    expect(metrics?.stage).toBe(stage);
    expectAlike(metrics?.losses, metrics?.alone);
    expect(partsOf(join(checkpoint?.path ?? "", "last"))).toEqual([0, 1]);
  });

  test("Lightning with DeepSpeed learns as one process does", async () => {
    const { metrics, checkpoint } = await new TorchTrainer<object, Learned>({
      trainLoopPerWorker: loopOf("lightning_strategies"),
      trainLoopConfig: { strategy: "deepspeed", epochs: 2 },
      ...common("lightning"),
    }).fit();
    expectAlike(metrics?.losses, metrics?.alone);
    expect(partsOf(join(checkpoint?.path ?? "", "checkpoint.ckpt", "checkpoint"))).toEqual([0, 1]);
  });
});

/** The ranks whose parts of the optimizer's state are in a checkpoint of DeepSpeed. */
function partsOf(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => /zero_pp_rank_(\d+)_.*optim_states/.exec(name)?.slice(1) ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
}

inEnvironment("megatron", (common) => {
  test("layers of Megatron-core that lie on two ranks give what whole layers give", async () => {
    const { metrics } = await new TorchTrainer<object, { difference: number; gradient: number }>({
      trainLoopPerWorker: loopOf("megatron_parallel"),
      ...common("parallel"),
    }).fit();
    expect(metrics).toMatchObject({ world: 2, held: 24 });
    expect(metrics?.difference).toBeLessThan(1e-5);
    expect(metrics?.gradient).toBeLessThan(1e-5);
  });
});

inEnvironment("lightning", (common) => {
  test.each(["ddp", "fsdp"])("Lightning with %s learns as one process does", async (strategy) => {
    const { metrics, checkpoint } = await new TorchTrainer<object, Learned>({
      trainLoopPerWorker: loopOf("lightning_strategies"),
      trainLoopConfig: { strategy, epochs: 2 },
      ...common(strategy),
    }).fit();
    expectAlike(metrics?.losses, metrics?.alone);
    expect(readdirSync(checkpoint?.path ?? "")).toContain("checkpoint.ckpt");
  });
});

inEnvironment("tensorflow", (common) => {
  test("Keras under MultiWorkerMirroredStrategy reports and keeps its model", async () => {
    const { metrics, checkpoint } = await new TensorflowTrainer<object, { history: number[] }>({
      trainLoopPerWorker: loopOf("keras_loop"),
      trainLoopConfig: { epochs: 2, seed: 1 },
      ...common("keras"),
    }).fit();
    expect(metrics).toMatchObject({ replicas: 2, index: 0, workers: 2 });
    expect(metrics?.history[1]).toBeLessThan(metrics?.history[0] as number);
    expect(readdirSync(checkpoint?.path ?? "")).toContain("model.keras");
  });
});

inEnvironment("jax", (common) => {
  test("JAX sees the devices of all ranks", async () => {
    const { metrics } = await new JaxTrainer<object, { difference: number }>({
      trainLoopPerWorker: loopOf("jax_loop"),
      trainLoopConfig: { steps: 3 },
      ...common("jax"),
    }).fit();
    expect(metrics).toMatchObject({ devices: 2, local: 1, rank: 0, platform: "cpu" });
    expect(metrics?.difference).toBeLessThan(1e-6);
  });
});

inEnvironment("boosters", (common) => {
  const LOOPS = new URL("loops/lightgbm_boosters.py", import.meta.url);
  const PARAMS = { objective: "regression", metric: "l2", num_threads: 1, verbosity: -1 };
  const ROUNDS = 6;
  // Few values a column, and each often enough, so that the bins do not depend on which rank has which rows.
  const rows = data.fromItems(Array.from({ length: 2000 }, (_, i) => ({ x: i % 50, z: (i * 7) % 11, y: (i % 50) * 2 + ((i * 7) % 11) })));
  const trained = async (numWorkers: number, checkpointFrequency = 0) =>
    await new LightGBMTrainer<object, { "train-l2": number }>({
      params: PARAMS,
      labelColumn: "y",
      numBoostRound: ROUNDS,
      checkpointFrequency,
      datasets: { train: rows },
      ...common("lightgbm"),
      scalingConfig: { numWorkers, resourcesPerWorker: { CPU: 0.5 } },
    }).fit();

  /** Predictions of a checkpoint's model for each hundredth row of a dataset. */
  async function predictionsOf(checkpoint: Checkpoint | undefined): Promise<number[]> {
    const predict = python.actor(LOOPS, "Predict", { runtimeEnv: common("predict").runtimeEnv });
    const options = { batchFormat: "pandas", constructorArgs: [checkpoint?.path], concurrency: 1 };
    const predicted = rows.limit(200).mapBatches(predict as never, options as never) as data.Dataset<{ predicted: number }>;
    return (await predicted.takeAll()).map((row) => row.predicted);
  }

  test("LightGBM on two ranks makes the model of one, and datasets predict with it", async () => {
    const [one, two] = [await trained(1), await trained(2, 2)];
    expect(readdirSync(two.checkpoint?.path ?? "")).toContain("model.txt");
    const [ofOne, ofTwo] = [await predictionsOf(one.checkpoint), await predictionsOf(two.checkpoint)];
    expect(ofTwo).toHaveLength(200);
    expect(new Set(ofTwo).size).toBeGreaterThan(20);
    expectAlike(ofTwo, ofOne);
  });

  test("a killed rank of LightGBM costs no round that was checkpointed", async () => {
    const { metrics, checkpoint } = await new LightGBMTrainer<object, { error: number; start: number }>({
      trainLoopPerWorker: python.task(LOOPS, "resumed"),
      trainLoopConfig: { params: PARAMS, rounds: ROUNDS, killed_at: 4 },
      datasets: { train: rows },
      ...common("killed", 1),
    }).fit();
    expect(Object.keys(metrics ?? {}).toSorted()).toEqual(["error", "start"]);
    expect(metrics?.start).toBe(4);
    expectAlike(await predictionsOf(checkpoint), await predictionsOf((await trained(1)).checkpoint));
  });
});

inEnvironment("horovod", (common) => {
  test("Horovod learns as one process does", async () => {
    const { metrics } = await new HorovodTrainer<object, Learned & { places: number[][]; gloo: boolean }>({
      trainLoopPerWorker: loopOf("horovod_loop"),
      trainLoopConfig: { steps: 3 },
      ...common("horovod"),
    }).fit();
    expectAlike(metrics?.losses, metrics?.alone);
    expect(metrics?.places).toEqual([
      [0, 2, 0, 2, 0, 1],
      [1, 2, 1, 2, 0, 1],
    ]);
    expect(metrics?.gloo).toBe(true);
  });
});

// Where Horovod cannot be built, this much is known.
inEnvironment("torch", (common) => {
  test("Horovod's environment is set on each rank", async () => {
    const { metrics } = await new DataParallelTrainer<object, { env: Record<string, string> }>({
      trainLoopPerWorker: loopOf("horovod_environment"),
      backend: {
        onTrainingStart: async (group) => {
          const slots = group.ranks.map(({ hostname, rank, localRank, localWorldSize, nodeRank }) => ({
            hostname,
            rank,
            localRank,
            localSize: localWorldSize,
            crossRank: nodeRank,
            crossSize: 1,
          }));
          await group.setUp("horovod", { slots, first: "127.0.0.1:1234" });
        },
      },
      ...common("horovod"),
    }).fit();
    expect(metrics?.env).toMatchObject({
      HOROVOD_RANK: "0",
      HOROVOD_SIZE: "2",
      HOROVOD_LOCAL_RANK: "0",
      HOROVOD_LOCAL_SIZE: "2",
      HOROVOD_CROSS_RANK: "0",
      HOROVOD_CROSS_SIZE: "1",
      HOROVOD_CONTROLLER: "gloo",
      HOROVOD_GLOO_RENDEZVOUS_ADDR: "127.0.0.1",
      HOROVOD_GLOO_RENDEZVOUS_PORT: "1234",
    });
  });
});
