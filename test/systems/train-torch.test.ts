/**
 * PyTorch on two ranks, over gloo: the gradients of a whole batch, the curve of `torchrun`, parts of the data, and a run that goes on when a rank is killed.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { init, python, shutdown } from "shoal";
import * as data from "shoal/data";
import { TorchTrainer, type TrainingFailedError } from "shoal/train";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environment } from "../frameworks/environments.ts";
import { runProgram } from "../house/run-program.ts";
import { unless } from "../integration/python-places.ts";
import { failureOf, isAlive, shoalProcesses, until } from "../integration/session.ts";

const found = environment("torch");
const problem = "problem" in found ? found.problem : undefined;
const venv = "venv" in found ? found.venv : "";
const LOOPS = new URL("../frameworks/loops/curve.py", import.meta.url);
const EPOCHS = 4;

describe.skipIf(problem !== undefined)(`torch on two ranks${unless(problem)}`, () => {
  const storagePath = mkdtempSync(join(tmpdir(), "test-shoal-torch-"));
  let runs = 0;

  beforeAll(() => init({ numCpus: 2, logToDriver: false }));
  afterAll(async () => {
    await shutdown();
    rmSync(storagePath, { recursive: true, force: true });
  });

  function trainer<M extends object>(
    loop: string,
    options: { config?: object; maxFailures?: number; datasets?: Record<string, data.Dataset>; python?: string } = {},
  ) {
    const { config = {}, maxFailures = 0, datasets = {}, python: interpreter = venv } = options;
    return new TorchTrainer<object, M>({
      trainLoopPerWorker: python.task(LOOPS, loop),
      trainLoopConfig: config,
      scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
      runConfig: { name: `run-${(runs += 1)}`, storagePath, failureConfig: { maxFailures } },
      datasets,
      runtimeEnv: { python: interpreter },
    });
  }

  test("the gradients are those of one process with the whole batch", async () => {
    const { metrics } = await trainer<{ difference: number }>("gradients").fit();
    expect(metrics).toMatchObject({ wrapper: "DistributedDataParallel", backend: "gloo", threads: 1 });
    expect(metrics?.difference).toBeLessThan(1e-6);
  });

  test("the losses are those of torchrun, and stay so when a rank is killed; nothing that it has forked is left", async () => {
    const torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", fileURLToPath(LOOPS), String(EPOCHS)];
    const expected = JSON.parse(
      execFileSync(join(venv, "bin", "python3"), torchrun, {
        encoding: "utf8",
        env: { ...process.env, OMP_NUM_THREADS: "1" },
        stdio: ["ignore", "pipe", "ignore"],
      }),
    ) as number[];
    const plain = await trainer<{ losses: number[] }>("train_loop", { config: { epochs: EPOCHS } }).fit();
    expect(plain.metrics?.losses).toEqual(expected);
    expect(expected.at(-1)).toBeLessThan(expected[3] as number);

    const pids = join(storagePath, "pids");
    const config = { epochs: EPOCHS, kill_at: 2, pids, loader_workers: 2 };
    const survived = await trainer<{ losses: number[]; helpers: number[] }>("train_loop", { config, maxFailures: 1 }).fit();
    expect(survived.metrics).toMatchObject({ losses: expected, epoch: EPOCHS - 1, start: 2 });
    const forked = [...(JSON.parse(readFileSync(pids, "utf8")) as number[]), ...(survived.metrics?.helpers ?? [])];
    expect(forked).toHaveLength(5);
    await until(() => !forked.some(isAlive), "processes of ranks and of their loaders to be gone");
    expect(shoalProcesses({ kind: "worker" }).length).toBeLessThan(8);
  });

  test("programs that torchrun starts are ranks in local mode, and go on together from the checkpoint of the first", () => {
    const folder = mkdtempSync(join(storagePath, "launched-"));
    const config = JSON.stringify({ epochs: EPOCHS, kill_at: 2, pids: join(folder, "pids") });
    const program = fileURLToPath(new URL("torchrun-program.ts", import.meta.url));
    const torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--max-restarts", "1", "--no-python"];
    execFileSync(join(venv, "bin", "python3"), [...torchrun, process.execPath, program, venv, folder, config], {
      env: { ...process.env, OMP_NUM_THREADS: "1" },
      stdio: "ignore",
    });
    const [first, second] = [0, 1].map(
      (rank) => JSON.parse(readFileSync(join(folder, `metrics-${rank}.json`), "utf8")) as Record<string, unknown>,
    );
    expect(first).toMatchObject({ epoch: EPOCHS - 1 });
    // The first program may have reported the epoch in which the other one lost its rank.
    expect([2, 3]).toContain(first?.["start"]);
    // Each rank has the losses of all ranks.
    expect(second).toEqual(first);
    // Two programs, each with a session and torch, start twice.
  }, 300_000);

  test("parts of a dataset are disjoint and whole, in each epoch", async () => {
    const { metrics } = await trainer<{ rows: number[][] }>("shards", { datasets: { train: data.range(1000) } }).fit();
    const rows = metrics?.rows ?? [];
    expect(rows.map((part) => part.length)).toEqual([500, 500]);
    expect(rows.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, id) => id));
  });

  test("a DataLoader is parted, and mixed anew in each epoch", async () => {
    const { metrics } = await trainer<{ epochs: number[][][]; batches: number }>("loader").fit();
    expect(metrics).toMatchObject({ batches: 5, is_loader: true });
    const [first, second] = metrics?.epochs ?? [];
    for (const epoch of [first, second]) expect(epoch?.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, id) => id));
    expect(second).not.toEqual(first);
  });

  test("ranks meet and hear what rank 0 says; numbers of torch are numbers", async () => {
    const { metrics } = await trainer("small_talk").fit();
    expect(metrics).toEqual({ said: "{'of': (0, 'x')}", rank: 0, list: [[1.5, 2.5]], nan: Number.NaN });
  });

  test("the example trains to its end", async () => {
    const run = await runProgram(["examples/train-torch.ts", venv, "3"]);
    expect(run).toMatchObject({ exitCode: 0, stderr: "" });
    expect(run.stdout).toMatch(/^epoch 2: 4096 rows a rank, loss 0\.\d{4}, 2 checkpoints$/m);
  });

  test("a Python without torch is named, with the command that installs it", async () => {
    const bare = join(storagePath, "bare");
    execFileSync("python3", ["-m", "venv", "--without-pip", bare]);
    const failure = (await failureOf(trainer("gradients", { python: bare }).fit())) as TrainingFailedError;
    expect(failure.code).toBe("TRAINING_FAILED");
    expect(failure.message).toMatch(/has no module torch.*bare\/bin\/python[^ ]* -m pip install torch/s);
  });
});
