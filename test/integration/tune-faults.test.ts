/** Faults of users and machines in experiments: callbacks that throw, trials that hang, folders and disks that take nothing. Each costs its trial at most. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { remote } from "shoal";
import {
  Checkpoint,
  type Decision,
  FIFOScheduler,
  getContext,
  gridSearch,
  report,
  type Trial,
  Tuner,
  type TuneCallback,
  type TuneRunConfig,
  withResources,
} from "shoal/tune";
import { describe, expect, test, vi } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { failureOf, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 2 });
const folder = useFolder();
let runs = 0;
const runConfig = (more: TuneRunConfig = {}): TuneRunConfig => ({ storagePath: folder, name: `run-${(runs += 1)}`, ...more });

/** The run's stderr. */
async function saidDuring<T>(run: () => Promise<T>): Promise<{ value: T; said: string[] }> {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    const value = await run();
    return { value, said: write.mock.calls.map(([text]) => String(text)) };
  } finally {
    write.mockRestore();
  }
}

test("a trial for which the whole cluster is too small is said, and waits", async () => {
  const large = withResources(() => ({ at: 1 }), { numCpus: 64 });
  const cut = new AbortController();
  const config = runConfig({ callbacks: [{ onTrialStart: () => cut.abort(new Error("seen")) }] });
  const { said } = await saidDuring(() => failureOf(new Tuner(large, { runConfig: config }).fit({ signal: cut.signal })));
  expect(said.join("")).toMatch(/^shoal tune: trial \w+_00000 needs 64 CPU and the whole cluster has 2: it waits until there is more/);
});

test("what is shown where there is no terminal is asked for", async () => {
  const train = async ({ x }: { x: number }) => {
    await report({ loss: x });
    if (x === 2) throw new Error("no twos");
    await new Promise((resolve) => setTimeout(resolve, 150));
  };
  const told = async (more: TuneRunConfig): Promise<string[]> => {
    const { value: results, said } = await saidDuring(() =>
      new Tuner(train, {
        paramSpace: { x: gridSearch([1, 2]) },
        tuneConfig: { metric: "loss", mode: "min", maxConcurrentTrials: 1 },
        runConfig: runConfig(more),
      }).fit(),
    );
    const [id = ""] = results.at(0)?.trialId.split("_") ?? [];
    const plain = (text: string): string => text.replaceAll(id, "ID").replaceAll(basename(results.experimentPath), "run");
    return said.map((text) => plain(text).replaceAll(/\d+\.\d s/g, "T"));
  };
  expect(await told({})).toEqual([]);
  expect(await told({ verbose: 1 })).toEqual(["shoal tune: done after T: run: 2 of 2 trials (1 terminated, 1 errored)\n"]);
  const all = await told({ verbose: 3, progressReporter: { metricColumns: ["loss"], reportIntervalMs: 1 } });
  expect(all.some((text) => /^shoal tune: run: \d of 2 trials \(.*running.*\)/.test(text))).toBe(true);
  expect(all.filter((text) => /: trial |: Trial /.test(text))).toEqual([
    "shoal tune: trial ID_00000: iteration 1, T: loss 1\n",
    "shoal tune: trial ID_00001: iteration 1, T: loss 2\n",
    "shoal tune: Trial ID_00001 failed: Error: no twos\n",
  ]);
  expect(all.at(-1)?.split("\n")).toEqual([
    "shoal tune: done after T: run: 2 of 2 trials (1 terminated, 1 errored)",
    "trial         status      loss  x",
    "ID_00000  terminated     1  1",
    "ID_00001  errored        2  2",
    "",
  ]);
});

describe("callbacks", () => {
  test("follow each trial in order, and one that throws ends nothing", async () => {
    const calls: string[] = [];
    const tell = (hook: string, { index }: Trial, more = ""): void => void calls.push(`${index} ${hook}${more}`);
    const follow: TuneCallback = {
      onTrialStart: ({ trial }) => tell("start", trial),
      async onTrialResult({ trial, result }) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        tell("result", trial, ` ${String(result["at"])}`);
      },
      setup: ({ experimentPath, ...info }) => void calls.push(`setup ${basename(experimentPath)} ${JSON.stringify(info)}`),
      onTrialCheckpoint: ({ trial, checkpoint }) => tell("checkpoint", trial, ` ${basename(checkpoint.path)}`),
      onTrialComplete: ({ trial, result }) => tell("complete", trial, ` ${String(result?.done)}`),
      onTrialError: ({ trial, error }) => tell("error", trial, ` ${error.message.replace(trial.id, "X")}`),
      onExperimentEnd: ({ trials }) => void calls.push(`end ${trials.length}`),
    };
    class Broken {
      onTrialResult(): void {
        throw new Error("out of paper");
      }
    }
    const { value: results, said } = await saidDuring(() =>
      new Tuner(
        async ({ x, temporary }: { x: number; temporary: string }) => {
          const path = process.getBuiltinModule("node:fs").mkdtempSync(temporary);
          await report({ at: 1 }, { checkpoint: Checkpoint.fromDirectory(path) });
          if (x === 1) throw new Error("no ones");
          await report({ at: 2 });
        },
        {
          paramSpace: { x: gridSearch([0, 1]), temporary: join(folder, "callbacks-") },
          tuneConfig: { maxConcurrentTrials: 1 },
          runConfig: runConfig({ callbacks: [new Broken(), follow] }),
        },
      ).fit(),
    );
    expect([results.length, results.numErrors]).toEqual([2, 1]);
    expect(calls).toEqual([
      `setup ${basename(results.experimentPath)} ${JSON.stringify({ experimentName: basename(results.experimentPath), numSamples: 1, totalNumSamples: 2 })}`,
      "0 start",
      "0 checkpoint checkpoint_000000",
      "0 result 1",
      "0 result 2",
      "0 complete true",
      "1 start",
      "1 checkpoint checkpoint_000000",
      "1 result 1",
      "1 error Trial X failed: Error: no ones",
      "end 2",
    ]);
    expect(said).toEqual(["shoal tune: Broken.onTrialResult threw, and goes on being called: out of paper\n"]);
  });

  test("are told of a trial that is tried again and restored, and of each step", async () => {
    const errors: string[] = [];
    const train = async ({ begun }: { begun: string }) => {
      const fs = process.getBuiltinModule("node:fs");
      if (fs.existsSync(begun)) return { at: 1 };
      fs.writeFileSync(begun, "");
      await report({ at: 0 }, { checkpoint: Checkpoint.fromDirectory(fs.mkdtempSync(`${begun}-`)) });
      throw new Error("not yet");
    };
    const told: string[] = [];
    const callbacks: TuneCallback[] = [
      {
        onTrialRecover: ({ error }) => void errors.push(error.message),
        onTrialStart: () => void told.push("start"),
        onTrialRestore: ({ checkpoint }) => void told.push(`restore ${basename(checkpoint.path)}`),
        onTrialResult: () => void told.push("result"),
        onStepBegin: ({ iteration, trials }) => void told.push(`begin ${iteration} ${trials.length}`),
        onStepEnd: ({ iteration, trials }) => void told.push(`end ${iteration} ${trials.length}`),
      },
    ];
    const { value: results } = await saidDuring(() =>
      new Tuner(train, {
        paramSpace: { begun: join(folder, "begun") },
        runConfig: runConfig({ failureConfig: { maxFailures: 1 }, callbacks }),
      }).fit(),
    );
    expect([results.numErrors, errors]).toEqual([0, [expect.stringMatching(/^Trial \w+_00000 failed: Error: not yet$/)]]);
    // The session begins, a configuration is suggested, there are no more, a report, a failure, the last report.
    expect(told.join(", ").split(/, (?=begin)/)).toEqual([
      "begin 1 0, end 1 0",
      "begin 2 0, start, end 2 1",
      "begin 3 1, end 3 1",
      "begin 4 1, result, end 4 1",
      "begin 5 1, start, restore checkpoint_000000, end 5 1",
      "begin 6 1, result, end 6 0",
    ]);
  });

  test("what is no callback is refused before anything starts", async () => {
    const config = runConfig({ callbacks: [{ onResult: () => {} } as TuneCallback] });
    const failure = await failureOf(new Tuner(() => ({ a: 1 }), { runConfig: config }).fit());
    expect(failure.message).toContain("it has none of the methods setup, onStepBegin, onStepEnd, onTrialStart");
    expect(existsSync(join(folder, config.name as string))).toBe(false);
  });
});

describe("trials that do not answer", () => {
  test("a trial that reports nothing for too long is tried again, fails by its name, and others go on", async () => {
    const results = await new Tuner(
      async ({ kind, log }: { kind: string; log: string }) => {
        await report({ at: 1 });
        process.getBuiltinModule("node:fs").appendFileSync(log, `${kind}\n`);
        if (kind === "hangs") await new Promise((resolve) => setTimeout(resolve, 1e6));
        await report({ at: 2 });
      },
      {
        paramSpace: { kind: gridSearch(["hangs", "good"]), log: join(folder, "hung.log") },
        tuneConfig: { metric: "at", mode: "max" },
        runConfig: runConfig({ failureConfig: { reportTimeoutMs: 1500, maxFailures: 1 } }),
      },
    ).fit();
    const [hung, good] = [results.at(0), results.at(1)];
    expect([hung?.status, hung?.metrics?.at, good?.status, good?.metrics?.at]).toEqual(["errored", 1, "terminated", 2]);
    expect(hung?.error?.message.replace(hung.trialId, "X")).toBe(
      "Trial X has reported nothing for 1500 ms, the reportTimeoutMs of failureConfig: its process was ended",
    );
    expect(readFileSync(join(folder, "hung.log"), "utf8").trim().split("\n").sort()).toEqual(["good", "hangs", "hangs"]);
  });

  test("a trial that hangs as it saves to be paused has hung, too", async () => {
    class Pausing extends FIFOScheduler {
      override onTrialResult(): Decision {
        return "pause";
      }
    }
    class Stuck {
      step() {
        return { at: 1 };
      }
      async saveCheckpoint() {
        await new Promise((resolve) => setTimeout(resolve, 1e6));
      }
    }
    const results = await new Tuner(Stuck, {
      tuneConfig: { scheduler: new Pausing() },
      runConfig: runConfig({ failureConfig: { reportTimeoutMs: 1500 } }),
    }).fit();
    expect(results.errors.map(({ message }) => message)).toEqual([expect.stringContaining("has reported nothing for 1500 ms")]);
  });

  test("a trial that waits for what others hold has not hung", async () => {
    const hog = remote(() => new Promise((resolve) => setTimeout(resolve, 3000)), { numCpus: 2 }).remote();
    const results = await new Tuner(() => ({ at: 1 }), { runConfig: runConfig({ failureConfig: { reportTimeoutMs: 2000 } }) }).fit();
    expect(results.errors).toEqual([]);
    await hog;
  });

  test("a trial that ends its process fails by its name, with how it ended and what to do", async () => {
    const { value: results, said } = await saidDuring(() =>
      new Tuner(
        async ({ exits }: { exits: boolean }) => {
          await report({ at: 1 });
          if (exits) process.exit(3);
        },
        { paramSpace: { exits: gridSearch([true, false]) }, runConfig: runConfig({ failureConfig: { maxFailures: 1 } }) },
      ).fit(),
    );
    const [id] = Array.from(results, ({ trialId }) => trialId);
    const message = `Trial ${id} failed: its process ended: it exited with code 3`;
    expect(results.errors.map((error) => error.message)).toEqual([message]);
    expect(results.errors[0]).toMatchObject({ hint: expect.stringContaining("let the trial return, or throw, instead") });
    expect(said).toEqual([`shoal tune: trial ${id} is tried again: ${message}\n`]);
  });

  test("a cleanup that throws is said, and blames no other trial, which may fail by itself", async () => {
    class Untidy {
      step() {
        if (getContext().trialId.endsWith("1")) throw new Error("no step");
        return { at: 1, done: true };
      }
      cleanup() {
        throw new Error("no such file");
      }
    }
    const tuneConfig = { numSamples: 3, maxConcurrentTrials: 1 };
    const { value: results, said } = await saidDuring(() => new Tuner(Untidy, { tuneConfig, runConfig: runConfig() }).fit());
    expect(Array.from(results, ({ status }) => status)).toEqual(["terminated", "errored", "terminated"]);
    expect(results.errors.map(({ message }) => message)).toEqual([expect.stringContaining("no step")]);
    // The process of the trial that failed is ended without a cleanup.
    const cleaned = Array.from(results, ({ trialId }) => trialId).filter((_, i) => i !== 1);
    expect(said).toEqual(cleaned.map((trialId) => `shoal tune: cleanup() after trial ${trialId} failed: Error: no such file\n`));
  });

  test("a trial that never reports does not outlive the time budget", async () => {
    const results = await new Tuner(
      async ({ kind }: { kind: string }) => {
        if (kind === "silent") await new Promise((resolve) => setTimeout(resolve, 1e6));
        await report({ at: 1 });
      },
      {
        paramSpace: { kind: gridSearch(["silent", "good"]) },
        tuneConfig: { metric: "at", mode: "max", timeBudgetMs: 1500 },
        runConfig: runConfig(),
      },
    ).fit();
    expect(Array.from(results, ({ status, metrics, error }) => [status, metrics?.at, error])).toEqual([
      ["terminated", undefined, undefined],
      ["terminated", 1, undefined],
    ]);
    expect(results.getBestResult().config.kind).toBe("good");
  });
});

describe("folders", () => {
  test("a storage in which nothing can be made is named, and nothing starts", async () => {
    const failure = await failureOf(new Tuner(() => ({ a: 1 }), { runConfig: { storagePath: "/proc/nowhere", name: "run" } }).fit());
    expect(failure.message).toMatch(/^Cannot make the folder \/proc\/nowhere\/run/);
  });

  test("a trial whose folder cannot be made fails by its name when it saves, and others go on", async () => {
    const { value: results, said } = await saidDuring(() =>
      new Tuner(
        async ({ x, temporary }: { x: number; temporary: string }) => {
          const fs = process.getBuiltinModule("node:fs");
          // In the place of the next trial's folder.
          if (x === 0) fs.writeFileSync(`${getContext().trialDir}/../trial-1`, "");
          await report({ x });
          await report({ x }, { checkpoint: Checkpoint.fromDirectory(fs.mkdtempSync(temporary)) });
        },
        {
          paramSpace: { x: gridSearch([0, 1, 2]), temporary: join(folder, "blocked-") },
          tuneConfig: { maxConcurrentTrials: 1, trialDirnameCreator: ({ config }) => `trial-${String(config["x"])}` },
          runConfig: runConfig(),
        },
      ).fit(),
    );
    expect(Array.from(results, ({ status }) => status)).toEqual(["terminated", "errored", "terminated"]);
    expect(results.errors[0]?.message).toMatch(/^Trial \w+_00001 failed: StorageError: Cannot .*trial-1/);
    expect(said.join("")).toMatch(/^(shoal tune: cannot write [\w ]+ of trial \w+_00001: .*trial-1.*\n)+$/);
    expect(readdirSync(join(results.experimentPath, "trial-2"))).toContain("result.json");
  });

  test("two trials do not share a folder", async () => {
    const tuneConfig = { numSamples: 2, trialNameCreator: () => "same" };
    const results = await new Tuner(() => ({ a: 1 }), { tuneConfig, runConfig: runConfig() }).fit();
    const [first, second] = Array.from(results, ({ path, trialId }) => [basename(path), trialId]);
    expect([first?.[0], second?.[0]]).toEqual(["same", `same_${second?.[1]}`]);
    const refused = await new Tuner(() => ({ a: 1 }), {
      tuneConfig: { numSamples: 2, trialDirnameCreator: () => "same" },
      runConfig: runConfig(),
    }).fit();
    expect(refused.errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('trialDirnameCreator gives it the folder of another trial: received "same"'),
    ]);
  });

  test("a disk that takes no more is told once; all trials end, and a restore repeats what was not written", () => {
    const place = mkdtempSync(join(folder, "full-"));
    const program = join(place, "program.mjs");
    writeFileSync(
      program,
      `
import { execFileSync } from "node:child_process";
import { gridSearch, Tuner } from ${JSON.stringify(pathToFileURL(join(REPOSITORY, "dist", "tune", "index.js")).href)};
// A limit on the size of this process's files, set when Shoal runs, stands for the full disk.
const fill = () => {
  process.on("SIGXFSZ", () => {});
  execFileSync("prlimit", ["--pid", String(process.pid), "--fsize=200000"]);
};
const train = ({ x }) => ({ x, text: "x".repeat(x === 2 ? 400_000 : 10) });
const path = ${JSON.stringify(join(place, "run"))};
const tuner = (await Tuner.canRestore(path)) ? Tuner.restore(path, train) : new Tuner(train, {
  paramSpace: { x: gridSearch([0, 1, 2, 3, 4]) },
  tuneConfig: { maxConcurrentTrials: 1 },
  runConfig: { storagePath: ${JSON.stringify(place)}, name: "run", callbacks: [{ onTrialStart: ({ trial }) => trial.index === 1 && fill() }] },
});
const results = await tuner.fit();
console.log(JSON.stringify(Array.from(results, ({ config, metrics, status }) => [config.x, metrics.text.length, status])));
`,
    );
    const expected = [0, 1, 2, 3, 4].map((x) => [x, x === 2 ? 400_000 : 10, "terminated"]);
    const run = () => spawnSync(process.execPath, [program], { encoding: "utf8", timeout: 50_000 });
    const full = run();
    expect(JSON.parse(full.stdout)).toEqual(expected);
    expect(
      full.stderr.match(/the state of the run cannot be written, and a restore would not have it: .*experiment_state.*EFBIG/g),
    ).toHaveLength(1);
    expect(full.stderr).toMatch(/cannot write JsonLoggerCallback of trial \w+_00002: .*EFBIG/);
    const again = run();
    expect([again.stderr, JSON.parse(again.stdout)]).toEqual(["", expected]);
    rmSync(place, { recursive: true });
  });
});
