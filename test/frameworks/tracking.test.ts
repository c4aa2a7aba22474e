/**
 * Runs that the real MLflow, Weights & Biases, Comet and Aim follow, offline, from the driver and from within loops: each library's own
 * code reads its files.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { python } from "shoal";
import { DataParallelTrainer } from "shoal/train";
import { gridSearch, report, MLflowLoggerCallback as TunerMLflow, Tuner } from "shoal/tune";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AimLoggerCallback } from "../../src/runs/trackers/python/aim-tracker.ts";
import { CometLoggerCallback } from "../../src/runs/trackers/python/comet-tracker.ts";
import { MLflowLoggerCallback } from "../../src/runs/trackers/python/mlflow-tracker.ts";
import { parseMetrics } from "../../src/runs/metrics/metrics.ts";
import type { TrackedRunInfo, Tracker } from "../../src/runs/trackers/tracker.ts";
import { Tracking } from "../../src/runs/trackers/tracking.ts";
import { WandbLoggerCallback } from "../../src/runs/trackers/python/wandb-tracker.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { failureOf, useSession } from "../integration/session.ts";

const VENV = join(REPOSITORY, ".test-cache", "tracking-3");
const PYTHON = join(VENV, "bin", "python3");
const runtimeEnv = { python: PYTHON };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "test-shoal-tracking-"));
  if (existsSync(join(VENV, "complete"))) return;
  rmSync(VENV, { recursive: true, force: true });
  mkdirSync(VENV, { recursive: true });
  execFileSync("python3", ["-m", "venv", VENV]);
  execFileSync(PYTHON, [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "mlflow-skinny>=3,<4",
    "wandb>=0.22,<1",
    "comet_ml>=3.47,<4",
    "aim>=3.29,<4",
  ]);
  writeFileSync(join(VENV, "complete"), "");
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

useSession({ numCpus: 1 });

async function follow(tracker: Tracker, run: Partial<TrackedRunInfo>, state: "finished" | "failed" = "finished"): Promise<string[]> {
  const problems: string[] = [];
  const config = { lr: 0.1, layers: [8, 8], model: { act: "relu" } };
  const info = { id: "run-1", name: "first", experimentName: "mine", folder, config, isResumed: false, ...run };
  const tracking = new Tracking({ trackers: [tracker], run: info, onProblem: ({ error }) => problems.push(error.message) });
  const from = info.isResumed ? 3 : 1;
  for (const step of [from, from + 1])
    tracking.log({ loss: 1 / step, eval: { acc: step }, note: "text", trainingIteration: step, timestampMs: 1000 * step });
  await tracking.close(state);
  return problems;
}

function stored(library: "mlflow" | "wandb" | "comet" | "aim", place: string): unknown {
  const script = join(REPOSITORY, "test", "frameworks", "python", "read_tracked.py");
  return parseMetrics(execFileSync(PYTHON, [script, library, place], { encoding: "utf8" }));
}

test("MLflow has parameters, metrics by iteration and states; a run that goes on is one run", async () => {
  const place = join(folder, "mlruns");
  const tracker = new MLflowLoggerCallback({ trackingUri: place, tags: { team: "red" }, runtimeEnv });
  expect(await Promise.all([follow(tracker, {}, "failed"), follow(tracker, { id: "run-2", name: "second" })])).toEqual([[], []]);
  expect(await follow(tracker, { isResumed: true })).toEqual([]);
  const params = { lr: "0.1", layers: "[8,8]", "model/act": "relu" };
  const metrics = (steps: number[]) => ({ loss: steps.map((step) => [step, 1 / step]), "eval/acc": steps.map((step) => [step, step]) });
  expect(stored("mlflow", place)).toEqual({
    "mine/first": { params, metrics: metrics([1, 2, 3, 4]), status: "FINISHED", team: "red" },
    "mine/second": { params, metrics: metrics([1, 2]), status: "FINISHED", team: "red" },
  });
});

test("MLflow has a run for each trial of a Tuner, with its end", async () => {
  const place = join(folder, "mlruns-tuner");
  const train = async ({ x }: { x: number }) => {
    for (let step = 1; step <= 2; step += 1) await report({ loss: x / step });
    if (x === 2) throw new Error("no 2");
  };
  const callbacks = [new TunerMLflow({ trackingUri: place, experimentName: "tuned", tags: { team: "blue" }, runtimeEnv })];
  const results = await new Tuner(train, {
    paramSpace: { x: gridSearch([1, 2, 3]), model: { act: "relu" } },
    tuneConfig: { metric: "loss", mode: "min" },
    runConfig: { storagePath: folder, name: "followed", callbacks },
  }).fit();
  expect(results.numErrors).toBe(1);
  const runs = stored("mlflow", place) as Record<string, { metrics: { loss: number[][] } }>;
  const expected = Array.from(results, ({ path, config: { x } }) => [
    `tuned/${basename(path)}`,
    { params: { x: `${x}`, "model/act": "relu" }, status: x === 2 ? "FAILED" : "FINISHED", team: "blue" },
  ]);
  expect(runs).toMatchObject(Object.fromEntries(expected) as object);
  expect(Object.keys(runs)).toHaveLength(3);
  expect(Array.from(results, ({ path }) => runs[`tuned/${basename(path)}`]?.metrics.loss)).toEqual(
    [1, 2, 3].map((x) => [
      [1, x],
      [2, x / 2],
    ]),
  );
});

test("Weights & Biases has two runs of one process", async () => {
  const tracker = new WandbLoggerCallback({ mode: "offline", dir: folder, group: "g", runtimeEnv });
  expect(await Promise.all([follow(tracker, {}, "failed"), follow(tracker, { id: "run-2", name: "second" })])).toEqual([[], []]);
  const history = [1, 2].map((step) =>
    expect.objectContaining({ _step: step, loss: 1 / step, "eval/acc": step, note: "text", timestamp: step }),
  );
  const run = { project: "mine", group: "g", config: expect.objectContaining({ lr: 0.1, "model/act": "relu" }), history };
  expect(stored("wandb", folder)).toEqual({ first: { ...run, name: "first", exit: 1 }, second: { ...run, name: "second", exit: 0 } });
});

test("Comet has two archives of one process, each whole", async () => {
  const offlineDirectory = join(folder, "comet");
  const tracker = new CometLoggerCallback({ online: false, offlineDirectory, tags: ["red"], runtimeEnv });
  expect(await Promise.all([follow(tracker, {}, "failed"), follow(tracker, { id: "run-2", name: "second" })])).toEqual([[], []]);
  const run = {
    project: "mine",
    tags: ["red"],
    params: { lr: 0.1, layers: "[8,8]", "model/act": "relu" },
    metrics: expect.objectContaining({
      loss: [
        [1, 1],
        [2, 0.5],
      ],
      "eval/acc": [
        [1, 1],
        [2, 2],
      ],
    }) as unknown,
  };
  expect(stored("comet", offlineDirectory)).toEqual({
    first: { ...run, others: expect.objectContaining({ "shoal.run_id": "run-1", note: "text", state: "failed" }) },
    second: { ...run, others: expect.objectContaining({ "shoal.run_id": "run-2", note: "text", state: "finished" }) },
  });
});

test("Aim has runs side by side, and one that goes on in another process is one run", async () => {
  const repo = join(folder, "aim");
  const tracker = new AimLoggerCallback({ repo, runtimeEnv });
  expect(await Promise.all([follow(tracker, {}, "failed"), follow(tracker, { id: "run-2", name: "second" })])).toEqual([[], []]);
  expect(await follow(tracker, { isResumed: true })).toEqual([]);
  // A run that goes on, and is not there.
  const few = new AimLoggerCallback({ repo: `${repo}-few`, experimentName: "few", metrics: ["loss"], runtimeEnv });
  expect(await follow(few, { isResumed: true })).toEqual([]);
  const params = { lr: 0.1, layers: "[8,8]", "model/act": "relu" };
  const run = (steps: number[]) => ({
    experiment: "mine",
    params,
    state: "finished",
    metrics: { loss: steps.map((step) => [step, 1 / step]), "eval/acc": steps.map((step) => [step, step]) },
    texts: { note: steps.map((step) => [step, "text"]) },
  });
  expect(stored("aim", repo)).toEqual({ first: run([1, 2, 3, 4]), second: run([1, 2]) });
  const { loss } = run([3, 4]).metrics;
  expect(stored("aim", `${repo}-few`)).toEqual({ first: { ...run([3, 4]), experiment: "few", metrics: { loss }, texts: {} } });
});

describe("a loop that begins runs of both by itself", () => {
  const run = async (name: string, { loop = "train_loop", fails = false } = {}) => {
    const place = join(folder, name);
    mkdirSync(place);
    const trainer = new DataParallelTrainer<object, { active: boolean; is_error: boolean }>({
      trainLoopPerWorker: python.task(new URL("loops/tracked.py", import.meta.url), loop),
      trainLoopConfig: { folder: place, fails },
      scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
      runConfig: { name, storagePath: folder },
      runtimeEnv,
    });
    return { place, fitted: trainer.fit() };
  };

  test.each([
    { name: "good", fails: false, exit: 0, status: "FINISHED" },
    { name: "bad", fails: true, exit: 1, status: "FAILED" },
  ])("has them on its first rank, and they end as it does: $name", async ({ name, fails, exit, status }) => {
    const { place, fitted } = await run(name, { fails });
    if (fails) expect((await failureOf(fitted)).message).toContain("ValueError: no more");
    else expect((await fitted).metrics).toEqual({ active: true, is_error: true });
    expect(stored("mlflow", join(place, "mlruns"))).toEqual({
      [`${name}/${name}`]: {
        params: { lr: "0.1", layers: "[8, 8]", "model/act": "relu" },
        metrics: {
          loss: [
            [1, 1],
            [2, 0.5],
          ],
        },
        status,
        team: "red",
      },
    });
    expect(stored("wandb", place)).toEqual({
      [name]: {
        project: "mine",
        group: name,
        name,
        config: expect.objectContaining({ lr: 0.1, model: { act: "relu" } }),
        history: [1, 2].map((step) => expect.objectContaining({ _step: step, loss: 1 / step })),
        exit,
      },
    });
  });

  test("is told of an experiment that is not there", async () => {
    const { fitted } = await run("absent", { loop: "without_experiment" });
    expect((await failureOf(fitted)).message).toContain("there is no experiment 'absent': create_experiment_if_not_exists=True makes it");
  });
});
