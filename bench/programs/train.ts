/**
 * Trains twice and tells what the loop has timed: the start of its ranks, a report, or the recovery from a death. Arguments: the kind, and a folder.
 *
 * The loops are those of Ray's side, unchanged. `torch-start` needs a Python with PyTorch, whose path `SHOAL_BENCH_PYTHON` has.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import { DataParallelTrainer, TorchTrainer } from "shoal/train";

const [kind = "start", folder = ""] = process.argv.slice(2);
const interpreter = process.env["SHOAL_BENCH_PYTHON"];

async function train(number: number): Promise<number[]> {
  const place = join(folder, String(number));
  mkdirSync(place, { recursive: true });
  const options = {
    trainLoopPerWorker: python.task(new URL("../ray/train_loops.py", import.meta.url), kind.replace("-", "_")),
    trainLoopConfig: { folder: place, reports: 20 },
    scalingConfig: { numWorkers: 2 },
    runConfig: { name: `run-${number}`, storagePath: join(folder, "storage"), failureConfig: { maxFailures: 1 } },
    ...(interpreter === undefined ? {} : { runtimeEnv: { python: interpreter } }),
    // Where Ray is installed in that Python, too.
    rayCompatibility: true,
  };
  const trainer =
    kind === "torch-start" ? new TorchTrainer({ ...options, torchConfig: { backend: "gloo" } }) : new DataParallelTrainer(options);
  const begun = Date.now();
  await trainer.fit();
  const told = JSON.parse(readFileSync(join(place, "told.json"), "utf8")) as { samples?: number[]; ms?: number; at?: number };
  return told.samples ?? [told.ms ?? 1000 * (told.at ?? Number.NaN) - begun];
}

await init({ numCpus: 4, logToDriver: false });
const first = await train(0);
const later = await train(1);
console.log(`facts ${JSON.stringify({ first, later })}`);
await shutdown();
