/** Experiments on real processes: what trainables may be, what their trials leave, and what becomes of those that fail. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { nodes } from "shoal";
import {
  Checkpoint,
  choice,
  getCheckpoint,
  getContext,
  gridSearch,
  PopulationBasedTraining,
  report,
  Result,
  sampleFrom,
  type Trial,
  type TrialResult,
  Tuner,
  uniform,
  withParameters,
  withResources,
} from "shoal/tune";
import { describe, expect, test, vi } from "vitest";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { shoalProcesses, until, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 2 });
const folder = useFolder();
const SHOAL = join(REPOSITORY, "dist", "ops", "cli", "main.js");
let runs = 0;
const runConfig = (more: object = {}) => ({ storagePath: folder, name: `run-${(runs += 1)}`, ...more });

describe("trainables", () => {
  test("a function reports, and the best trial is found with its files", async () => {
    const tuner = new Tuner(
      async (config) => {
        for (let i = 1; i <= 3; i += 1) await report({ loss: config.x ** 2 + 1 / i, label: config.act });
      },
      {
        paramSpace: { x: uniform(-1, 1), act: choice(["relu", "tanh"]), double: sampleFrom((config: { x: number }) => config.x * 2) },
        tuneConfig: { metric: "loss", mode: "min", numSamples: 5, seed: 3 },
        runConfig: runConfig(),
      },
    );
    const results = await tuner.fit();
    expect([results.length, results.numErrors, results.numTerminated]).toEqual([5, 0, 5]);
    const best = results.getBestResult();
    const losses = Array.from(results, ({ metrics }) => metrics?.loss as number);
    expect(best.metrics?.loss).toBe(Math.min(...losses));
    expect(best.metrics).toMatchObject({ trainingIteration: 3, done: true, label: best.config.act });
    expect(best.config.double).toBe(best.config.x * 2);
    expect(results.getBestResult("loss", "min", "avg").config).toEqual(best.config);
    const files = readdirSync(best.path);
    expect(files).toEqual(expect.arrayContaining(["params.json", "result.json", "progress.csv"]));
    expect(files.some((name) => name.startsWith("events.out.tfevents"))).toBe(true);
    expect(JSON.parse(readFileSync(join(best.path, "params.json"), "utf8"))).toEqual(best.config);
    const columns = await best.metricsColumns();
    expect(columns.loss).toHaveLength(3);
    const [node] = await nodes();
    expect(best.metrics).toMatchObject({ hostname: node?.hostname, nodeIp: "127.0.0.1" });
    expect([columns.pid, columns.nodeIp]).toEqual([Array(3).fill(best.metrics?.pid), Array(3).fill("127.0.0.1")]);
    const [line = ""] = readFileSync(join(best.path, "result.json"), "utf8").split("\n");
    expect(JSON.parse(line)).toMatchObject({ pid: best.metrics?.pid, hostname: node?.hostname, node_ip: "127.0.0.1" });
    expect((await Result.fromPath(best.path)).metrics).toMatchObject({ trainingIteration: 3 });
    const arrow = tableFromIPC((await results.toArrow()).stream);
    expect(arrow.getChild("loss")?.toArray()).toEqual(Float64Array.from(losses));
    expect(await tuner.getResults()).toBe(results);
  });

  test("a function may return its result, or yield results", async () => {
    const returned = await new Tuner((config: { x: number }) => ({ score: config.x }), {
      paramSpace: { x: gridSearch([1, 2, 3]) },
      runConfig: runConfig(),
    }).fit();
    expect(Array.from(returned, ({ metrics }) => metrics?.score)).toEqual([1, 2, 3]);
    const yielded = await new Tuner(
      async function* (config: { x: number }) {
        for (let i = 0; i < 10; i += 1) yield { score: config.x * i };
      },
      { paramSpace: { x: gridSearch([1, 2]) }, runConfig: runConfig({ stop: { trainingIteration: 4 } }) },
    ).fit();
    expect(Array.from(yielded, ({ metrics, iterations }) => [metrics?.score, iterations])).toEqual([
      [3, 4],
      [6, 4],
    ]);
  });

  test("parameters are shared, resources are held, and the context tells the trial", async () => {
    const trainable = withParameters(
      async (config: { x: number }, { table }: { table: Float64Array }) => {
        const { trialId, trialDir, trialResources, experimentName } = getContext();
        return { value: table[config.x] as number, trialId, trialDir, cpus: trialResources.bundles[0]?.CPU ?? 0, experimentName };
      },
      { table: Float64Array.of(10, 20, 30) },
    );
    const results = await new Tuner(withResources(trainable, { numCpus: 2 }), {
      paramSpace: { x: gridSearch([0, 2]) },
      runConfig: runConfig(),
    }).fit();
    const [first] = results;
    expect(Array.from(results, ({ metrics }) => [metrics?.value, metrics?.cpus])).toEqual([
      [10, 2],
      [30, 2],
    ]);
    expect(first?.metrics).toMatchObject({ trialDir: first?.path, experimentName: `run-${runs}` });
  });

  test("a class is stepped, checkpointed, reset for the next trial and cleaned up once", async () => {
    const log = join(folder, "cleaned");
    class Counter {
      #at = 0;
      #by = 1;
      #instances = 0;
      #trials: string[] = [];
      setup(config: { by: number }) {
        this.#by = config.by;
        this.#instances += 1;
        this.#trials.push(getContext().trialId);
      }
      step() {
        this.#at += this.#by;
        const isOwn = this.#trials.at(-1) === getContext().trialId;
        return { at: this.#at, instances: this.#instances, isOwn, pid: process.pid };
      }
      saveCheckpoint(path: string) {
        process.getBuiltinModule("node:fs").writeFileSync(`${path}/at`, String(this.#at));
      }
      loadCheckpoint(path: string) {
        this.#at = Number(process.getBuiltinModule("node:fs").readFileSync(`${path}/at`, "utf8"));
      }
      resetConfig(config: { by: number }) {
        this.#by = config.by;
        this.#at = 0;
        this.#instances += 1;
        this.#trials.push(getContext().trialId);
        return true;
      }
      cleanup() {
        process.getBuiltinModule("node:fs").appendFileSync(log, `${this.#instances} `);
      }
    }
    const results = await new Tuner(Counter, {
      paramSpace: { by: gridSearch([1, 2, 3]) },
      tuneConfig: { metric: "at", mode: "max", maxConcurrentTrials: 1 },
      runConfig: runConfig({
        stop: { trainingIteration: 4 },
        checkpointConfig: { checkpointFrequency: 2, checkpointAtEnd: true, numToKeep: 2 },
      }),
    }).fit();
    expect(Array.from(results, ({ metrics }) => [metrics?.at, metrics?.instances, metrics?.isOwn])).toEqual([
      [4, 1, true],
      [8, 2, true],
      [12, 3, true],
    ]);
    expect(readFileSync(log, "utf8")).toBe("3 ");
    const best = results.getBestResult();
    expect(readdirSync(best.path).filter((name) => name.startsWith("checkpoint_"))).toHaveLength(2);
    expect(await best.checkpoint?.asDirectory((path) => readFileSync(join(path, "at"), "utf8"))).toBe("12");
  });

  test("a class logs its results in its own process, and exports its model when its trial has ended well", async () => {
    class Model {
      #size = 0;
      #at = 0;
      setup(config: { size: number }) {
        this.#size = config.size;
      }
      step() {
        this.#at += this.#size;
        return { at: this.#size === 3 && this.#at > 3 ? ("lost" as unknown as number) : this.#at };
      }
      logResult(result: TrialResult<{ at: number }>) {
        const { at, trainingIteration, timeThisIterMs, timeTotalMs, pid, config } = result;
        const line = JSON.stringify({ at, trainingIteration, isFirst: timeThisIterMs === timeTotalMs, isOwn: pid === process.pid, config });
        process.getBuiltinModule("node:fs").appendFileSync(`${getContext().trialDir}/own.log`, `${line}\n`);
      }
      exportModel(path: string) {
        if (this.#size === 2) throw new Error("no room");
        const fs = process.getBuiltinModule("node:fs");
        fs.mkdirSync(`${path}/weights`);
        fs.writeFileSync(`${path}/weights/at`, String(this.#at));
      }
    }
    const said: string[] = [];
    const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
    const results = await new Tuner(Model, {
      paramSpace: { size: gridSearch([1, 2, 3]) },
      tuneConfig: { metric: "at", mode: "max" },
      runConfig: runConfig({ stop: { trainingIteration: 2 } }),
    })
      .fit()
      .finally(() => spy.mockRestore());
    const [exported, unable, failed] = Array.from(results);
    const lines = readFileSync(join(exported?.path ?? "", "own.log"), "utf8")
      .trim()
      .split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { at: 1, trainingIteration: 1, isFirst: true, isOwn: true, config: { size: 1 } },
      { at: 2, trainingIteration: 2, isFirst: false, isOwn: true, config: { size: 1 } },
    ]);
    expect(readFileSync(join(exported?.path ?? "", "export", "weights", "at"), "utf8")).toBe("2");
    expect(unable?.status).toBe("terminated");
    expect(said.join("")).toBe(`shoal tune: trial ${unable?.trialId} has ended, and its exportModel failed: no room\n`);
    expect(failed?.status).toBe("errored");
    for (const one of [unable, failed]) expect(existsSync(join(one?.path ?? "", "export"))).toBe(false);
    expect((await Result.fromPath(exported?.path ?? "")).checkpoint).toBeUndefined();
  });

  test("without reuse each trial has a process of its own, and none is left", async () => {
    const results = await new Tuner(() => ({ pid: process.pid }), {
      tuneConfig: { numSamples: 3, reuseActors: false },
      runConfig: runConfig(),
    }).fit();
    expect(new Set(Array.from(results, ({ metrics }) => metrics?.pid)).size).toBe(3);
    const shared = await new Tuner(() => ({ pid: process.pid }), {
      tuneConfig: { numSamples: 6, maxConcurrentTrials: 1 },
      runConfig: runConfig(),
    }).fit();
    expect(new Set(Array.from(shared, ({ metrics }) => metrics?.pid)).size).toBe(1);
    await until(() => shoalProcesses({ kind: "worker" }).length <= 4, "the processes of the trials to be gone");
  });
});

describe("trainers", () => {
  /** Counts to the goal from its checkpoint, in the driver, as a trainer's controller does. */
  const trainer = (folderOf: (trial: string) => string) => ({
    fit: () => undefined,
    [Symbol.for("shoal.trainable")]: () => ({
      name: "Counter",
      resources: () => ({ bundles: [{ CPU: 1 }, { CPU: 1 }] }),
      async run(trial: {
        config: { goal: number };
        checkpoint?: Checkpoint;
        name: string;
        report(metrics: Record<string, number>, checkpoint?: Checkpoint): Promise<"continue" | "stop">;
      }) {
        let at = Number((await trial.checkpoint?.asDirectory((path) => readFileSync(join(path, "at"), "utf8"))) ?? 0);
        while (at < trial.config.goal) {
          at += 1;
          const path = join(folderOf(trial.name), `checkpoint_00000${at}`);
          mkdirSync(path, { recursive: true });
          writeFileSync(join(path, "at"), String(at));
          if ((await trial.report({ at }, Checkpoint.fromDirectory(path))) === "stop") return;
          if (trial.config.goal === 3 && at === 2 && trial.checkpoint === undefined) throw new Error("a rank died");
        }
      },
    }),
  });

  test("what has the symbol of trainables runs in the driver, one after the other where its bundles fill the cluster", async () => {
    const config = runConfig({ failureConfig: { maxFailures: 1 } });
    const results = await new Tuner(
      trainer((name) => join(folder, config.name, name)),
      {
        paramSpace: { goal: gridSearch([2, 3, 9]) },
        tuneConfig: { metric: "at", mode: "max" },
        runConfig: { ...config, stop: { trainingIteration: 5 } },
      },
    ).fit();
    expect(results.errors.map(({ message }) => message)).toEqual([]);
    expect(Array.from(results, ({ metrics, iterations }) => [metrics?.at, iterations])).toEqual([
      [2, 2],
      [3, 3],
      [5, 5],
    ]);
    expect(results.at(1)?.checkpoint?.path).toMatch(/checkpoint_000003$/);
  });
});

test("the program shoal shows the trials of a run, the best first", async () => {
  const results = await new Tuner((config: { x: number }) => ({ loss: config.x }), {
    paramSpace: { x: gridSearch([3, 1, 2]) },
    tuneConfig: { metric: "loss", mode: "min" },
    runConfig: runConfig(),
  }).fit();
  const shoal = (...words: string[]) => runProgram([SHOAL, "tune", ...words]);
  const list = await shoal("list-trials", results.experimentPath, "--limit", "2");
  expect(list).toMatchObject({ exitCode: 0, stderr: "" });
  const [head, header, ...rows] = list.stdout.trimEnd().split("\n");
  expect(head).toBe(`${results.experimentPath}: finished, 3 trials (3 terminated)`);
  expect(header?.split(/ +/)).toEqual(["trial", "status", "loss", "iteration", "time", "x"]);
  expect(rows.map((row) => row.split(/ +/)[2])).toEqual(["1", "2"]);
  const shown = await shoal("show", results.experimentPath, "00001", "--json");
  expect(JSON.parse(shown.stdout)).toMatchObject({ status: "terminated", config: { x: 1 }, metrics: { loss: 1 } });
  expect(await shoal("list-trials", folder)).toMatchObject({ exitCode: 1, stdout: "" });
});

test("the program shoal shows the trials of a run that was cut off as its driver saw them, with a scheduler that no folder holds", async () => {
  class Climb {
    at = 0;
    rate = 0;
    setup({ rate }: { rate: number }) {
      this.rate = rate;
    }
    step() {
      this.at += this.rate;
      return { at: this.at };
    }
    saveCheckpoint(path: string) {
      process.getBuiltinModule("node:fs").writeFileSync(`${path}/at`, String(this.at));
    }
    loadCheckpoint(path: string) {
      this.at = Number(process.getBuiltinModule("node:fs").readFileSync(`${path}/at`, "utf8"));
    }
  }
  const seen = new Map<string, Trial>();
  const cut = new AbortController();
  let results = 0;
  const run = runConfig({
    callbacks: [
      {
        onTrialResult: ({ trial }: { trial: Trial }) => {
          seen.set(trial.id, trial);
          results += 1;
          const rates = Array.from(seen.values(), ({ config }) => config["rate"] as number);
          if (results >= 40 && rates.length === 4 && Math.min(...rates) > 0.2) cut.abort(new Error("cut off"));
        },
      },
    ],
  });
  const scheduler = new PopulationBasedTraining({
    timeAttr: "trainingIteration",
    perturbationInterval: 2,
    hyperparamMutations: { rate: uniform(0, 4) },
    quantileFraction: 0.5,
    seed: 2,
  });
  const tuner = new Tuner(Climb, {
    paramSpace: { rate: gridSearch([0.1, 0.2, 3, 4]) },
    tuneConfig: { metric: "at", mode: "max", scheduler, maxConcurrentTrials: 2 },
    runConfig: run,
  });
  await expect(tuner.fit({ signal: cut.signal })).rejects.toThrow("cut off");
  const listed = await runProgram([SHOAL, "tune", "list-trials", join(folder, run.name), "--json"]);
  type Listed = Pick<Trial, "id" | "status"> & { readonly iteration: number; readonly config: { readonly rate: number } };
  const { state, trials } = JSON.parse(listed.stdout) as { state: string; trials: Listed[] };
  expect(state).toBe("running");
  const listedFacts = trials.map(({ id, status, iteration, config }) => [id, { status, iteration, config }]);
  const driverFacts = Array.from(seen.values(), ({ id, status, lastResult, config }) => [
    id,
    { status, iteration: lastResult?.trainingIteration, config },
  ]);
  expect(Object.fromEntries(listedFacts)).toEqual(Object.fromEntries(driverFacts));
  // Some wait for their turn, and the slow ones took over the checkpoints and the rates of others.
  expect(trials.filter(({ status }) => status === "paused").length).toBeGreaterThan(0);
  for (const { config } of trials) expect(config.rate).toBeGreaterThan(0.2);
});

test("a report is one page that shows the experiment", async () => {
  const results = await new Tuner(
    async (config: { x: number }) => {
      for (let i = 1; i <= 3; i += 1) await report({ loss: config.x / i });
    },
    { paramSpace: { x: uniform(0, 1) }, tuneConfig: { metric: "loss", mode: "min", numSamples: 8 }, runConfig: runConfig() },
  ).fit();
  await results.writeReport(join(folder, "report.html"));
  const html = readFileSync(join(folder, "report.html"), "utf8");
  expect(html).toContain("8 trials, 0 failed");
  expect(html.match(/<polyline/g)).toHaveLength(16);
});

describe("failures", () => {
  test("each kind of bad report is an error that names the trial, and the others go on", async () => {
    const results = await new Tuner(
      async ({ kind }: { kind: string }) => {
        if (kind === "throws") throw new RangeError("out of luck");
        if (kind === "silent") return undefined;
        if (kind === "dies") process.kill(process.pid, "SIGKILL");
        await report(
          kind === "nan" ? { loss: Number.NaN } : kind === "text" ? { loss: "low" } : kind === "missing" ? { lost: 1 } : { loss: 1 },
        );
        return undefined;
      },
      {
        paramSpace: { kind: gridSearch(["throws", "silent", "dies", "nan", "text", "missing", "good"]) },
        tuneConfig: { metric: "loss", mode: "min" },
        runConfig: runConfig(),
      },
    ).fit();
    const errors = Object.fromEntries(
      Array.from(results, ({ config, error, trialId }) => [config.kind, error?.message.replace(trialId, "X")]),
    );
    expect(errors.throws).toBe("Trial X failed: RangeError: out of luck");
    expect(errors.silent).toBe('Trial X ended without reporting "loss": call await report({ loss: … }), or return { loss: … }');
    expect(errors.dies).toContain("SIGKILL");
    expect(errors.nan).toBeUndefined();
    expect(errors.text).toContain('the metric "loss" must be a number: received "low"');
    expect(errors.missing).toContain('its report lacks the metric "loss": it has "lost"');
    expect(results.getBestResult().config.kind).toBe("good");
    expect(results.errors).toHaveLength(5);
    const failed = [...results].find(({ config }) => config.kind === "throws");
    expect(readFileSync(join(failed?.path ?? "", "error.txt"), "utf8")).toContain("out of luck");
  });

  test("a trial that fails is tried again from its checkpoint", async () => {
    const marks = join(folder, "marks");
    mkdirSync(marks);
    const results = await new Tuner(
      async ({ places }: { places: { marks: string; temporary: string } }) => {
        const fs = process.getBuiltinModule("node:fs");
        const from = getCheckpoint();
        let at = from === undefined ? 0 : Number(await from.asDirectory((path) => fs.readFileSync(`${path}/at`, "utf8")));
        while (at < 6) {
          at += 1;
          const path = fs.mkdtempSync(places.temporary);
          fs.writeFileSync(`${path}/at`, String(at));
          await report({ at }, { checkpoint: Checkpoint.fromDirectory(path) });
          fs.rmSync(path, { recursive: true });
          if (at === 3 && !fs.existsSync(`${places.marks}/failed`)) {
            fs.writeFileSync(`${places.marks}/failed`, "");
            throw new Error("once");
          }
        }
      },
      {
        paramSpace: { places: { marks, temporary: join(folder, "temporary-") } },
        runConfig: runConfig({ failureConfig: { maxFailures: 1 }, checkpointConfig: { numToKeep: 2 } }),
      },
    ).fit();
    const [only] = results;
    expect(only?.error).toBeUndefined();
    expect(only?.metrics).toMatchObject({ at: 6, trainingIteration: 6 });
    expect((await only?.metricsColumns())?.at).toEqual([1, 2, 3, 4, 5, 6]);
    expect(readdirSync(only?.path ?? "").filter((name) => name.startsWith("checkpoint_"))).toEqual([
      "checkpoint_000004",
      "checkpoint_000005",
    ]);
  });

  test("failFast rejects with the trial's error, and the run can be restored", async () => {
    const config = runConfig({ failureConfig: { failFast: true } });
    const train = async ({ x }: { x: number }) => {
      if (x === 2 && !process.getBuiltinModule("node:fs").existsSync(`${getContext().trialDir}/../../repaired`)) throw new Error("no twos");
      return { x };
    };
    const tuner = new Tuner(train, {
      paramSpace: { x: gridSearch([1, 2, 3, 4]) },
      tuneConfig: { maxConcurrentTrials: 1 },
      runConfig: config,
    });
    await expect(tuner.fit()).rejects.toThrow("no twos");
    writeFileSync(join(folder, "repaired"), "");
    const path = join(folder, config.name);
    expect(await Tuner.canRestore(path)).toBe(true);
    const results = await Tuner.restore(path, train, { resumeErrored: true }).fit();
    expect(Array.from(results, ({ metrics }) => metrics?.x)).toEqual([1, 2, 3, 4]);
  });

  test("a config that cannot be sent fails its trial alone", async () => {
    const socket = new (process.getBuiltinModule("node:net").Socket)();
    const results = await new Tuner((config: { value: unknown }) => ({ ok: typeof config.value }), {
      paramSpace: { value: gridSearch([1, socket, "two"]) },
      runConfig: runConfig(),
    }).fit();
    expect(results.errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^Trial .*_00001 failed: SerializationError: its configuration cannot be sent .*\n *config → \.value \(Socket\)/,
      ),
    ]);
    expect(Array.from(results, ({ metrics }) => metrics?.ok)).toEqual(["number", undefined, "string"]);
    const captures = new Tuner(() => ({ ok: String(socket.destroyed) }), { runConfig: runConfig() });
    await expect(captures.fit()).rejects.toThrow("the trainable → captured `socket` (Socket) cannot be sent");
    socket.destroy();
  });

  test("a searcher is closed at the end of each run, however it ends, and nothing that fails there changes that", async () => {
    const closed: string[] = [];
    const searcher = (name: string, suggest: () => { x: number }) => ({
      setSearchProperties: () => {},
      suggest,
      onTrialComplete: () => {},
      save: () => null,
      restore: () => {},
      close: () => {
        closed.push(name);
        throw new Error("no way out");
      },
    });
    const fit = (name: string, suggest: () => { x: number }) =>
      new Tuner(({ x }: { x: number }) => ({ x }), {
        tuneConfig: { searchAlg: searcher(name, suggest), metric: "x", mode: "max" },
        runConfig: { storagePath: folder, name: `closed-${name}` },
      }).fit();
    expect((await fit("good", () => ({ x: 7 }))).getBestResult().metrics?.x).toBe(7);
    const bad = fit("bad", () => {
      throw new Error("no idea");
    });
    await expect(bad).rejects.toThrow("no idea");
    const odd = fit("odd", () => 7 as never);
    await expect(odd).rejects.toThrow('suggest() of the searcher must give a configuration, "later" or "finished": received 7');
    expect(closed).toEqual(["good", "bad", "odd"]);
    const restored = Tuner.restore(join(folder, "closed-odd"), ({ x }: { x: number }) => ({ x }), {
      tuneConfig: { searchAlg: searcher("odd", () => 7 as never) },
    });
    await expect(restored.fit()).rejects.toThrow("received 7");
  });

  test("a run's name is refused while its run is there, unless it is overwritten", async () => {
    const config = runConfig();
    const tuner = () => new Tuner(() => ({ a: 1 }), { runConfig: config });
    await tuner().fit();
    await expect(tuner().fit()).rejects.toThrow(/holds a run that is finished already/);
    const again = await new Tuner(() => ({ a: 2 }), { runConfig: { ...config, overwrite: true } }).fit();
    expect(again.at(0)?.metrics?.a).toBe(2);
  });

  test("a signal ends the run at once", async () => {
    const signal = AbortSignal.timeout(300);
    const endless = async () => {
      for (;;) await new Promise((resolve) => setTimeout(resolve, 1000));
    };
    await expect(new Tuner(endless, { runConfig: runConfig() }).fit({ signal })).rejects.toThrow("timeout");
  });

  test("a time budget ends the experiment with what it has", async () => {
    const told = new Map<string, unknown>();
    const callbacks = [{ onTrialResult: ({ trial, result }: { trial: Trial; result: TrialResult }) => told.set(trial.id, result["i"]) }];
    const results = await new Tuner(
      async () => {
        for (let i = 0; ; i += 1) {
          await report({ i });
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      },
      { tuneConfig: { numSamples: -1, timeBudgetMs: 800 }, runConfig: runConfig({ callbacks }) },
    ).fit();
    expect(results.length).toBe(2);
    // On a crowded machine there may be no time for a first report.
    for (const { status, metrics, trialId } of results) expect([status, metrics?.i]).toEqual(["terminated", told.get(trialId)]);
    expect(existsSync(join(results.experimentPath, "run.json"))).toBe(true);
  });
});
