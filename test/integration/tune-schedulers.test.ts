/** Schedulers over real trials: trials that end early, that are paused without holding anything, and checkpoints that move from trial to trial. */
import { join } from "node:path";
import { availableResources } from "shoal";
import {
  Checkpoint,
  type Decision,
  FIFOScheduler,
  getCheckpoint,
  getContext,
  gridSearch,
  HyperBandScheduler,
  PopulationBasedTraining,
  PopulationBasedTrainingReplay,
  report,
  ResourceChangingScheduler,
  TPESearch,
  type Trial,
  Tuner,
  uniform,
} from "shoal/tune";
import { expect, test } from "vitest";
import { until, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 2 });
const folder = useFolder();

test("ASHA by its name ends losing trials early", async () => {
  const results = await new Tuner(
    async ({ x }: { x: number }) => {
      for (let i = 1; i <= 16; i += 1) await report({ loss: x + 1 / i });
    },
    {
      paramSpace: { x: gridSearch([0, 1, 2, 3, 4, 5, 6, 7]) },
      tuneConfig: { metric: "loss", mode: "min", scheduler: "asha", maxConcurrentTrials: 1 },
      runConfig: { storagePath: folder, name: "asha" },
    },
  ).fit();
  expect(results.getBestResult().config.x).toBe(0);
  const iterations = Array.from(results, ({ iterations: count }) => count);
  expect(iterations[0]).toBe(16);
  expect(iterations.filter((count) => count === 1).length).toBeGreaterThanOrEqual(4);
});

test("population based training gives losers the checkpoint of a winner, with another configuration", async () => {
  const loaded = join(folder, "loaded-");
  const train = async ({ rate, temporary }: { rate: number; temporary: string }) => {
    const fs = process.getBuiltinModule("node:fs");
    const from = getCheckpoint();
    let { at, origin } = (
      from === undefined ? { at: 0, origin: rate } : JSON.parse(await from.asDirectory((path) => fs.readFileSync(`${path}/state`, "utf8")))
    ) as {
      at: number;
      origin: number;
    };
    // A trial whose process begins late might find that all others have ended.
    fs.writeFileSync(`${temporary}begun-${rate}`, "");
    while (!fs.existsSync(`${temporary}begun-0.01`) || !fs.existsSync(`${temporary}begun-0.02`))
      await new Promise((resolve) => setTimeout(resolve, 2));
    // Never ends by itself: a trial that took over a checkpoint of the end would return at once, and have the result of before.
    for (;;) {
      at += rate;
      const path = fs.mkdtempSync(temporary);
      fs.writeFileSync(`${path}/state`, JSON.stringify({ at, origin }));
      await report({ at, origin }, { checkpoint: Checkpoint.fromDirectory(path) });
      fs.rmSync(path, { recursive: true });
    }
  };
  const runConfig = { storagePath: folder, stop: { trainingIteration: 30 }, checkpointConfig: { numToKeep: 2 } };
  const results = await new Tuner(train, {
    paramSpace: { rate: gridSearch([0.01, 0.02, 3, 4]), temporary: loaded },
    tuneConfig: {
      metric: "at",
      mode: "max",
      scheduler: new PopulationBasedTraining({
        timeAttr: "trainingIteration",
        perturbationInterval: 3,
        hyperparamMutations: { rate: uniform(1, 4) },
        quantileFraction: 0.5,
        seed: 2,
      }),
    },
    runConfig: { ...runConfig, name: "pbt" },
  }).fit();
  expect(results.errors.map(({ message }) => message)).toEqual([]);
  // Alone, the first two would get to 0.6 in 30 iterations. Whoever gave up has the origin of another.
  for (const { metrics } of results) expect(metrics?.at).toBeGreaterThan(10);
  expect(new Set(Array.from(results, ({ metrics }) => metrics?.origin)).size).toBeLessThan(4);
  for (const index of [0, 1]) expect(results.at(index)?.config.rate).toBeGreaterThan(0.5);

  // The policy of a loser leads another trial to the same place, by way of the same configurations.
  const first = results.at(0);
  const scheduler = await PopulationBasedTrainingReplay.fromFile(join(results.experimentPath, `pbt_policy_${first?.trialId}.txt`));
  const replayed = await new Tuner(train, {
    paramSpace: { rate: 0, temporary: loaded },
    tuneConfig: { scheduler },
    runConfig: { ...runConfig, name: "replay" },
  }).fit();
  expect(replayed.at(0)?.config.rate).toBe(first?.config.rate);
  expect(replayed.at(0)?.metrics).toMatchObject({ at: first?.metrics?.at, origin: first?.metrics?.origin });
});

test("HyperBand pauses classes in their brackets, and paused trials hold nothing", async () => {
  class Racer {
    #x = 0;
    #at = 0;
    setup(config: { x: number }) {
      this.#x = config.x;
    }
    step() {
      this.#at += 1;
      return { loss: this.#x + 1 / this.#at, at: this.#at };
    }
    saveCheckpoint(path: string) {
      process.getBuiltinModule("node:fs").writeFileSync(`${path}/at`, String(this.#at));
    }
    loadCheckpoint(path: string) {
      this.#at = Number(process.getBuiltinModule("node:fs").readFileSync(`${path}/at`, "utf8"));
    }
  }
  const results = await new Tuner(Racer, {
    paramSpace: { x: uniform(0, 1) },
    tuneConfig: {
      metric: "loss",
      mode: "min",
      numSamples: 12,
      searchAlg: new TPESearch({ seed: 1 }),
      scheduler: new HyperBandScheduler({ maxT: 9 }),
    },
    runConfig: { storagePath: folder, name: "hyperband" },
  }).fit();
  expect(results.errors.map(({ message }) => message)).toEqual([]);
  expect(results.length).toBe(12);
  for (const { metrics } of results) expect(metrics?.at).toBe(metrics?.trainingIteration);
  expect(results.getBestResult().iterations).toBe(9);
  await until(async () => (await availableResources()).CPU === 2, "the CPUs to be free");
});

test("a class saves when its scheduler asks, wherever its instance has saveCheckpoint from; a class without goes on", async () => {
  class Asking extends FIFOScheduler {
    override onTrialResult(trial?: Trial): Decision {
      return { verdict: "continue", actions: [{ type: "checkpoint", trialId: trial?.id ?? "" }] };
    }
  }
  const name = ["save", "Checkpoint"].join("");
  class Saving {
    constructor() {
      Object.assign(this, { [name]: (path: string) => process.getBuiltinModule("node:fs").writeFileSync(`${path}/state`, "") });
    }
    step() {
      return { at: 1 };
    }
  }
  class Plain {
    step() {
      return { at: 1 };
    }
  }
  const saved = [];
  for (const trainable of [Saving, Plain]) {
    const results = await new Tuner(trainable, {
      tuneConfig: { scheduler: new Asking() },
      runConfig: { storagePath: folder, name: trainable.name, stop: { trainingIteration: 3 } },
    }).fit();
    saved.push(results.at(0)?.bestCheckpoints.length);
  }
  // The third result is the last, which no scheduler sees.
  expect(saved).toEqual([2, 0]);
});

test("a class that gets more CPUs saves first, and goes on from there with them", async () => {
  class Counter {
    #at = 0;
    step() {
      this.#at += 1;
      return { at: this.#at, cpus: getContext().trialResources.bundles[0]?.["CPU"] ?? 0 };
    }
    saveCheckpoint(path: string) {
      process.getBuiltinModule("node:fs").writeFileSync(`${path}/at`, String(this.#at));
    }
    loadCheckpoint(path: string) {
      this.#at = Number(process.getBuiltinModule("node:fs").readFileSync(`${path}/at`, "utf8"));
    }
  }
  const results = await new Tuner(Counter, {
    tuneConfig: { metric: "at", mode: "max", scheduler: new ResourceChangingScheduler() },
    runConfig: { storagePath: folder, name: "resources", stop: { trainingIteration: 4 } },
  }).fit();
  const columns = await results.at(0)?.metricsColumns();
  expect([columns?.["at"], columns?.["cpus"]]).toEqual([
    [1, 2, 3, 4],
    [1, 2, 2, 2],
  ]);
});
