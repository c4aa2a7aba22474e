/** Python functions as trainables, on real workers of Python. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { python } from "shoal";
import { ASHAScheduler, gridSearch, Tuner } from "shoal/tune";
import { expect, test } from "vitest";
import { useFolder, useSession } from "./session.ts";

useSession({ numCpus: 2 });
const folder = useFolder();

function file(name: string, ...lines: string[]): string {
  const path = join(folder, `${name}.py`);
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

const TRAIN = file(
  "train",
  "import os, tempfile",
  "from shoal import tune",
  "def report(config):",
  "    saved = tune.get_checkpoint()",
  "    at = 0",
  "    if saved is not None:",
  "        with saved.as_directory() as path: at = int(open(os.path.join(path, 'at')).read())",
  "    try:",
  "        while at < 4:",
  "            at += 1",
  "            with tempfile.TemporaryDirectory() as path:",
  "                open(os.path.join(path, 'at'), 'w').write(str(at))",
  "                tune.report({'loss': config['x'] + 1 / at, 'at': at}, checkpoint=tune.Checkpoint.from_directory(path))",
  "            if at == 2 and saved is None and config['x'] == 1: raise ValueError('once')",
  "    finally:",
  "        open(os.path.join(tune.get_context().get_trial_dir(), 'left'), 'w').close()",
  "def returns(config): return {'twice': 2 * config['x']}",
  "def yields(config):",
  "    for i in range(5): yield {'i': i}",
  "def bad(config): tune.report({'loss': object()})",
);

test("a function of Python reports with checkpoints, and goes on from them", async () => {
  const results = await new Tuner(python.task<(config: { x: number }) => void>(TRAIN, "report"), {
    paramSpace: { x: gridSearch([0, 1, 2]) },
    tuneConfig: { metric: "loss", mode: "min", scheduler: new ASHAScheduler({ maxT: 4, gracePeriod: 3, reductionFactor: 3 }) },
    runConfig: { storagePath: folder, name: "report", failureConfig: { maxFailures: 1 }, checkpointConfig: { numToKeep: 1 } },
  }).fit();
  expect(results.errors.map(({ message }) => message)).toEqual([]);
  expect(results.getBestResult()).toMatchObject({ config: { x: 0 }, iterations: 4 });
  expect(results.at(1)?.metrics?.at).toBe(results.at(1)?.iterations);
  expect(results.at(1)?.metrics).toMatchObject({ pid: expect.any(Number), nodeIp: "127.0.0.1" });
  expect(await results.at(0)?.checkpoint?.getMetadata()).toEqual({});
});

test("a function of Python may return its result, or yield results", async () => {
  const returned = await new Tuner(python.task<(config: { x: number }) => { twice: number }>(TRAIN, "returns"), {
    paramSpace: { x: gridSearch([3, 4]) },
    runConfig: { storagePath: folder, name: "returns" },
  }).fit();
  expect(Array.from(returned, ({ metrics }) => metrics?.twice)).toEqual([6, 8]);
  const yielded = await new Tuner(python.task(TRAIN, "yields"), {
    runConfig: { storagePath: folder, name: "yields", stop: { trainingIteration: 3 } },
  }).fit();
  expect(yielded.at(0)).toMatchObject({ iterations: 3, metrics: { i: 2 } });
});

test("an error of Python is the trial's", async () => {
  const results = await new Tuner(python.task(TRAIN, "bad"), { runConfig: { storagePath: folder, name: "bad" } }).fit();
  expect(results.errors[0]?.message).toContain("Cannot report: loss must be a value of JSON");
});

test("a file that imports Ray's names runs where there is no Ray", async () => {
  const lines = [
    "import sys",
    "from ray import tune",
    "from ray.air import session",
    "from ray.tune.integration.ray_train import TuneReportCallback",
    "from ray.tune.schedulers import ASHAScheduler",
    "from ray.tune.search.optuna import OptunaSearch",
    "class Told(tune.Callback): pass",
    "sys.modules['xgboost'] = None",
    "def said_by(call):",
    "    try: call()",
    "    except Exception as error: return str(error)",
    "def integration(): import ray.tune.integration.xgboost",
    "def train(config):",
    "    said = [said_by(call) for call in (ASHAScheduler, OptunaSearch, Told, lambda: tune.Tuner(train), TuneReportCallback, integration)]",
    "    tune.report({'loss': config['x'], 'said': said})",
    "    session.report({'loss': config['x'] / 2, 'trial': tune.get_context().get_trial_id()})",
  ];
  const results = await new Tuner(python.task<(config: { x: number }) => void>(file("ray_loop", ...lines), "train"), {
    paramSpace: { x: gridSearch([4]) },
    runConfig: { storagePath: folder, name: "ray" },
  }).fit();
  expect(results.errors.map(({ message }) => message)).toEqual([]);
  expect(results.at(0)).toMatchObject({ iterations: 2, metrics: { loss: 2 } });
  const { said = [] } = ((await results.at(0)?.metricsColumns()) ?? {}) as { said?: string[][] };
  const driver = "here: the driver of a run is TypeScript: import it from shoal/tune there, and give new Tuner python.task(file, name)";
  expect(said[0]).toEqual([
    ...["ASHAScheduler", "OptunaSearch", "Told", "Tuner"].map((name) => `Cannot use ${name} ${driver}`),
    expect.stringContaining("Cannot use TuneReportCallback here: trainers run in TypeScript: new Tuner(trainer, ...)"),
    expect.stringMatching(
      /^Cannot use shoal.train.xgboost: .* has no module xgboost. Install it where this runs: \S+ -m pip install xgboost$/,
    ),
  ]);
});
