/** Python functions and classes as trainables, on real workers of Python. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { python } from "shoal";
import {
  ASHAScheduler,
  type Decision,
  FIFOScheduler,
  gridSearch,
  PopulationBasedTraining,
  type SchedulerView,
  type Trial,
  type TrialResult,
  Tuner,
  uniform,
} from "shoal/tune";
import { expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { pythonUnitTests } from "./python-places.ts";
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

const MODELS = file(
  "models",
  "import os, threading",
  "from ray import tune",
  "from ray.tune.trainable import Trainable",
  "class Model(Trainable):",
  "    def setup(self, config):",
  "        self.x, self.log, self.at, self.thread = config['x'], config['log'], 0, threading.get_ident()",
  "        self.tell('setup')",
  "    def tell(self, what):",
  "        open(self.log, 'a').write('%s %s %d; ' % (self.x, what, self.at))",
  "    def step(self):",
  "        assert self.thread == threading.get_ident()",
  "        if self.x == 2 and self.at == 1 and not os.path.exists(self.log + '.failed'):",
  "            open(self.log + '.failed', 'w').close()",
  "            raise ValueError('once')",
  "        self.at += 1",
  "        return {'at': self.at, 'before': self.iteration, 'trial': self.trial_id, 'done': self.at == 3}",
  "    def save_checkpoint(self, folder):",
  "        self.tell('save')",
  "        return {'at': self.at}",
  "    def load_checkpoint(self, saved):",
  "        self.at = saved['at']",
  "        self.tell('load')",
  "    def reset_config(self, config):",
  "        self.x, self.at = config['x'], 0",
  "        self.tell('reset')",
  "        return True",
  "    def log_result(self, result): assert result['training_iteration'] == self.iteration == self.at",
  "    def cleanup(self): self.tell('cleanup')",
  "class Plain:",
  "    def step(self): return {'at': 1, 'trial': tune.get_context().get_trial_id()}",
  "    def save_checkpoint(self, folder): return {'weights': object()}",
  "class Stepless: pass",
);

interface Model {
  step(): { at: number; before: number; trial: string };
}

test("a class of Python is paused, goes on from its checkpoint, fails, and takes the next configuration", async () => {
  class Pausing extends FIFOScheduler {
    override onTrialResult({ config }: Trial = {} as Trial, { at }: TrialResult = {} as TrialResult): Decision {
      return config["x"] === 0 && at === 1 ? "pause" : "continue";
    }
  }
  const log = join(folder, "models.log");
  const results = await new Tuner(python.actor<Model>(MODELS, "Model"), {
    paramSpace: { x: gridSearch([0, 1, 2]), log },
    tuneConfig: { metric: "at", mode: "max", scheduler: new Pausing(), maxConcurrentTrials: 1 },
    runConfig: {
      storagePath: folder,
      name: "models",
      failureConfig: { maxFailures: 1 },
      checkpointConfig: { checkpointFrequency: 2 },
    },
  }).fit();
  expect(results.errors.map(({ message }) => message)).toEqual([]);
  for (const { metrics, trialId } of results) expect(metrics).toMatchObject({ at: 3, before: 2, trial: trialId, trainingIteration: 3 });
  expect(readFileSync(log, "utf8").split("; ")).toEqual([
    "0 setup 0",
    "0 save 1",
    // The next trial runs in the instance of the paused one.
    "1 reset 0",
    "1 save 2",
    "2 reset 0",
    // The instance that failed is gone with its process.
    "2 setup 0",
    "2 save 2",
    "0 reset 0",
    "0 load 1",
    "0 save 2",
    "0 cleanup 3",
    "",
  ]);
});

const CLIMB = file(
  "climb",
  "import os",
  "from shoal import tune",
  "class Climb(tune.Trainable):",
  "    def setup(self, config): self.reset_config(config)",
  "    def reset_config(self, config):",
  "        self.rate, self.at, self.line = config['rate'], 0, self.trial_id[-1]",
  "        return True",
  "    def step(self):",
  "        self.at += self.rate",
  "        return {'at': self.at, 'line': self.line, 'pid': os.getpid()}",
  "    def save_checkpoint(self, folder): return {'at': self.at, 'line': self.line}",
  "    def load_checkpoint(self, saved):",
  "        self.at, self.line = saved['at'], saved['line'] + self.trial_id[-1]",
);

interface Climb {
  step(): { at: number; line: string; pid: number };
}

test("a population of a class of Python takes over checkpoints, holds nothing while it is paused, and goes on after its driver was killed", async () => {
  let pausedMax = 0;
  class Watched extends PopulationBasedTraining {
    override chooseTrialToRun(view: SchedulerView): string | undefined {
      pausedMax = Math.max(pausedMax, [...view.liveTrials.values()].filter(({ status }) => status === "paused").length);
      return super.chooseTrialToRun(view);
    }
  }
  const mutations = { rate: uniform(1, 4) };
  const population = { timeAttr: "trainingIteration", perturbationInterval: 2, quantileFraction: 0.5, synch: true, seed: 2 } as const;
  const stop = { trainingIteration: 6 };
  const climb = python.actor<Climb>(CLIMB, "Climb");
  const whole = await new Tuner(climb, {
    paramSpace: { rate: gridSearch([0.01, 0.02, 3, 4]) },
    tuneConfig: { metric: "at", mode: "max", scheduler: new Watched({ ...population, hyperparamMutations: mutations }) },
    runConfig: { storagePath: folder, name: "whole", stop },
  }).fit();
  expect(whole.errors.map(({ message }) => message)).toEqual([]);
  // More than there are processes: two, which take turns.
  expect(pausedMax).toBe(4);
  expect(new Set(Array.from(whole, ({ metrics }) => metrics?.pid)).size).toBeLessThanOrEqual(2);
  // Alone, the first two would get to 0.06 and 0.12.
  for (const { metrics } of whole) expect(metrics?.at).toBeGreaterThan(10);
  expect(whole.at(0)?.metrics?.line).toMatch(/^[23].*0$/);

  const program = join(folder, "climb.mjs");
  writeFileSync(
    program,
    `
import { python } from ${JSON.stringify(pathToFileURL(join(REPOSITORY, "dist", "index.js")).href)};
import { gridSearch, PopulationBasedTraining, Tuner, uniform } from ${JSON.stringify(pathToFileURL(join(REPOSITORY, "dist", "tune", "index.js")).href)};
let results = 0;
const onTrialResult = () => (results += 1) === 13 && process.kill(process.pid, "SIGKILL");
const scheduler = new PopulationBasedTraining({ ...${JSON.stringify(population)}, hyperparamMutations: { rate: uniform(1, 4) } });
await new Tuner(python.actor(${JSON.stringify(CLIMB)}, "Climb"), {
  paramSpace: { rate: gridSearch([0.01, 0.02, 3, 4]) },
  tuneConfig: { metric: "at", mode: "max", scheduler },
  runConfig: { storagePath: ${JSON.stringify(folder)}, name: "cut", stop: ${JSON.stringify(stop)}, callbacks: [{ onTrialResult }] },
}).fit();
`,
  );
  expect(spawnSync(process.execPath, [program], { encoding: "utf8", timeout: 50_000 }).signal).toBe("SIGKILL");
  const scheduler = new PopulationBasedTraining({ ...population, hyperparamMutations: mutations });
  const restored = await Tuner.restore(join(folder, "cut"), climb, { tuneConfig: { scheduler } }).fit();
  expect(restored.errors.map(({ message }) => message)).toEqual([]);
  expect(Array.from(restored, ({ iterations }) => iterations)).toEqual([6, 6, 6, 6]);
  // A donor that was saving at that moment has lost that checkpoint, and the first two have its rate at least.
  for (const { metrics } of restored) expect(metrics?.at).toBeGreaterThan(3);
});

test("a load_checkpoint that fails is called once", () => {
  expect(pythonUnitTests("test_class_trial.py")).toMatchObject({ status: 0, stderr: expect.stringMatching(/OK\n$/) });
});

test("a class of Python that cannot be run, or saves what it cannot, fails by its name", async () => {
  const runConfig = { storagePath: folder, stop: { trainingIteration: 2 }, checkpointConfig: { checkpointFrequency: 1 } };
  const messages = [];
  for (const name of ["Plain", "Stepless"]) {
    const { errors } = await new Tuner(python.actor(MODELS, name), { runConfig: { ...runConfig, name } }).fit();
    messages.push(errors[0]?.message);
  }
  expect(messages).toEqual([
    expect.stringMatching(
      /Cannot save trial \S+ by the dictionary of save_checkpoint, .*: weights must be a value of JSON: received <object/,
    ),
    expect.stringContaining("Cannot run Stepless: a class of Tune has a method step()"),
  ]);
  const { errors } = await new Tuner(python.actor(MODELS, "Modell"), { runConfig: { storagePath: folder, name: "none" } }).fit();
  expect(errors[0]?.message).toMatch(/^Trial \w+ failed: AttributeError: \S+\/models\.py has no Modell: did you mean Model\?$/);
  expect(() => new Tuner(python.actor(MODELS, "Plain", { maxRestarts: 1 }))).toThrow(
    "its option maxRestarts is for actors, not for trials",
  );
});
