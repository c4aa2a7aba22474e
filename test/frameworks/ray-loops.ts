/**
 * The files of `ray-loops/`: loops as Ray's users write them, each with the driver that runs it on Ray. Here their loops run on Shoal, unchanged, and the whole files on the real Ray.
 *
 * `recorded.json` has the results of the real Ray (`ray[train]==2.60.0`); `npm run test:frameworks` runs both sides and compares them.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { python } from "shoal";
import * as data from "shoal/data";
import { LightGBMTrainer, TorchTrainer, XGBoostTrainer } from "shoal/train";
import { environment, type EnvironmentName, packagesOf } from "./environments.ts";

const FOLDER = join(import.meta.dirname, "ray-loops");
const RECORDED = join(FOLDER, "recorded.json");

interface RayLoop {
  readonly file: string;
  readonly loop: string;
  readonly environment: EnvironmentName;
  readonly config: Readonly<Record<string, unknown>>;
  readonly trainer?: typeof TorchTrainer | typeof XGBoostTrainer | typeof LightGBMTrainer;
  readonly datasets?: () => Record<string, data.Dataset>;
  readonly datasetsToSplit?: readonly string[];
  readonly maxFailures?: number;
  /** Names of metrics that are times, or places. */
  readonly varying?: readonly string[];
}

export interface LoopResult {
  readonly metrics: Record<string, unknown>;
  /** Files of the last checkpoint. */
  readonly files?: readonly string[];
}

const items = (start: number, end: number): data.Dataset => data.fromItems(Array.from({ length: end - start }, (_, i) => row(start + i)));
const row = (i: number): object => ({ x: i % 50, z: (i * 7) % 11, y: (i % 50) * 2 + ((i * 7) % 11) });

export const RAY_LOOPS: readonly RayLoop[] = [
  {
    file: "torch_regressor",
    loop: "train_loop_per_worker",
    environment: "torch",
    config: { seed: 1, width: 8, lr: 0.05, batch_size: 16, epochs: 3 },
  },
  {
    file: "torch_dataset_shards",
    loop: "train_func",
    environment: "torch",
    config: { num_epochs: 3, lr: 0.3, rows: 200 },
    datasets: () => ({ train: data.range(200), validation: data.range(50) }),
    datasetsToSplit: ["train"],
  },
  {
    file: "torch_classifier_context",
    loop: "train_func_per_worker",
    environment: "torch",
    config: { seed: 5, batch_size: 16, lr: 0.01, epochs: 2 },
  },
  {
    file: "torch_fault_tolerance",
    loop: "train_func",
    environment: "torch",
    config: { steps: 4, lr: 0.2, fails_at: 2 },
    maxFailures: 1,
  },
  {
    file: "xgboost_loop",
    loop: "train_fn_per_worker",
    environment: "boosters",
    config: { num_boost_round: 5, eta: 0.3 },
    trainer: XGBoostTrainer,
    datasets: () => ({ train: items(0, 1000), validation: items(1000, 1200) }),
  },
  {
    file: "lightgbm_loop",
    loop: "train_fn_per_worker",
    environment: "boosters",
    config: { num_boost_round: 6, learning_rate: 0.2 },
    trainer: LightGBMTrainer,
    datasets: () => ({ train: items(0, 2000), validation: items(2000, 2200) }),
    datasetsToSplit: ["train"],
  },
  { file: "lightning_classifier", loop: "train_func", environment: "lightning", config: { seed: 3, lr: 0.1, epochs: 2 } },
  {
    file: "transformers_tiny",
    loop: "train_func",
    environment: "transformers",
    config: { seed: 3, lr: 0.001, epochs: 2 },
    varying: ["eval_runtime", "eval_samples_per_second", "eval_steps_per_second"],
  },
  { file: "accelerate_loop", loop: "train_func", environment: "transformers", config: { seed: 3, lr: 0.01, epochs: 2 } },
];

/** Runs the loop on Shoal. `storagePath`: an empty folder. */
export async function runOnShoal(of: RayLoop, venv: string, storagePath: string): Promise<LoopResult> {
  const { file, loop, config, trainer: Trainer = TorchTrainer, datasets, datasetsToSplit, maxFailures = 0 } = of;
  const trainer = new Trainer({
    trainLoopPerWorker: python.task(join(FOLDER, `${file}.py`), loop),
    trainLoopConfig: { ...config, folder: storagePath },
    scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
    runConfig: { name: file, storagePath, failureConfig: { maxFailures } },
    ...(datasets === undefined ? {} : { datasets: datasets() }),
    ...(datasetsToSplit === undefined ? {} : { dataConfig: { datasetsToSplit } }),
    runtimeEnv: { python: venv },
  });
  const { metrics, checkpoint } = await trainer.fit();
  return compared(of, {
    metrics: { ...metrics },
    ...(checkpoint === undefined
      ? {}
      : {
          files: readdirSync(checkpoint.path)
            .filter((name) => name !== ".checkpoint.json")
            .toSorted(),
        }),
  });
}

/** How much of the output of a failed run is told. */
const ERRORS_MAX = 4000;

/** Runs the whole file with the real Ray. */
export async function runOnRay(of: RayLoop, storagePath: string): Promise<LoopResult> {
  const ray = environment("ray");
  if ("problem" in ray) throw new Error(ray.problem);
  const temporary = mkdtempSync(join(tmpdir(), "ray-"));
  const child = spawn(
    join(ray.venv, "bin", "python3"),
    [join(FOLDER, `${of.file}.py`), JSON.stringify({ ...of.config, folder: storagePath }), storagePath],
    {
      env: {
        ...process.env,
        PYTHONPATH: packagesOf(of.environment),
        RAY_USAGE_STATS_ENABLED: "0",
        RAY_raylet_start_wait_time_s: "150",
        // Apart from other clusters of this machine, which have files and a token in the places that are usual.
        RAY_TMPDIR: temporary,
        RAY_AUTH_MODE: "disabled",
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-ERRORS_MAX)));
  await new Promise((resolve) => child.once("close", resolve));
  rmSync(temporary, { recursive: true, force: true });
  const line = output.split("\n").findLast((one) => one.startsWith("RESULT "));
  if (line === undefined) throw new Error(`${of.file} gave no result on Ray:\n${output.slice(-ERRORS_MAX)}\n${errors}`);
  return compared(of, JSON.parse(line.slice("RESULT ".length).replaceAll(/\bNaN\b/g, "null")) as LoopResult);
}

/** Recorded result of the real Ray; undefined where none was recorded. */
export function recorded(of: RayLoop): LoopResult | undefined {
  return allRecorded()[of.file];
}

export function record(of: RayLoop, result: LoopResult): void {
  writeFileSync(RECORDED, `${JSON.stringify({ ...allRecorded(), [of.file]: result }, null, 2)}\n`);
}

function allRecorded(): Record<string, LoopResult> {
  return JSON.parse(readFileSync(RECORDED, "utf8")) as Record<string, LoopResult>;
}

function compared({ varying = [] }: RayLoop, { metrics, files }: LoopResult): LoopResult {
  return {
    metrics: Object.fromEntries(Object.entries(metrics).filter(([name]) => !varying.includes(name))),
    // Files whose names begin with a dot are what each side keeps for itself, but for the metadata, which are Ray's.
    ...(files === undefined ? {} : { files: files.filter((name) => !name.startsWith(".") || name === ".metadata.json") }),
  };
}
