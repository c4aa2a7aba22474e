/**
 * Trains and prints the loop's own times: the start of the ranks, a report, a recovery, the wait for data, steps of DDP. Arguments: the
 * loop, a folder, and how often.
 *
 * The loops are those of Ray's side, unchanged. Those of PyTorch, and that of data, need a Python with it (and with pyarrow), whose path `SHOAL_BENCH_PYTHON` has.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import * as data from "shoal/data";
import { DataParallelTrainer, TorchTrainer } from "shoal/train";

const [loop = "start", folder = "", runs = "1"] = process.argv.slice(2);
const interpreter = process.env["SHOAL_BENCH_PYTHON"];
const usesTorch = ["torch-start", "ddp-steps", "ingest"].includes(loop);
if (usesTorch && interpreter === undefined)
  throw new Error("There is no Python with torch: --against-ray builds one, or SHOAL_BENCH_PYTHON names one");

interface Told {
  readonly samples?: number[];
  /** The time of an event, in seconds since 1970. */
  readonly at?: number;
  readonly details?: Record<string, number>;
}

async function train(number: number): Promise<{ samples: number[]; details: Record<string, number> }> {
  const place = join(folder, String(number));
  mkdirSync(place, { recursive: true });
  const file = loop === "ddp-steps" ? "ddp_steps.py" : "train_loops.py";
  const isIngest = loop === "ingest";
  const options = {
    trainLoopPerWorker: python.task(new URL(`../ray/${file}`, import.meta.url), loop.replace("-", "_")),
    trainLoopConfig: { folder: place, reports: 5, batch_size: 256 },
    scalingConfig: { numWorkers: isIngest ? 1 : 2 },
    runConfig: { name: `run-${number}`, storagePath: join(folder, "storage"), failureConfig: { maxFailures: 1 } },
    ...(isIngest ? { datasets: { train: data.rangeTensor(300 * 256, { shape: [64] }) } } : {}),
    ...(interpreter === undefined ? {} : { runtimeEnv: { python: interpreter } }),
    // Where Ray is installed in that Python, too.
    rayCompatibility: true,
  };
  const trainer =
    usesTorch && !isIngest ? new TorchTrainer({ ...options, torchConfig: { backend: "gloo" } }) : new DataParallelTrainer(options);
  const begun = Date.now();
  await trainer.fit();
  const { samples, at = Number.NaN, details = {} } = JSON.parse(readFileSync(join(place, "told.json"), "utf8")) as Told;
  return { samples: samples ?? [1000 * at - begun], details };
}

await init({ numCpus: 4, logToDriver: false });
const told = [];
for (let number = 0; number < Number(runs); number += 1) told.push(await train(number));
console.log(`facts ${JSON.stringify(told)}`);
await shutdown();
