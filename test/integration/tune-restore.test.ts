/** Drivers that are killed at any moment, and `Tuner.restore` on the folders that they leave. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  BasicVariantGenerator,
  Checkpoint,
  getCheckpoint,
  gridSearch,
  report,
  Result,
  type Stopper,
  TimeoutStopper,
  Tuner,
  uniform,
  withResources,
} from "shoal/tune";
import { expect, test } from "vitest";
import { readStoredRun } from "../../src/tune/trials/stored-trials.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { isAlive, shoalProcesses, until, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 2 });
const folder = useFolder();
const DIST = pathToFileURL(join(REPOSITORY, "dist", "tune", "index.js")).href;

/** Trials of 6 reports with a checkpoint each; each report is a line of `reports.log`. `restore` goes on with the run where there is one. */
function program(name: string, { stepMs, samples }: { stepMs: number; samples: number }): string {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(
    file,
    `
import { Checkpoint, getCheckpoint, getContext, report, Tuner, uniform } from ${JSON.stringify(DIST)};
const log = ${JSON.stringify(join(folder, `${name}.log`))};
const temporary = ${JSON.stringify(join(folder, `${name}-temporary-`))};
const train = async (config) => {
  const fs = process.getBuiltinModule("node:fs");
  const from = getCheckpoint();
  let at = from === undefined ? 0 : Number(await from.asDirectory((path) => fs.readFileSync(path + "/at", "utf8")));
  while (at < 6) {
    at += 1;
    await new Promise((resolve) => setTimeout(resolve, ${stepMs}));
    const path = fs.mkdtempSync(temporary);
    fs.writeFileSync(path + "/at", String(at));
    // Before the report: the driver may have taken that, and the process be killed before it writes anything more.
    fs.appendFileSync(log, getContext().trialId + " " + at + "\\n");
    await report({ at, x: config.x }, { checkpoint: Checkpoint.fromDirectory(path) });
    fs.rmSync(path, { recursive: true });
  }
};
const options = {
  paramSpace: { x: uniform(0, 1) },
  tuneConfig: { metric: "x", mode: "max", numSamples: ${samples}, seed: 5 },
  runConfig: { storagePath: ${JSON.stringify(folder)}, name: ${JSON.stringify(name)}, checkpointConfig: { numToKeep: 1 } },
};
const path = ${JSON.stringify(join(folder, name))};
const tuner = (await Tuner.canRestore(path)) ? Tuner.restore(path, train) : new Tuner(train, options);
const results = await tuner.fit();
console.log(JSON.stringify(Array.from(results, ({ trialId, config, metrics, iterations }) => [trialId.slice(-2), config.x, metrics.at, iterations])));
`,
  );
  return file;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(file: string, env: Record<string, string> = {}): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [file], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const texts = { stdout: "", stderr: "" };
  child.stdout?.on("data", (text: Buffer) => (texts.stdout += text.toString()));
  child.stderr?.on("data", (text: Buffer) => (texts.stderr += text.toString()));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...texts }));
  return { child, ended };
}

/** The searcher's values in an uninterrupted run. */
function sequence(samples: number): number[] {
  const searcher = new BasicVariantGenerator({ numSamples: samples, seed: 5 });
  searcher.setSearchProperties("x", "max", { x: uniform(0, 1) });
  return Array.from({ length: samples }, (_, index) => (searcher.suggest(`t${index}`) as { x: number }).x);
}

test("a run whose driver is killed again and again ends with the same trials, and repeats no finished one", async () => {
  const samples = 8;
  const file = program("killed", { stepMs: 25, samples });
  const path = join(folder, "killed");
  const log = join(folder, "killed.log");
  const linesOf = (): string[] => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);
  for (const reports of [3, 16, 29]) {
    const { child, ended } = start(file);
    await until(() => linesOf().length >= reports || child.exitCode !== null, "reports");
    const processes = shoalProcesses({ under: child.pid as number });
    child.kill("SIGKILL");
    await ended;
    await until(() => processes.every((pid) => !isAlive(pid)), "the processes of the driver to end");
  }
  const { stdout, stderr, code } = await start(file).ended;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const found = JSON.parse(stdout) as [string, number, number, number][];
  expect(found.map(([id, x]) => [id, x])).toEqual(sequence(samples).map((x, i) => [`0${i}`, x]));
  expect(found.map(([, , at, iterations]) => [at, iterations])).toEqual(found.map(() => [6, 6]));
  // Steps that were not logged before a kill are computed once more, at most two steps of each of two trials.
  expect(linesOf().length).toBeGreaterThanOrEqual(6 * samples);
  expect(linesOf().length).toBeLessThanOrEqual(6 * samples + 12);
  const trials = readdirSync(path).filter((name) => name.startsWith("train_"));
  const names = trials.flatMap((name) => readdirSync(join(path, name)));
  expect(names.filter((one) => one.startsWith("checkpoint_"))).toHaveLength(samples);
  expect(names.filter((one) => one.endsWith(".partial"))).toEqual([]);
  // Both files have each step. A step that one of them had before the log had it is there twice.
  const steps = new Set(["1", "2", "3", "4", "5", "6"]);
  for (const trial of trials) {
    const linesIn = (name: string): string[] =>
      readFileSync(join(path, trial, name), "utf8")
        .trim()
        .split(/\r?\n/);
    expect(new Set(linesIn("result.json").map((row) => String((JSON.parse(row) as { at: number }).at)))).toEqual(steps);
    const [header = "", ...rows] = linesIn("progress.csv");
    const column = header.split(",").indexOf("at");
    expect(new Set(rows.map((row) => row.split(",")[column]))).toEqual(steps);
  }
});

test("a copy of a run goes on in its own folder, and the original keeps its checkpoints", async () => {
  const file = program("original", { stepMs: 20, samples: 4 });
  const log = join(folder, "original.log");
  const { child, ended } = start(file);
  await until(() => existsSync(log) && readFileSync(log, "utf8").split("\n").length > 8, "reports");
  const processes = shoalProcesses({ under: child.pid as number });
  child.kill("SIGKILL");
  await ended;
  await until(() => processes.every((pid) => !isAlive(pid)), "the processes of the driver to end");
  const original = join(folder, "original");
  const before = filesBelow(original);
  cpSync(original, join(folder, "copy"), { recursive: true });
  const { stdout, stderr, code } = await start(program("copy", { stepMs: 1, samples: 4 })).ended;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect((JSON.parse(stdout) as unknown[][]).map(([, , at]) => at)).toEqual([6, 6, 6, 6]);
  expect(filesBelow(original)).toEqual(before);
  // The moved original goes on, too.
  renameSync(original, join(folder, "moved"));
  const moved = await start(program("moved", { stepMs: 1, samples: 4 })).ended;
  expect({ code: moved.code, stderr: moved.stderr }).toMatchObject({ code: 0 });
  expect((JSON.parse(moved.stdout) as unknown[][]).map(([, , at]) => at)).toEqual([6, 6, 6, 6]);
});

function filesBelow(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: "utf8" }).sort();
}

test("a stranger's run removes nothing outside of its folder", async () => {
  const file = program("strange", { stepMs: 20, samples: 2 });
  const log = join(folder, "strange.log");
  const { child, ended } = start(file);
  await until(() => existsSync(log) && readFileSync(log, "utf8").split("\n").length > 6, "reports");
  const processes = shoalProcesses({ under: child.pid as number });
  child.kill("SIGKILL");
  await ended;
  await until(() => processes.every((pid) => !isAlive(pid)), "the processes of the driver to end");
  const path = join(folder, "strange");
  const thesis = join(folder, "thesis");
  mkdirSync(thesis);
  writeFileSync(join(thesis, "chapter"), "");
  let changed = 0;
  for (const name of readdirSync(path).filter((one) => one.startsWith("experiment_state"))) {
    const text = readFileSync(join(path, name), "utf8");
    const altered = text.replace(/"(?:checkpoint|path)":"[^"]*checkpoint_[^"]*"/g, (found) => {
      changed += 1;
      return `${found.split(":")[0]}:${JSON.stringify(thesis)}`;
    });
    writeFileSync(join(path, name), altered);
  }
  expect(changed).toBeGreaterThan(0);
  await start(file).ended;
  expect(readdirSync(thesis)).toEqual(["chapter"]);
});

/** A population that TPE begins and that waits for itself at every other of 8 reports, so that each run ends the same. `score` sums up `x` over checkpoints. */
function populationProgram(name: string): string {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(
    file,
    `
import { Checkpoint, getCheckpoint, PopulationBasedTraining, report, TPESearch, Tuner, uniform } from ${JSON.stringify(DIST)};
const log = ${JSON.stringify(join(folder, `${name}.log`))};
// A run that is to be killed does not get to its end before.
const linesMax = Number(process.env.LINES_MAX ?? 1000);
const train = async (config) => {
  const fs = process.getBuiltinModule("node:fs");
  const from = getCheckpoint();
  let { at, score } = from === undefined ? { at: 0, score: 0 } : await from.asDirectory((path) => JSON.parse(fs.readFileSync(path + "/state", "utf8")));
  while (at < 8) {
    at += 1;
    score += config.x;
    await new Promise((resolve) => setTimeout(resolve, 20));
    const path = fs.mkdtempSync(${JSON.stringify(join(folder, `${name}-temporary-`))});
    fs.appendFileSync(log, at + "\\n");
    while (fs.readFileSync(log, "utf8").split("\\n").length > linesMax) await new Promise((resolve) => setTimeout(resolve, 5));
    fs.writeFileSync(path + "/state", JSON.stringify({ at, score }));
    await report({ at, score }, { checkpoint: Checkpoint.fromDirectory(path) });
    fs.rmSync(path, { recursive: true });
  }
};
const hyperparamMutations = { x: uniform(0, 1) };
const scheduler = new PopulationBasedTraining({ timeAttr: "at", perturbationInterval: 2, synch: true, seed: 3, hyperparamMutations });
const path = ${JSON.stringify(join(folder, name))};
const tuner = (await Tuner.canRestore(path))
  ? Tuner.restore(path, train, { tuneConfig: { scheduler } })
  : new Tuner(train, {
      paramSpace: { x: uniform(0, 1) },
      tuneConfig: { metric: "score", mode: "max", numSamples: 4, searchAlg: new TPESearch({ seed: 5 }), scheduler },
      runConfig: { storagePath: ${JSON.stringify(folder)}, name: ${JSON.stringify(name)} },
    });
const results = await tuner.fit();
console.log(JSON.stringify(Array.from(results, ({ trialId, config, metrics, error }) => [trialId.slice(-2), config.x, metrics.score, metrics.at, error])));
`,
  );
  return file;
}

test("a population whose driver is killed twice ends as one that was left alone", async () => {
  const whole = start(populationProgram("whole")).ended;
  const file = populationProgram("cut");
  const log = join(folder, "cut.log");
  for (const reports of [9, 21]) {
    const { child, ended } = start(file, { LINES_MAX: String(reports) });
    await until(() => (existsSync(log) && readFileSync(log, "utf8").split("\n").length > reports) || child.exitCode !== null, "reports");
    const processes = shoalProcesses({ under: child.pid as number });
    child.kill("SIGKILL");
    await ended;
    expect(child.signalCode).toBe("SIGKILL");
    await until(() => processes.every((pid) => !isAlive(pid)), "the processes of the driver to end");
  }
  const { stdout, stderr, code } = await start(file).ended;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const found = JSON.parse(stdout) as [string, number, number, number, null][];
  expect(found.map(([id, , , at, error]) => [id, at, error])).toEqual(["00", "01", "02", "03"].map((id) => [id, 8, null]));
  // Trials have gone on from those of others: their scores are not eight times their own values.
  expect(found.some(([, x, score]) => Math.abs(score - 8 * x) > 0.01)).toBe(true);
  expect(found).toEqual(JSON.parse((await whole).stdout));
});

test("Ctrl-C tells what is kept and how to go on", async () => {
  const file = program("interrupted", { stepMs: 50, samples: 40 });
  const log = join(folder, "interrupted.log");
  const { child, ended } = start(file);
  await until(() => existsSync(log) && readFileSync(log, "utf8").split("\n").length > 14, "reports");
  child.kill("SIGINT");
  const { stderr } = await ended;
  expect(child.signalCode).toBe("SIGINT");
  expect(stderr).toMatch(/shoal: tune: \d+ trials are finished and \d+ are not: go on with Tuner\.restore\(".*interrupted", trainable\)/);
});

test("a run whose daemon dies blames no trial, and goes on in the same program", async () => {
  const file = join(folder, "daemonless.mjs");
  writeFileSync(
    file,
    `
import { init, shutdown } from ${JSON.stringify(pathToFileURL(join(REPOSITORY, "dist", "index.js")).href)};
import { gridSearch, report, Tuner } from ${JSON.stringify(DIST)};
await init({ numCpus: 2 });
const train = async ({ x }) => {
  for (let at = 1; at <= 3; at += 1) await report({ at, x });
  const { setTimeout: sleep } = process.getBuiltinModule("node:timers/promises");
  await sleep(300);
};
let results = 0;
const kill = () => {
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  const rows = execFileSync("ps", ["-eo", "pid,ppid,args"], { encoding: "utf8" }).split("\\n").map((row) => row.trim().split(/\\s+/));
  process.kill(Number(rows.find(([, parent, , kind]) => parent === String(process.pid) && kind === "daemon")[0]), "SIGKILL");
};
const runConfig = {
  storagePath: ${JSON.stringify(folder)},
  name: "daemonless",
  failureConfig: { maxFailures: -1 },
  callbacks: [{ onTrialResult: () => (results += 1) === 2 && kill() }],
};
const error = await new Tuner(train, { paramSpace: { x: gridSearch([1, 2, 3]) }, runConfig }).fit().catch((error) => error);
const again = await Tuner.restore(${JSON.stringify(join(folder, "daemonless"))}, train).fit();
console.log(JSON.stringify([error.message, error.hint, Array.from(again, ({ metrics, status }) => [metrics.x, metrics.at, status])]));
await shutdown();
`,
  );
  const { stdout, stderr } = await start(file).ended;
  const [message, hint, again] = JSON.parse(stdout) as unknown[];
  expect(message).toMatch(/^The run daemonless cannot go on: the daemon of this node has ended: /);
  expect(hint).toMatch(/^\d trials are finished and \d are not: go on with Tuner.restore\(".*daemonless", trainable\)$/);
  expect(again).toEqual([1, 2, 3].map((x) => [x, 3, "terminated"]));
  expect(stderr).not.toContain("tried again");
});

test("trials that failed stay failed, and begin anew where the user says so", async () => {
  const train = ({ x }: { x: number }) => {
    if (x > 0.5) throw new Error("too large");
    return { x };
  };
  const runConfig = { storagePath: folder, name: "errored" };
  const first = await new Tuner(train, { paramSpace: { x: uniform(0, 1) }, tuneConfig: { numSamples: 6, seed: 5 }, runConfig }).fit();
  const failed = sequence(6).filter((x) => x > 0.5).length;
  expect(first.numErrors).toBe(failed);
  const again = await Tuner.restore(first.experimentPath, train).fit();
  expect(again.numErrors).toBe(failed);
  const repaired = await Tuner.restore(first.experimentPath, ({ x }: { x: number }) => ({ x, again: true }), {
    restartErrored: true,
  }).fit();
  expect(repaired.numErrors).toBe(0);
  expect(Array.from(repaired, ({ config }) => config.x)).toEqual(sequence(6));
  expect(Array.from(repaired, ({ metrics }) => (metrics as { again?: boolean } | undefined)?.again === true).filter(Boolean)).toHaveLength(
    failed,
  );
});

/** Reports 1 to 4 with a checkpoint each, and fails after the second where it is broken. */
const counting = (isBroken: boolean) => async () => {
  const fs = process.getBuiltinModule("node:fs");
  const from = getCheckpoint();
  const begunAt = from === undefined ? 0 : Number(await from.asDirectory((path) => fs.readFileSync(`${path}/at`, "utf8")));
  for (let at = begunAt + 1; at <= 4; at += 1) {
    const path = fs.mkdtempSync("/tmp/test-shoal-tune-");
    fs.writeFileSync(`${path}/at`, String(at));
    await report({ at, begunAt }, { checkpoint: Checkpoint.fromDirectory(path) });
    fs.rmSync(path, { recursive: true });
    if (isBroken && at === 2) throw new Error("broken");
  }
};

test.each([
  ["resumeErrored", "from its last checkpoint", [0, 0, 2, 2]],
  ["restartErrored", "from its beginning", [0, 0, 0, 0]],
] as const)(
  "%s lets a failed trial go on %s, and leaves neither its error nor checkpoints that are not kept",
  async (option, _, begunAt) => {
    const runConfig = { storagePath: folder, name: option, checkpointConfig: { numToKeep: 1 } };
    const first = await new Tuner(counting(true), { runConfig }).fit();
    const path = first.at(0)?.path as string;
    const failed = await Tuner.restore(first.experimentPath, counting(false)).getResults();
    expect([failed.experimentPath, failed.at(0)?.error?.message]).toEqual([first.experimentPath, first.at(0)?.error?.message]);
    expect((await Result.fromPath(path)).error?.message).toContain("broken");
    const again = await Tuner.restore(first.experimentPath, counting(false), { [option]: true }).fit();
    expect(again.errors).toEqual([]);
    const read = await Result.fromPath(path);
    expect([read.error, read.bestCheckpoints.length]).toEqual([undefined, 1]);
    expect(read.checkpoint?.path).toBe(again.at(0)?.checkpoint?.path);
    expect(await read.metricsColumns()).toMatchObject({ at: [1, 2, 3, 4], begunAt, trainingIteration: [1, 2, 3, 4] });
  },
);

test("resumeUnfinished: false gives up what had not ended, with what it had reported, and goes on with new trials", async () => {
  const train = async ({ n }: { n: number }) => {
    for (let at = 1; at <= 3; at += 1) {
      await report({ at, n });
      if (n === 2 && at === 2) await new Promise(() => {});
    }
  };
  const cut = new AbortController();
  const onTrialResult = ({ result }: { result: Record<string, unknown> }) => {
    if (result["n"] === 2 && result["at"] === 2) cut.abort(new Error("cut"));
  };
  const first = new Tuner(train, {
    paramSpace: { n: gridSearch([1, 2, 3]) },
    tuneConfig: { maxConcurrentTrials: 1 },
    runConfig: { storagePath: folder, name: "given-up", callbacks: [{ onTrialResult }] },
  });
  await expect(first.fit({ signal: cut.signal })).rejects.toThrow("cut");
  // To look at a run changes nothing in it, and runs nothing.
  const seen = await Tuner.restore(join(folder, "given-up"), () => expect.fail("it ran")).getResults();
  expect(Array.from(seen, ({ config, status, metrics }) => [config["n"], status, metrics?.["at"], metrics?.["done"]])).toEqual([
    [1, "terminated", 3, true],
    [2, "running", 2, false],
  ]);
  const tuner = Tuner.restore(join(folder, "given-up"), train, { resumeUnfinished: false });
  const results = await tuner.fit();
  expect(await tuner.getResults()).toBe(results);
  expect(Array.from(results, ({ config, status, iterations }) => [config["n"], status, iterations])).toEqual([
    [1, "terminated", 3],
    [2, "terminated", 2],
    [3, "terminated", 3],
  ]);
});

test("a search without a seed goes on with what it had drawn", async () => {
  const train = ({ x }: { x: number }) => ({ x });
  const cut = new AbortController();
  let ended = 0;
  const callbacks = [{ onTrialComplete: () => (ended += 1) === 2 && cut.abort(new Error("cut")) }];
  const first = new Tuner(train, {
    paramSpace: { at: gridSearch([1, 2, 3, 4]), x: uniform(0, 1) },
    tuneConfig: { searchAlg: new BasicVariantGenerator({ constantGridSearch: true }), maxConcurrentTrials: 1 },
    runConfig: { storagePath: folder, name: "unseeded", callbacks },
  });
  await expect(first.fit({ signal: cut.signal })).rejects.toThrow("cut");
  const results = await Tuner.restore(join(folder, "unseeded"), train).fit();
  expect(results.length).toBe(4);
  expect(new Set(Array.from(results, ({ config }) => config["x"])).size).toBe(1);
});

test("stoppers and the time budget go on from where a run was cut", async () => {
  const train = async () => {
    for (let at = 1; ; at += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await report({ at });
    }
  };
  class TwentyResults {
    seen = 0;
    shouldStop(): boolean {
      this.seen += 1;
      return false;
    }
    stopAll(): boolean {
      return this.seen >= 20;
    }
    save(): number {
      return this.seen;
    }
    restore(seen: number): void {
      this.seen = seen;
    }
  }
  /** How many reports of a run that is cut after the tenth come before the cut, and how many in the restored run. */
  const reports = async (name: string, { stop, budgets = [] }: { stop?: (isRestored: boolean) => Stopper; budgets?: number[] }) => {
    const cut = new AbortController();
    let seen = 0;
    const onTrialResult = () => (seen += 1) === 10 && cut.abort(new Error("cut"));
    const runConfig = (isRestored: boolean) => ({ callbacks: [{ onTrialResult }], ...(stop && { stop: stop(isRestored) }) });
    const first = new Tuner(withResources(train, { numCpus: 0.5 }), {
      tuneConfig: { timeBudgetMs: budgets[0] },
      runConfig: { storagePath: folder, name, ...runConfig(false) },
    });
    await expect(first.fit({ signal: cut.signal })).rejects.toThrow("cut");
    const before = seen;
    const tuneConfig = { timeBudgetMs: budgets[1] };
    const results = await Tuner.restore(join(folder, name), train, { tuneConfig, runConfig: runConfig(true) }).fit();
    expect(Array.from(results, ({ status }) => status)).toEqual(["terminated"]);
    return { before, after: seen - before };
  };
  // Ten results take 180 ms at least: more than the restored runs have.
  const [own, timeout, budget] = await Promise.all([
    reports("own-stopper", { stop: () => new TwentyResults() }),
    reports("timeout", { stop: (isRestored) => new TimeoutStopper(isRestored ? 150 : 100_000) }),
    reports("budget", { budgets: [100_000, 150] }),
  ]);
  expect(own.before + own.after).toBe(20);
  expect(timeout.after).toBe(1);
  expect(budget.after).toBe(0);
});

test("what a folder cannot hold is asked for by name", async () => {
  const runConfig = { storagePath: folder, name: "with-code", stop: () => false };
  const tuneConfig = { trialNameCreator: () => "mine" };
  const first = await new Tuner(() => ({ a: 1 }), { paramSpace: { f: (x: number) => x }, tuneConfig, runConfig }).fit();
  await expect(Tuner.restore(first.experimentPath, () => ({ a: 1 })).fit()).rejects.toThrow(
    "its paramSpace and stop and trialNameCreator cannot be read from a folder",
  );
  const again = await Tuner.restore(first.experimentPath, () => ({ a: 2 }), {
    paramSpace: { f: (x: number) => x },
    tuneConfig,
    runConfig: { stop: () => false },
  }).fit();
  expect(again.at(0)?.metrics?.a).toBe(1);
  const nothing = Tuner.restore(join(folder, "nothing"), () => ({}));
  await expect(nothing.fit()).rejects.toThrow("there is no run of Tune in this folder");
  await expect(nothing.getResults()).rejects.toThrow("there is no run of Tune in this folder");
  await expect(new Tuner(() => ({})).getResults()).rejects.toThrow("Cannot get results: fit() has not ended: await tuner.fit()");
});

/** Writes the files of `test/vectors/tune/stored-run.json`. They are never made anew: a folder of the first version of the format is to be readable for good. */
function writeStoredRun(): string {
  const path = join(folder, "stored-run");
  const { files } = JSON.parse(readFileSync(join(REPOSITORY, "test", "vectors", "tune", "stored-run.json"), "utf8")) as {
    files: Record<string, string>;
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text.replaceAll("$RUN", path));
  }
  return path;
}

test("a run that the first version of the format has kept is read, and goes on", async () => {
  const path = writeStoredRun();
  const stored = await readStoredRun(path);
  expect(stored).toMatchObject({ path, state: "running", metrics: ["loss"], modes: ["min"] });
  expect(stored.trials.map(({ config, status, iteration }) => [config["x"], config["model"], status, iteration])).toEqual([
    [0.5456691929858865, { width: 8 }, "running", 1],
    [0.7384683131716231, { depth: 2 }, "errored", 0],
    [0.29889203270674336, { width: 8 }, "terminated", 1],
  ]);
  const train = async ({ x }: { x: number }) => {
    const fs = process.getBuiltinModule("node:fs");
    const from = getCheckpoint();
    let at = from === undefined ? 0 : Number(await from.asDirectory((place) => fs.readFileSync(`${place}/at`, "utf8")));
    while (at < 4) {
      at += 1;
      const place = fs.mkdtempSync(`${process.getBuiltinModule("node:os").tmpdir()}/test-shoal-stored-`);
      fs.writeFileSync(`${place}/at`, String(at));
      // Two trials run at once. The later three lose to the stored losses in whatever order they report.
      await report({ loss: (x - 0.5) ** 2 + (x > 0.6 ? 1 : 0), at }, { checkpoint: Checkpoint.fromDirectory(place) });
      fs.rmSync(place, { recursive: true });
    }
  };
  const results = await Tuner.restore(path, train).fit();
  // The searcher goes on with the values that an uninterrupted run has; the scheduler knows the losses of before.
  expect(Array.from(results, ({ config, iterations, status }) => [(config as { x: number }).x, iterations, status])).toEqual([
    [0.5456691929858865, 4, "terminated"],
    [0.7384683131716231, 0, "errored"],
    [0.29889203270674336, 1, "terminated"],
    [0.626682050602665, 1, "terminated"],
    [0.8828472105653045, 1, "terminated"],
    [0.7667734683268007, 1, "terminated"],
  ]);
  expect(results.at(1)?.error?.message).toContain("no data");
  // Trial 2 had been stopped and only had to end: its checkpoint is kept.
  expect(await results.at(2)?.checkpoint?.asDirectory((place) => readFileSync(join(place, "at"), "utf8"))).toBe("1");
});
