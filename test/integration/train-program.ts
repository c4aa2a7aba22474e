/** A program that trains, for tests that kill it or interrupt it: prints the metrics of the run's end. Arguments: the run's name, the loop's folder, the storage, the language of the loop. */
import { join } from "node:path";
import { python } from "shoal";
import { DataParallelTrainer } from "shoal/train";
import { count, type CountConfig } from "./counting-loop.ts";
import { PYTHON_FOLDER } from "./python-places.ts";

const [name, root, storagePath, language] = process.argv.slice(2) as [string, string, string, string];
const loops = {
  TypeScript: async (config: CountConfig) => {
    console.log("counts");
    await count(config);
  },
  Python: python.task(join(PYTHON_FOLDER, "train_loops.py"), "count_steps"),
};
const trainer = new DataParallelTrainer<CountConfig>({
  trainLoopPerWorker: loops[language as keyof typeof loops],
  trainLoopConfig: { root, steps: 4, waitsAt: 2 },
  scalingConfig: { numWorkers: 2 },
  runConfig: { name, storagePath },
});
console.log(JSON.stringify((await trainer.fit()).metrics));
