import { init, shutdown, python } from "shoal";
import { DataParallelTrainer } from "shoal/train";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
await init({ numCpus: 2 });
const storagePath = mkdtempSync("/tmp/tr/run-");
const mk = (name: string, config: object, maxFailures = 0) => new DataParallelTrainer({
  trainLoopPerWorker: python.task(new URL("zz.py", import.meta.url), "loop"),
  trainLoopConfig: { epochs: 3, ...config },
  scalingConfig: { numWorkers: 2 },
  runConfig: { name, storagePath, failureConfig: { maxFailures } },
});
let t = performance.now();
const result = await mk("py", {}).fit();
console.log(performance.now() - t, result.metrics, result.checkpoint?.path, readdirSync(result.path), readFileSync(result.path + "/rank-1.log", "utf8"));
t = performance.now();
await mk("py2", { fail: true }).fit().catch((e) => console.log(performance.now() - t, e, e.workerFailures));
t = performance.now();
console.log("resumed by name", (await mk("py2", { fail: true }).fit()).metrics, performance.now() - t);
console.log("maxFailures", (await mk("py3", { fail: true }, 1).fit()).metrics);
await shutdown();
