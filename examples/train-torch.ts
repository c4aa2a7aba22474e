/**
 * Trains a network of PyTorch on two ranks, with data that Shoal streams to them. The loop is `train_torch.py`.
 *
 *   node examples/train-torch.ts VENV [EPOCHS]
 *
 * VENV: a virtual environment with torch, numpy and pyarrow. A rank that dies does not end the run, which goes on from its last checkpoint.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import * as data from "shoal/data";
import { TorchTrainer } from "shoal/train";

const [venv, epochs = "10"] = process.argv.slice(2);
if (venv === undefined) {
  console.error("usage: node examples/train-torch.ts VENV [EPOCHS]");
  process.exit(2);
}

const ROWS = 8192;
const folder = mkdtempSync(join(tmpdir(), "shoal-train-torch-"));
try {
  await init({ numCpus: 2 });
  const trainer = new TorchTrainer<{ lr: number; epochs: number }, { epoch: number; loss: number; rows: number }>({
    trainLoopPerWorker: python.task(new URL("train_torch.py", import.meta.url), "train_loop"),
    trainLoopConfig: { lr: 0.01, epochs: Number(epochs) },
    // Half a CPU each, so that the tasks that read the data find one, too.
    scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
    runConfig: { name: "sine", storagePath: folder, failureConfig: { maxFailures: 1 }, checkpointConfig: { numToKeep: 2 } },
    datasets: {
      train: data.range(ROWS).map(({ id }) => ({ x: (2 * id) / ROWS - 1, y: Math.sin((6 * id) / ROWS - 3) })),
    },
    runtimeEnv: { python: venv },
  });
  const { metrics, bestCheckpoints } = await trainer.fit();
  console.log(
    `epoch ${metrics?.epoch}: ${metrics?.rows} rows a rank, loss ${metrics?.loss.toFixed(4)}, ${bestCheckpoints.length} checkpoints`,
  );
} finally {
  await shutdown();
  rmSync(folder, { recursive: true });
}
