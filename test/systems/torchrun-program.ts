/**
 * A program that torchrun starts for each rank: trains in local mode, and writes the rank's metrics. Arguments: the venv, the storage, the
 * configuration as JSON.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { python, shutdown } from "shoal";
import { TorchTrainer } from "shoal/train";

const [venv, storagePath, config] = process.argv.slice(2) as [string, string, string];
const { metrics } = await new TorchTrainer({
  trainLoopPerWorker: python.task(new URL("../frameworks/loops/curve.py", import.meta.url), "train_loop"),
  trainLoopConfig: JSON.parse(config) as object,
  scalingConfig: { numWorkers: 0 },
  runConfig: { name: "launched", storagePath },
  runtimeEnv: { python: venv },
}).fit();
writeFileSync(join(storagePath, `metrics-${process.env["RANK"]}.json`), JSON.stringify(metrics));
await shutdown();
