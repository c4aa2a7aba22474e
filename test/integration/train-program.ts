/** A program that trains, for tests that kill it or interrupt it: prints the metrics of the run's end. Arguments: the run's name, the loop's folder, the storage. */
import { DataParallelTrainer } from "shoal/train";
import { count, type CountConfig } from "./counting-loop.ts";

const [name, root, storagePath] = process.argv.slice(2) as [string, string, string];
const trainer = new DataParallelTrainer<CountConfig>({
  trainLoopPerWorker: async (config: CountConfig) => {
    console.log("counts");
    await count(config);
  },
  trainLoopConfig: { root, steps: 4, waitsAt: 2 },
  scalingConfig: { numWorkers: 2 },
  runConfig: { name, storagePath },
});
console.log(JSON.stringify((await trainer.fit()).metrics));
