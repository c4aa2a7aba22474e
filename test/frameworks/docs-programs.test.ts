/** The programs of docs/train-frameworks.md: each runs as it stands there, on two ranks, and reports a loss. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import * as data from "shoal/data";
import { HorovodTrainer, JaxTrainer, LightGBMTrainer, TensorflowTrainer, TorchTrainer, XGBoostTrainer } from "shoal/train";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { unless } from "../integration/python-places.ts";
import { environment, type EnvironmentName } from "./environments.ts";

interface Framework {
  readonly environment: EnvironmentName;
  readonly trainer?: typeof TorchTrainer | typeof XGBoostTrainer;
  readonly hasDataset?: boolean;
}

/** By the heading below which its program stands. */
const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  PyTorch: { environment: "torch" },
  FSDP: { environment: "torch" },
  DeepSpeed: { environment: "deepspeed" },
  "Megatron-core": { environment: "megatron" },
  Horovod: { environment: "horovod", trainer: HorovodTrainer },
  Lightning: { environment: "lightning" },
  Transformers: { environment: "transformers" },
  Accelerate: { environment: "transformers" },
  TensorFlow: { environment: "tensorflow", trainer: TensorflowTrainer },
  JAX: { environment: "jax", trainer: JaxTrainer },
  XGBoost: { environment: "boosters", trainer: XGBoostTrainer, hasDataset: true },
  LightGBM: { environment: "boosters", trainer: LightGBMTrainer, hasDataset: true },
};

const PROGRAMS = new Map(
  readFileSync(join(REPOSITORY, "docs", "train-frameworks.md"), "utf8")
    .split(/^## /m)
    .flatMap((section): [string, string][] => {
      const [, code] = /```python\n([\s\S]*?)```/.exec(section) ?? [];
      return code === undefined ? [] : [[section.slice(0, section.indexOf("\n")), code]];
    }),
);

test("each framework has a program", () => {
  expect([...PROGRAMS.keys()]).toEqual(Object.keys(FRAMEWORKS));
});

describe.each(Object.entries(FRAMEWORKS))("%s", (title, { environment: name, trainer: Trainer = TorchTrainer, hasDataset = false }) => {
  const found = environment(name);
  const problem = "problem" in found ? found.problem : undefined;
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-docs-"));
  beforeAll(() => init({ numCpus: 2, logToDriver: false }));
  afterAll(async () => {
    await shutdown();
    rmSync(folder, { recursive: true, force: true });
  });

  test.skipIf(problem !== undefined)(`runs as it stands there${unless(problem)}`, async () => {
    const file = join(folder, "train.py");
    writeFileSync(file, PROGRAMS.get(title) ?? "");
    const rows = data.fromItems(Array.from({ length: 500 }, (_, i) => ({ x: i % 50, y: (i % 50) * 2 })));
    const { metrics } = await new Trainer<object>({
      trainLoopPerWorker: python.task(file, "train_loop"),
      trainLoopConfig: { lr: 0.05, epochs: 2, folder: join(folder, "saved") },
      scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
      runConfig: { name: "program", storagePath: folder },
      ...(hasDataset ? { datasets: { train: rows } } : {}),
      runtimeEnv: { python: "venv" in found ? found.venv : "" },
    }).fit();
    const loss = Object.entries(metrics ?? {}).find(([key]) => key.endsWith("loss"))?.[1];
    expect(loss).toBeTypeOf("number");
    expect(Number.isFinite(loss)).toBe(true);
  });
});
