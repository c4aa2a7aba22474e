/** The examples of Tune that need packages of Python: torch with ASHA, XGBoost with Optuna; and a torch trainer under a whole `Tuner`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import { TorchTrainer } from "shoal/train";
import { gridSearch, Tuner } from "shoal/tune";
import { describe, expect, test } from "vitest";
import { environment } from "../frameworks/environments.ts";
import { runProgram } from "../house/run-program.ts";
import { unless } from "../integration/python-places.ts";
import { pythonWithSearchers } from "./python-searchers.ts";

const torch = environment("torch");
const boosters = environment("boosters");
const noTorch = "problem" in torch ? torch.problem : undefined;
const noBoosters = "problem" in boosters ? boosters.problem : undefined;
const LOOPS = new URL("../frameworks/loops/curve.py", import.meta.url);

describe.skipIf(noTorch !== undefined)(`torch${unless(noTorch)}`, () => {
  const venv = "venv" in torch ? torch.venv : "";

  test("tune-torch: finds a network, and ends others early", async () => {
    const run = await runProgram(["examples/tune-torch.ts", join(venv, "bin", "python3")]);
    expect(run.stderr).toBe("");
    expect(run.stdout).toBe("12 trials, some ended early\nthe best tells more than 95 % apart: true, and its checkpoint is kept: true\n");
  });

  test("a TorchTrainer runs as trials, on two ranks each", async () => {
    const storagePath = mkdtempSync(join(tmpdir(), "test-shoal-tune-torch-"));
    await init({ numCpus: 2, logToDriver: false });
    try {
      const trainer = new TorchTrainer<{ epochs: number }, { losses: number[]; epoch: number }>({
        trainLoopPerWorker: python.task(LOOPS, "train_loop"),
        scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
        runtimeEnv: { python: venv },
      });
      const results = await new Tuner(trainer, {
        paramSpace: { trainLoopConfig: { epochs: gridSearch([1, 3]) } },
        tuneConfig: { metric: "epoch", mode: "max" },
        runConfig: { storagePath, name: "torch" },
      }).fit();
      expect(results.errors.map(({ message }) => message)).toEqual([]);
      expect(Array.from(results, ({ metrics }) => metrics?.["epoch"])).toEqual([0, 2]);
      expect(results.getBestResult().checkpoint).toBeDefined();
    } finally {
      await shutdown();
      rmSync(storagePath, { recursive: true });
    }
  });
});

test.skipIf(noBoosters !== undefined)(`tune-xgboost: Optuna finds better parameters${unless(noBoosters)}`, async () => {
  const venv = "venv" in boosters ? boosters.venv : "";
  const run = await runProgram(["examples/tune-xgboost.ts", join(venv, "bin", "python3"), pythonWithSearchers()]);
  expect(run.stderr).toBe("");
  expect(run.stdout).toBe("16 trials of 30 rounds\nthe best is better than the first: true\n");
});
