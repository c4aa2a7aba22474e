/** Keras and Lightning in trials of Python: their callbacks for Tune report, checkpoint, go on, and are stopped. Those of XGBoost and LightGBM are in `test/systems`. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import { type ResultGrid, Tuner, type TuneRunConfig } from "shoal/tune";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unless } from "../integration/python-places.ts";
import { environment, type EnvironmentName } from "./environments.ts";

type Fit = (run: TuneRunConfig & { name: string; config?: object; task?: string }) => Promise<ResultGrid>;

/** Tests of trials in an environment, which are skipped where there is none. */
function inTrials(name: EnvironmentName, file: string, tests: (fit: Fit) => void): void {
  const found = environment(name);
  const problem = "problem" in found ? found.problem : undefined;
  describe.skipIf(problem !== undefined)(`${name}${unless(problem)}`, () => {
    const storagePath = mkdtempSync(join(tmpdir(), `test-shoal-tune-${name}-`));
    beforeAll(() => init({ numCpus: 2, logToDriver: false }));
    afterAll(async () => {
      await shutdown();
      rmSync(storagePath, { recursive: true, force: true });
    });
    tests(async ({ config = {}, task = "train", ...runConfig }) => {
      const place = new URL(`loops/${file}.py`, import.meta.url);
      const train = python.task<(config: object) => void>(place, task, {
        runtimeEnv: { python: "venv" in found ? found.venv : "" },
      });
      const results = await new Tuner(train, { paramSpace: { fails: false, ...config }, runConfig: { storagePath, ...runConfig } }).fit();
      expect(results.errors.map(({ message }) => message)).toEqual([]);
      return results;
    });
  });
}

async function goesOn(fit: Fit, { file, config = {} }: { file: string; config?: object }): Promise<void> {
  const results = await fit({ name: "fails", config: { ...config, fails: true }, failureConfig: { maxFailures: 1 } });
  const [result] = Array.from(results);
  expect(result?.iterations).toBe(4);
  expect(readdirSync(result?.checkpoint?.path ?? "").filter((name) => !name.startsWith("."))).toEqual([file]);
  const { error = [] } = ((await result?.metricsColumns()) ?? {}) as { error?: number[] };
  expect(error).toHaveLength(4);
  expect(error).toEqual(error.toSorted((a, b) => b - a));
}

async function stops(fit: Fit, config: object = {}): Promise<void> {
  const results = await fit({ name: "stopped", config, stop: { trainingIteration: 1 } });
  expect(Array.from(results, ({ status, iterations }) => [status, iterations])).toEqual([["terminated", 1]]);
}

inTrials("tensorflow", "trial_keras", (fit) => {
  test("Keras reports each epoch, and goes on from its model", async () => await goesOn(fit, { file: "model.keras" }));

  test("Keras that is stopped gets no further", async () => await stops(fit));
});

inTrials("lightning", "trial_lightning", (fit) => {
  test("Lightning reports each validation but the first try, and goes on from its file", async () =>
    await goesOn(fit, { file: "trainer.ckpt", config: { saves: true } }));

  test("Lightning that is stopped gets no further", async () => await stops(fit, { saves: true }));

  test("Lightning reports without checkpoints", async () => {
    const [result] = Array.from(await fit({ name: "plain", config: { saves: false } }));
    expect([result?.iterations, result?.checkpoint, typeof result?.metrics?.["val_loss"]]).toEqual([2, undefined, "number"]);
  });

  test("hooks that Lightning has none of are refused", async () => {
    const [result] = Array.from(await fit({ name: "wrong", task: "wrong" }));
    expect(result?.metrics?.["said"]).toMatch(
      /^TuneReportCheckpointCallback takes as on one of .*validation_end.*: received 'epoch_over'$/,
    );
  });
});
