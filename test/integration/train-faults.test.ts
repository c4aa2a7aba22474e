/** Training runs under faults: ranks killed, frozen and failing together, programs killed and interrupted, storage that fails, groups that shrink and grow, and what is left behind. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ActorDiedError, placementGroup, placementGroupTable } from "shoal";
import { DataParallelTrainer, getContext, report, Result, type RunConfig, TrainingFailedError } from "shoal/train";
import { describe, expect, test, vi } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { count, type CountConfig } from "./counting-loop.ts";
import { WITHOUT_PYTHON } from "./python-places.ts";
import { failureOf, isAlive, shoalProcesses, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
const PROGRAM = join(REPOSITORY, "test", "integration", "train-program.ts");

function trainerOf(name: string, options: Omit<CountConfig, "root">, failureConfig: RunConfig["failureConfig"] = {}) {
  const root = mkdtempSync(join(folder, "run-"));
  const trainer = new DataParallelTrainer<CountConfig>({
    trainLoopPerWorker: count,
    trainLoopConfig: { root, ...options },
    scalingConfig: { numWorkers: 2 },
    runConfig: { name, storagePath: folder, failureConfig },
  });
  return { root, trainer, pidOf: (attempt: number, rank: number) => Number(readFileSync(join(root, `pid-${attempt}-${rank}`), "utf8")) };
}

const bothWait = (root: string) =>
  until(() => existsSync(join(root, "waits-0")) && existsSync(join(root, "waits-1")), "both ranks to wait");

describe("ranks", () => {
  useSession({ numCpus: 2 });

  test("that are killed are replaced, and the run goes on from its last checkpoint", async () => {
    const { root, trainer, pidOf } = trainerOf("killed", { steps: 4, waitsAt: 2 }, { maxFailures: 1 });
    const written = vi.spyOn(process.stderr, "write");
    const fitted = trainer.fit();
    await bothWait(root);
    process.kill(pidOf(1, 1), "SIGKILL");
    const { metrics, path } = await fitted;
    const lines = written.mock.calls.map(([text]) => String(text)).filter((text) => text.includes("goes on"));
    written.mockRestore();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^shoal: Training run killed failed: rank 1 died: .*SIGKILL.*; it goes on in attempt 2 from .*checkpoint_000001\n$/,
    );
    expect(metrics).toEqual({ step: 3, start: 2, attempt: 2, worldSize: 2 });
    expect(isAlive(pidOf(1, 0))).toBe(false);
    expect(readdirSync(path).filter((name) => name.startsWith("checkpoint_"))).toHaveLength(4);
  });

  test("that are killed are named, with how they ended, when no failure is allowed", async () => {
    const { root, trainer, pidOf } = trainerOf("killed for good", { steps: 4, waitsAt: 2 });
    const failed = failureOf(trainer.fit());
    await bothWait(root);
    process.kill(pidOf(1, 0), "SIGKILL");
    process.kill(pidOf(1, 1), "SIGKILL");
    const error = (await failed) as TrainingFailedError;
    expect(error).toBeInstanceOf(TrainingFailedError);
    expect(error.message).toMatch(/^Training run killed for good failed: rank [01] died: .*SIGKILL.*; rank [01] failed, too$/);
    expect(error.hint).toContain("maxFailures");
    expect(new Set(error.workerFailures.keys())).toEqual(new Set([0, 1]));
    for (const failure of error.workerFailures.values()) expect(failure).toBeInstanceOf(ActorDiedError);
  });

  test("that throw are told with their own errors, and counted like those that die", async () => {
    const { trainer } = trainerOf("throws", { steps: 3, throws: [1] }, { maxFailures: 1 });
    expect((await trainer.fit()).metrics).toMatchObject({ step: 2, start: 1, attempt: 2 });
    const error = (await failureOf(trainerOf("throw", { steps: 3, throws: [0, 1] }).trainer.fit())) as TrainingFailedError;
    expect(error.message).toMatch(/^Training run throw failed: rank [01] failed: rank [01] throws; rank [01] failed, too$/);
    expect(error.cause).toBeInstanceOf(RangeError);
    expect([0, 1].map((rank) => error.workerFailures.get(rank)?.message)).toEqual(["rank 0 throws", "rank 1 throws"]);
  });

  test.each([
    ["reportTimeoutMs", { reportTimeoutMs: 1500 }],
    ["healthCheckTimeoutMs", { healthCheckIntervalMs: 100, healthCheckTimeoutMs: 1000 }],
  ])("that stand still are found when they do not report in time, and replaced (%s)", async (name, limits) => {
    const { root, trainer, pidOf } = trainerOf(`frozen ${name}`, { steps: 4, waitsAt: 2 }, { maxFailures: 1, ...limits });
    const fitted = trainer.fit();
    await bothWait(root);
    process.kill(pidOf(1, 1), "SIGSTOP");
    writeFileSync(join(root, "go"), "");
    expect((await fitted).metrics).toMatchObject({ step: 3, start: 2, attempt: 2 });
    expect(isAlive(pidOf(1, 1))).toBe(false);
  });

  test("that get no room in time have failed, and wait for none any more", async () => {
    const group = await placementGroup([{ CPU: 1 }]).ready();
    const { trainer } = trainerOf("no room", { steps: 1 }, { startTimeoutMs: 300 });
    expect((await failureOf(trainer.fit())).message).toBe(
      "Training run no room failed: the group of ranks has no room yet after 300 ms (startTimeoutMs of failureConfig)",
    );
    await group.remove();
    expect((await placementGroupTable()).filter(({ state }) => state !== "removed")).toEqual([]);
  });

  test("that wait for room say so once, and for what, and go on when it is there", async () => {
    const group = await placementGroup([{ CPU: 1 }]).ready();
    const written = vi.spyOn(process.stderr, "write");
    const told = (): string[] => written.mock.calls.map(([text]) => String(text)).filter((text) => text.includes("waits for room"));
    const fitted = trainerOf("late room", { steps: 1 }).trainer.fit();
    await until(() => told().length > 0, "the warning");
    await group.remove();
    await fitted;
    const lines = told();
    written.mockRestore();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /a training run waits for room for its 2 ranks: they need .*; the cluster has CPU: 2 in all, of which CPU: 1 are free; the ranks wait until others have given theirs back/,
    );
  });

  test("that have no memory left are replaced, and the failure says so", async () => {
    const failures: (Error | undefined)[] = [];
    const { metrics } = await new DataParallelTrainer({
      trainLoopPerWorker: async () => {
        const { attempt, worldRank } = getContext();
        const kept: number[][] = [];
        if (attempt === 1 && worldRank === 1) for (;;) kept.push(Array.from({ length: 10_000 }, () => kept.length));
        await report({ attempt });
      },
      scalingConfig: { numWorkers: 2 },
      runConfig: {
        name: "memory",
        storagePath: folder,
        failureConfig: { maxFailures: 1 },
        workerRuntimeEnv: { envVars: { NODE_OPTIONS: "--max-old-space-size=64" } },
        callbacks: [{ afterException: ({ workerFailures }) => void failures.push(workerFailures.get(1)) }],
      },
    }).fit();
    expect(metrics).toEqual({ attempt: 2 });
    expect(failures).toHaveLength(1);
    expect(failures[0]?.name).toBe("OutOfMemoryError");
    expect(failures[0]?.message).toContain("heap out of memory");
  });

  test("that do not do the same are named", async () => {
    const trainer = new DataParallelTrainer({
      trainLoopPerWorker: async () => {
        if (getContext().worldRank === 0) await report({});
      },
      scalingConfig: { numWorkers: 2 },
      runConfig: { name: "disagreement", storagePath: folder },
    });
    expect((await failureOf(trainer.fit())).message).toContain(
      "Training run disagreement failed: The ranks do not do the same: rank 0 reported, rank 1 ended the loop",
    );
  });

  test("leave no process that they have started", async () => {
    const root = mkdtempSync(join(folder, "children-"));
    const trainer = new DataParallelTrainer({
      trainLoopPerWorker: async ({ root: place }: { root: string }) => {
        const child = (await import("node:child_process")).spawn("sleep", ["600"], { stdio: "ignore" });
        writeFileSync(join(place, `child-${getContext().worldRank}`), String(child.pid));
        await report({});
        if (getContext().worldRank === 1) process.kill(process.pid, "SIGKILL");
      },
      trainLoopConfig: { root },
      scalingConfig: { numWorkers: 2 },
      runConfig: { name: "children", storagePath: folder },
    });
    await failureOf(trainer.fit());
    const children = [0, 1].map((rank) => Number(readFileSync(join(root, `child-${rank}`), "utf8")));
    await until(() => !children.some(isAlive), "the children to end");
  });

  test("end when the run is aborted, with the reason", async () => {
    const { root, trainer, pidOf } = trainerOf("aborted", { steps: 4, waitsAt: 2 });
    const abort = new AbortController();
    const failed = failureOf(trainer.fit({ signal: abort.signal }));
    await bothWait(root);
    abort.abort(new Error("enough"));
    expect((await failed).message).toBe("enough");
    expect([0, 1].map((rank) => isAlive(pidOf(1, rank)))).toEqual([false, false]);
    expect((await placementGroupTable()).filter(({ state }) => state !== "removed")).toEqual([]);
  });
});

describe("storage", () => {
  useSession({ numCpus: 2 });

  test("that fails for a while holds the run up, and no longer", async () => {
    const { root, trainer } = trainerOf("storage", { steps: 3, waitsAt: 1 });
    const fitted = trainer.fit();
    await bothWait(root);
    // Where the next checkpoint is to be written there is a file.
    const obstacle = join(folder, "storage", ".checkpoint_000001.partial");
    writeFileSync(obstacle, "");
    writeFileSync(join(root, "go"), "");
    await new Promise((resolve) => setTimeout(resolve, 300));
    rmSync(obstacle);
    const { metrics, bestCheckpoints } = await fitted;
    expect(metrics).toMatchObject({ step: 2, start: 0, attempt: 1 });
    expect(bestCheckpoints).toHaveLength(3);
  });

  test("that is away for a while gets all that was reported and printed meanwhile", async () => {
    const [run, elsewhere, go] = [join(folder, "away"), join(folder, "elsewhere"), join(folder, "go-away")];
    const written = vi.spyOn(process.stderr, "write");
    const told = (): string[] => written.mock.calls.map(([text]) => String(text)).filter((text) => text.includes("JsonLoggerCallback"));
    const fitted = new DataParallelTrainer({
      trainLoopPerWorker: async (places: { run: string; elsewhere: string; go: string }) => {
        const files = process.getBuiltinModule("node:fs");
        for (let step = 0; step < 3; step += 1) {
          if (step === 1) {
            files.renameSync(places.run, places.elsewhere);
            files.writeFileSync(places.run, "");
          }
          await report({ step });
          console.log(`step ${step}`);
          if (step !== 1) continue;
          while (!files.existsSync(places.go)) await new Promise((resolve) => setTimeout(resolve, 5));
          files.rmSync(places.run);
          files.renameSync(places.elsewhere, places.run);
        }
      },
      trainLoopConfig: { run, elsewhere, go },
      scalingConfig: { numWorkers: 1 },
      runConfig: { name: "away", storagePath: folder },
    }).fit();
    await until(() => told().length > 0, "the storage to be found away");
    writeFileSync(go, "");
    await fitted;
    const lines = told();
    written.mockRestore();
    const { step } = await (await Result.fromPath<{ step: number }>(run)).metricsColumns();
    expect([...(step ?? [])].map(Number)).toEqual([0, 1, 2]);
    expect(readFileSync(join(run, "rank-0.log"), "utf8")).toBe("step 0\nstep 1\nstep 2\n");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("its results wait until that can be written");
  });
});

describe("elastic groups", () => {
  useSession({ numCpus: 2 });

  test("begin with what is free, and grow at a checkpoint when there is more", async () => {
    const root = mkdtempSync(join(folder, "elastic-"));
    const other = await placementGroup([{ CPU: 1 }]).ready();
    const fitted = new DataParallelTrainer<CountConfig>({
      trainLoopPerWorker: count,
      trainLoopConfig: { root, steps: 4, waitsAt: 1, untilRanks: 2 },
      scalingConfig: { numWorkers: { min: 1, max: 2 }, elasticResizeMonitorIntervalMs: 50 },
      runConfig: { name: "elastic", storagePath: folder },
    }).fit();
    await until(() => existsSync(join(root, "waits-0")), "the only rank to wait");
    await other.remove();
    writeFileSync(join(root, "go"), "");
    const { metrics } = await fitted;
    expect(metrics).toMatchObject({ worldSize: 2, attempt: 2 });
    expect(metrics?.["start"]).toBeGreaterThan(0);
  });

  test("begin with what others are about to give back, too", async () => {
    const other = await placementGroup([{ CPU: 1 }]).ready();
    const fitted = new DataParallelTrainer<CountConfig>({
      trainLoopPerWorker: count,
      trainLoopConfig: { root: mkdtempSync(join(folder, "elastic-")), steps: 1 },
      scalingConfig: { numWorkers: { min: 1, max: 2 } },
      runConfig: { name: "soon", storagePath: folder },
    }).fit();
    await new Promise((resolve) => setTimeout(resolve, 500));
    await other.remove();
    expect((await fitted).metrics).toEqual({ step: 0, start: 0, attempt: 1, worldSize: 2 });
  });
});

const LANGUAGES = WITHOUT_PYTHON === undefined ? ["TypeScript", "Python"] : ["TypeScript"];

/** Starts a program with a run that has this name; the program prints the run's last metrics. */
function program(name: string, root: string, language = "TypeScript"): ChildProcess {
  return spawn(process.execPath, [PROGRAM, name, root, folder, language], { detached: true, stdio: ["ignore", "pipe", "pipe"] });
}

async function outputOf(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = "";
  for await (const chunk of stream ?? []) text += String(chunk);
  return text;
}

describe("a program", () => {
  test.each(LANGUAGES)(
    "that is killed takes its ranks of %s along, and the next one goes on from the last checkpoint",
    async (language) => {
      const root = mkdtempSync(join(folder, "program-"));
      const name = `driver of ${language}`;
      const first = program(name, root, language);
      await bothWait(root);
      const pids = shoalProcesses({ under: first.pid as number });
      expect(pids.length).toBeGreaterThan(2);
      first.kill("SIGKILL");
      await until(() => !pids.some(isAlive), "its processes to end");
      // Leftovers of a program that died while it wrote a checkpoint.
      const run = join(folder, name);
      mkdirSync(join(run, ".checkpoint_000002.partial"));
      mkdirSync(join(run, "checkpoint_000003"));
      writeFileSync(join(run, "checkpoint_000003", "step.json"), "half");
      const second = program(name, root, language);
      const printed = (await outputOf(second.stdout)).trim().split("\n");
      expect(JSON.parse(printed.pop() as string)).toEqual({ step: 3, start: 2, attempt: 1, worldSize: 2 });
      expect(printed.map((line) => line.replace(/pid=\d+/, "pid=N")).toSorted()).toEqual([
        `(rank 0 of ${name} pid=N) counts`,
        `(rank 1 of ${name} pid=N) counts`,
      ]);
      expect(readdirSync(run).filter((each) => each.includes("partial"))).toEqual([]);
    },
  );

  test("whose daemon dies blames no rank, and says how to go on", async () => {
    const root = mkdtempSync(join(folder, "program-"));
    const child = program("daemonless", root);
    const [stderr, ended] = [outputOf(child.stderr), once(child, "close")];
    await bothWait(root);
    const [daemon] = shoalProcesses({ under: child.pid as number, kind: "daemon" });
    process.kill(daemon as number, "SIGKILL");
    expect((await ended)[0]).toBe(1);
    expect(await stderr).toMatch(/RunError: The training run daemonless cannot go on: the daemon of this node has ended: /);
  });

  test.each(LANGUAGES)("that is interrupted amid loops of %s says how to go on, and leaves nothing", async (language) => {
    const root = mkdtempSync(join(folder, "program-"));
    const name = `interrupted ${language}`;
    const child = program(name, root, language);
    const [stderr, ended] = [outputOf(child.stderr), once(child, "close")];
    await bothWait(root);
    const pids = shoalProcesses({ under: child.pid as number });
    // As a terminal sends it: the ranks get the signal, too, but do not fail.
    process.kill(-(child.pid as number), "SIGINT");
    expect((await ended)[1]).toBe("SIGINT");
    expect(await stderr).toBe(
      `shoal: training run ${name} was interrupted: fit with the same name and storagePath goes on from ${join(folder, name, "checkpoint_000001")}\n`,
    );
    await until(() => !pids.some(isAlive), "its processes to end");
    expect(readdirSync(tmpdir()).filter((each) => each.startsWith(`shoal-${child.pid}-`))).toEqual([]);
  });
});
