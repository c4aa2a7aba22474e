/** Ranks of plain Python: their environment, checkpoints, failures and logs, a backend of one's own, and what cannot be imported. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { python } from "shoal";
import * as data from "shoal/data";
import {
  type BackendGroup,
  type BackendRank,
  DataParallelTrainer,
  Result,
  type RunConfig,
  type TrainCallback,
  TrainingFailedError,
} from "shoal/train";
import { describe, expect, test } from "vitest";
import { PYTHON_FOLDER, unless, WITHOUT_PYTHON } from "./python-places.ts";
import { failureOf, isAlive, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
const LOOPS = join(PYTHON_FOLDER, "train_loops.py");

function trainerOf(
  name: string,
  loop: string,
  more: Partial<ConstructorParameters<typeof DataParallelTrainer>[0]> = {},
  run: RunConfig<TrainCallback> = {},
) {
  return new DataParallelTrainer({
    trainLoopPerWorker: python.task(LOOPS, loop),
    scalingConfig: { numWorkers: 2 },
    runConfig: { name, storagePath: folder, ...run },
    ...more,
  });
}

describe.skipIf(WITHOUT_PYTHON !== undefined)(`ranks of Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 2 });

  test("have their environment, pass values on, and what they print is kept", async () => {
    const { metrics, path } = await trainerOf("python places", "places", { trainLoopConfig: { value: 3 } }).fit();
    expect(metrics).toEqual({ environment: ["0", "2", "0", "0", "127.0.0.1", "1"], world: 2, same: true });
    expect(readFileSync(join(path, "rank-1.log"), "utf8").split("\n").slice(0, 2)).toEqual(["rank 1 speaks", "a child speaks"]);
  });

  test("work in folders of their own, and still find modules beside their file", async () => {
    const { metrics, path } = await trainerOf("python folders", "writes_beside").fit();
    expect(metrics).toEqual({ folder: join(path, "rank-0") });
    expect([0, 1].map((rank) => readFileSync(join(path, `rank-${rank}`, "mine.txt"), "utf8"))).toEqual(["0 found", "1 found"]);
    const kept = await trainerOf("python kept", "writes_beside", { runtimeEnv: { workingDir: PYTHON_FOLDER } }).fit();
    expect(kept.metrics?.["folder"]).not.toContain("rank-");
  });

  test("wait for others no longer than they are told to", async () => {
    const error = await failureOf(trainerOf("python limited", "waits", { trainLoopConfig: { timeout: 0.3 } }).fit());
    expect(error.message).toContain("not all came within 300 ms: received no call of rank 0");
  });

  test("blame a rank that died waiting, even after failures of other ranks", async () => {
    const error = await failureOf(trainerOf("python dead waiter", "outlives_a_waiter").fit());
    expect(error.message).toMatch(/rank 1 died: .*SIGKILL/);
  });

  test.each(["throws", "dies"])("are replaced when one %s, and go on from the last checkpoint", async (end) => {
    const failures: unknown[] = [];
    const callbacks: TrainCallback[] = [{ afterException: ({ workerFailures }) => void failures.push(workerFailures.get(1)) }];
    const trainer = trainerOf(`python ${end}`, "count", { trainLoopConfig: { end } }, { failureConfig: { maxFailures: 1 }, callbacks });
    const { metrics } = await trainer.fit();
    expect(metrics).toEqual({ step: 2, start: 1 });
    expect(failures).toHaveLength(1);
  });

  test.each([
    ["stopped", "reportTimeoutMs", { reportTimeoutMs: 1500 }],
    ["stopped", "healthCheckTimeoutMs", { healthCheckIntervalMs: 100, healthCheckTimeoutMs: 1000 }],
    ["asleep", "reportTimeoutMs", { reportTimeoutMs: 1500 }],
  ])("are replaced when one is %s for longer than %s allows, and go on from the last checkpoint", async (how, limit, limits) => {
    const root = mkdtempSync(join(folder, "frozen-"));
    const failures: (Error | undefined)[] = [];
    const callbacks: TrainCallback[] = [{ afterException: ({ workerFailures }) => void failures.push(workerFailures.get(1)) }];
    const trainer = trainerOf(
      `python ${how} ${limit}`,
      "count_steps",
      { trainLoopConfig: { root, steps: 4, waitsAt: 2, sleeps: how === "asleep" } },
      { failureConfig: { maxFailures: 1, ...limits }, callbacks },
    );
    const fitted = trainer.fit();
    await until(() => existsSync(join(root, "waits-0")) && existsSync(join(root, "waits-1")), "both ranks to wait");
    const pid = Number(readFileSync(join(root, "pid-1-1"), "utf8"));
    if (how === "stopped") process.kill(pid, "SIGSTOP");
    writeFileSync(join(root, "go"), "");
    expect((await fitted).metrics).toEqual({ step: 3, start: 2, attempt: 2, worldSize: 2 });
    expect(failures.map((error) => error?.message)).toEqual([expect.stringContaining(`(${limit}`)]);
    expect(failures[0]?.message.includes("does not answer")).toBe(how === "stopped" && limit === "reportTimeoutMs");
    expect(isAlive(pid)).toBe(false);
  });

  test("with numWorkers 0 there is one that is alone: no rendezvous, no CPU of others, and a checkpoint", async () => {
    const { metrics, checkpoint } = await trainerOf(
      "python alone",
      "alone",
      {
        // More than there is: nothing is reserved.
        scalingConfig: { numWorkers: 0, resourcesPerWorker: { CPU: 64 } },
        datasets: { train: data.range(10) },
        runtimeEnv: { envVars: { OF_TRAINER: "trainer" } },
      },
      { workerRuntimeEnv: { envVars: { OF_RUN: "run", OF_TRAINER: "run" } } },
    ).fit();
    const environment = [null, null, null, null, "run", "trainer"];
    expect(metrics).toMatchObject({ environment, world: [0, 1, 1], said: "said", shard: "DataIterator" });
    expect(checkpoint?.path).toMatch(/checkpoint_000000$/);
    await until(() => !isAlive(metrics?.["pid"] as number), "the process of the rank to be gone");
  });

  test("go on beside asynchronous uploads, wait for the one before at the next report, and for all where they ask for all", async () => {
    const run = { loggingConfig: { logLevel: "ERROR" } } as const;
    const { metrics, bestCheckpoints } = await trainerOf("python later", "upload_later", {}, run).fit();
    expect(metrics).toEqual({ at_once: [], with_the_next: 0, all: [0, 1], newest: "named", left: [] });
    expect(bestCheckpoints.map(({ checkpoint }) => checkpoint.path.split("/").at(-1))).toEqual(["checkpoint_000000", "named"]);
  });

  test("put checkpoints into the run's folder by themselves, under one name in all ranks", async () => {
    const run = { loggingConfig: { logLevel: "ERROR" } } as const;
    const { metrics, path } = await trainerOf("python uploads", "upload_by_itself", {}, run).fit();
    const refused = expect.stringContaining("in checkpoint_upload_fn: with ASYNC it runs beside the loop");
    expect(metrics).toEqual({
      said: [expect.stringContaining("checkpoint_upload_fn returns the Checkpoint"), refused, refused],
      // Uploads beside the loop remove the original; other uploads keep it.
      left: [true, false, true],
      steps: [0],
      newest: [null, "within"],
      is_newest: true,
    });
    const { bestCheckpoints } = await Result.fromPath(path);
    expect(bestCheckpoints.map(({ checkpoint }) => checkpoint.path.split("/").at(-1))).toEqual([
      expect.stringMatching(/^checkpoint_\d+_000000$/),
      "within",
      "mine",
    ]);
    for (const { checkpoint } of bestCheckpoints)
      expect(readdirSync(checkpoint.path).sort()).toEqual([".checkpoint.json", "rank-0", "rank-1"]);
  });

  test("are waited for at their end while they upload beside the loop, and fail where that fails", async () => {
    const failures: (Error | undefined)[] = [];
    const callbacks: TrainCallback[] = [{ afterException: ({ workerFailures }) => void failures.push(workerFailures.get(1)) }];
    const run = { failureConfig: { maxFailures: 1 }, callbacks };
    const { metrics, checkpoint } = await trainerOf("python uploads last", "upload_at_the_end", {}, run).fit();
    expect(failures.map((error) => error?.message)).toEqual(["OSError: the bucket is full"]);
    expect(failures[0]?.stack).toMatch(/train_loops\.py.*upload_slowly/s);
    expect(metrics).toEqual({ attempt: 2 });
    expect(readdirSync(checkpoint?.path ?? "").sort()).toEqual([".checkpoint.json", "rank-0", "rank-1"]);
  });

  test.each([
    ["stands still for longer than reportTimeoutMs", "stands still", "checkpoint_upload_fn of rank 1 has not ended after 3000 ms"],
    ["exits", "exits", "checkpoint_upload_fn has raised SystemExit(3)"],
    ["stands still when the run is aborted", "is aborted", "enough"],
  ])("fail at their end where an upload beside the loop %s", async (_, how, message) => {
    const begun = join(folder, `begun-${how}`);
    const failureConfig = how === "stands still" ? { reportTimeoutMs: 3000 } : {};
    const trainer = trainerOf(`python upload ${how}`, "upload_badly", { trainLoopConfig: { begun, how } }, { failureConfig });
    const abort = new AbortController();
    const failed = failureOf(trainer.fit({ signal: abort.signal }));
    await until(() => existsSync(begun), "the upload to begin");
    if (how === "is aborted") abort.abort(new Error("enough"));
    expect((await failed).message).toContain(message);
  });

  test("that throw are told with their traceback", async () => {
    const error = (await failureOf(
      trainerOf("python error", "count", { trainLoopConfig: { end: "throws" } }).fit(),
    )) as TrainingFailedError;
    expect(error).toBeInstanceOf(TrainingFailedError);
    expect(error.message).toBe("Training run python error failed: rank 1 failed: ValueError: no more");
    expect((error.cause as Error).stack).toMatch(/train_loops\.py.*count/s);
  });

  test.each([
    ["throws", /: rank 0 failed: ValueError: no more; rank 1 failed, too$/, "ValueError: no more"],
    ["dies", /: rank 0 died: .*exit code 7.*; rank 1 failed, too$/, "code 7"],
  ])("that fail together are named by the first cause, each with its own error, where one %s", async (end, message, own) => {
    const error = (await failureOf(
      trainerOf(`python together ${end}`, "fail_together", { trainLoopConfig: { end } }).fit(),
    )) as TrainingFailedError;
    expect(error.message).toMatch(message);
    expect(error.workerFailures.size).toBe(2);
    expect(String(error.workerFailures.get(0))).toContain(own);
    expect(String(error.workerFailures.get(1))).toContain("RuntimeError: [gloo/transport] Connection closed by peer");
  });

  test("that cannot be imported fail at once, however many failures are allowed", async () => {
    const run = { failureConfig: { maxFailures: 5 } };
    const error = await failureOf(trainerOf("no such loop", "missing", {}, run).fit());
    expect(error.message).toContain("missing");
    expect(error.message).not.toContain("attempt");
  });

  test("that do not meet in time are named, with the line where they stand or with their silence", async () => {
    const failureConfig = { rendezvousTimeoutMs: 500 };
    const still = { onTrainingStart: async (group: BackendGroup) => void (await group.execute(python.task(LOOPS, "stand_still"))) };
    const slow = await failureOf(trainerOf("slow rendezvous", "places", { backend: still }, { failureConfig }).fit());
    expect(slow.message).toMatch(
      /^Training run slow rendezvous failed: rank 1 hangs: rank 1 has not met the others after 500 ms \(rendezvousTimeoutMs of failureConfig\): it is at .*train_loops\.py:\d+ \(stand_still\)$/,
    );
    const freezes = {
      onTrainingStart: async (group: BackendGroup) => {
        process.kill((group.ranks[0] as BackendRank).pid, "SIGSTOP");
        await group.execute(python.task(LOOPS, "stand_still"));
      },
    };
    const frozen = (await failureOf(
      trainerOf("frozen rendezvous", "places", { backend: freezes }, { failureConfig }).fit(),
    )) as TrainingFailedError;
    expect(frozen.message).toContain("rank 0 hangs: rank 0 has not met the others after 500 ms");
    expect(frozen.message).toContain("and its process does not answer");
    expect([...frozen.workerFailures.keys()]).toEqual([0]);
    const endless = { onTrainingStart: () => new Promise<void>(() => {}) };
    const error = await failureOf(trainerOf("endless", "places", { backend: endless }, { failureConfig }).fit());
    expect(error.message).toContain("onTrainingStart of the backend has not ended after 500 ms");
  });

  test("find as ray.train what rayCompatibility says", async () => {
    // The folder stands for a real Ray in the environment.
    const installed = join(folder, "packages");
    mkdirSync(join(installed, "ray"), { recursive: true });
    writeFileSync(join(installed, "ray", "__init__.py"), "");
    writeFileSync(join(installed, "ray", "train.py"), "report = None");
    const withRay = { runtimeEnv: { envVars: { PYTHONPATH: installed } } };
    const found: unknown[] = [];
    let said: unknown;
    for (const [name, options] of [
      ["by default", {}],
      ["never", { rayCompatibility: false }],
      ["by default, with Ray", withRay],
      ["always, with Ray", { ...withRay, rayCompatibility: true }],
    ] as const) {
      const { metrics } = await trainerOf(`ray ${name}`, "which_ray", { ...options, scalingConfig: { numWorkers: 1 } }).fit();
      found.push(metrics?.["ray"]);
      said ??= metrics?.["said"];
    }
    expect(found).toEqual(["Shoal's", "none", "another's", "Shoal's"]);
    // Names of the driver say what is to be done in their place.
    expect(said).toEqual([
      expect.stringContaining("Cannot use CometLoggerCallback here: the driver of a run is TypeScript: import it from shoal/train there"),
      "Cannot use DataConfig here: it is dataConfig of the trainers of shoal/train",
      expect.stringContaining("Cannot use RunConfig here: the driver of a run is TypeScript: import it from shoal/train there"),
    ]);
  });

  test("that lack something are told what it is, and how to mend it", async () => {
    const messageOf = async (name: string, loop: string, place = LOOPS, runtimeEnv = {}): Promise<string> =>
      (
        await failureOf(
          trainerOf(name, loop, { trainLoopPerWorker: python.task(place, loop), runtimeEnv, scalingConfig: { numWorkers: 1 } }).fit(),
        )
      ).message;
    expect(await messageOf("no package", "lacks_package")).toMatch(
      /ModuleNotFoundError: No module named 'no_such_package'\. Install it where this runs: \S+ -m pip install no_such_package$/,
    );
    expect(await messageOf("no module", "train_loop", "no.such.module")).toContain("make it importable from");
    expect(await messageOf("no file", "train_loop", join(folder, "none.py"))).toContain("there is no file");
    expect(await messageOf("no venv", "places", LOOPS, { python: join(folder, "my venv") })).toMatch(
      /there is no Python at .*my venv on this machine\. Make a virtual environment there with: python3 -m venv '.*my venv'$/,
    );
    const [old, other] = [join(folder, "old python"), join(folder, "no python")];
    writeFileSync(old, "#!/bin/sh\necho 3.6.9\n", { mode: 0o755 });
    writeFileSync(other, "#!/bin/sh\necho hello\n", { mode: 0o755 });
    expect(await messageOf("old", "places", LOOPS, { python: old })).toContain("old python is Python 3.6.9, and 3.9 or later is needed");
    expect(await messageOf("no python", "places", LOOPS, { python: other })).toContain("no python");
  });

  test("are made ready by a backend of one's own", async () => {
    const seen: unknown[] = [];
    const backend = {
      onStart: (group: BackendGroup) => group.setEnvironment({ OF_BACKEND: "yes" }),
      onTrainingStart: async (group: BackendGroup) => void seen.push(await group.execute(python.task(LOOPS, "double"), [21])),
      onShutdown: () => void seen.push("bye"),
    };
    await trainerOf("python backend", "places", { backend, trainLoopConfig: { value: 1 } }).fit();
    expect(seen).toEqual([
      [
        [42, "yes"],
        [42, "yes"],
      ],
      "bye",
    ]);
  });
});
