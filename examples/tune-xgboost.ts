/**
 * Searches the parameters of XGBoost (`tune_xgboost.py` beside this file) with Optuna.
 *
 * Run: node examples/tune-xgboost.ts [PYTHON [PYTHON_OF_OPTUNA [TRIALS]]], each an interpreter or a virtual environment: one that has xgboost, and one that has optuna. Default: python3.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import { loguniform, OptunaSearch, randint, Tuner, uniform } from "shoal/tune";

interface Config {
  params: { eta: number; max_depth: number; subsample: number; min_child_weight: number };
  rounds: number;
}

const [interpreter = "python3", withOptuna = interpreter, trials = "16"] = process.argv.slice(2);
const storagePath = mkdtempSync(join(tmpdir(), "shoal-tune-xgboost-"));
await init({ logToDriver: false });
try {
  const train = python.task<(config: Config) => void>(new URL("tune_xgboost.py", import.meta.url), "train", {
    runtimeEnv: { python: interpreter },
  });
  const results = await new Tuner(train, {
    paramSpace: {
      params: { eta: loguniform(0.01, 1), max_depth: randint(1, 10), subsample: uniform(0.3, 1), min_child_weight: loguniform(0.5, 50) },
      rounds: 30,
    },
    tuneConfig: {
      metric: "rmse",
      mode: "min",
      numSamples: Number(trials),
      searchAlg: new OptunaSearch({ seed: 1, runtimeEnv: { python: withOptuna } }),
    },
    runConfig: { name: "trees", storagePath },
  }).fit();
  for (const { message } of results.errors) console.error(message);
  const losses = Array.from(results, ({ metrics }) => Number(metrics?.["rmse"]));
  console.log(`${results.length} trials of ${Number(results.at(0)?.metrics?.["rounds"])} rounds`);
  console.log(`the best is better than the first: ${Math.min(...losses) < (losses[0] ?? 0)}`);
} finally {
  await shutdown();
  rmSync(storagePath, { recursive: true });
}
