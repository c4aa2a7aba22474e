/** Tune, Data and Serve with parts of a GPU. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { python } from "shoal";
import * as data from "shoal/data";
import * as serve from "shoal/serve";
import { gridSearch, Tuner, withResources } from "shoal/tune";
import { device, environment, isPretended, loopFile, onGpu, seen, useGpuSession } from "./machine.ts";

const folder = useGpuSession();
const place = isPretended ? "cpu" : "cuda:0";
const FILE = loopFile("libraries");

onGpu("Tune: four trials at a time, each on a quarter of the GPU", async () => {
  const meeting = join(folder, "meeting");
  mkdirSync(meeting);
  interface Config {
    lr: number;
    folder: string;
    together: number;
    device: string;
  }
  const trial = python.task<(config: Config) => void>(FILE, "trial", { runtimeEnv: environment });
  const results = await new Tuner(withResources(trial, { numCpus: 1, numGpus: 0.25 }), {
    paramSpace: { lr: gridSearch([0.2, 0.1, 0.01, 0.001]), folder: meeting, together: 4, device },
    runConfig: { storagePath: folder, name: "quarters" },
  }).fit();
  assert.deepEqual(
    results.errors.map(({ message }) => message),
    [],
  );
  const metrics = Array.from(results, (result) => result.metrics);
  seen("trials on quarters", metrics);
  assert.equal(new Set(metrics.map((each) => each?.["process"])).size, 4);
  for (const each of metrics) assert.deepEqual([each?.["device"], each?.["visible"]], [place, "0"]);
});

onGpu(
  "Data: a pool of two actors of Python, each on half of the GPU",
  async () => {
    const predicted = data
      .range(8192)
      .mapBatches<{ id: number; doubled: number; process: number; where: string; visible: string }>(
        python.actor(FILE, "PredictBatches", { runtimeEnv: environment }),
        { constructorArgs: [device], concurrency: 2, numGpus: 0.5, batchSize: 512 },
      );
    const rows = await predicted.takeAll();
    assert.equal(rows.length, 8192);
    for (const row of rows) assert.equal(row.doubled, 2 * row.id);
    const distinct = (name: "process" | "where" | "visible") => [...new Set(rows.map((row) => row[name]))];
    seen("a pool on halves", { processes: distinct("process"), where: distinct("where"), visible: distinct("visible") });
    assert.equal(distinct("process").length, 2);
    assert.deepEqual([distinct("where"), distinct("visible")], [[place], ["0"]]);
  },
  { needs: "pyarrow" },
);

onGpu("Serve: two replicas of Python, each on half of the GPU", async () => {
  const { address } = await serve.start({ httpOptions: { port: 0 } });
  try {
    const model = python.actor<object, [device: string]>(FILE, "PredictRequests", {
      runtimeEnv: environment,
      numGpus: 0.5,
      numCpus: 1,
    });
    await serve.run(serve.deployment(model, { numReplicas: 2 }).bind(device));
    const ask = async (number: number) =>
      (await (await fetch(`${address}/?number=${number}`)).json()) as { doubled: number; where: string; process: number; visible: string };
    const answers = await Promise.all(Array.from({ length: 40 }, (_, number) => ask(number)));
    assert.deepEqual(
      answers.map(({ doubled }) => doubled),
      answers.map((_, number) => 2 * number),
    );
    const distinct = (name: "process" | "where" | "visible") => [...new Set(answers.map((answer) => answer[name]))];
    seen("replicas on halves", { processes: distinct("process"), where: distinct("where"), visible: distinct("visible") });
    assert.equal(distinct("process").length, 2);
    assert.deepEqual([distinct("where"), distinct("visible")], [[place], ["0"]]);
  } finally {
    await serve.shutdown();
  }
});
