/** XGBoost and LightGBM in trials of Python: their callbacks for Tune report, checkpoint, go on, and are stopped. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import { gridSearch, Tuner, type TuneRunConfig } from "shoal/tune";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environment } from "../frameworks/environments.ts";
import { unless } from "../integration/python-places.ts";

const found = environment("boosters");
const problem = "problem" in found ? found.problem : undefined;
const TRAIN = new URL("../frameworks/loops/trial_boosters.py", import.meta.url);

describe.skipIf(problem !== undefined)(`boosters${unless(problem)}`, () => {
  const storagePath = mkdtempSync(join(tmpdir(), "test-shoal-tune-boosters-"));
  beforeAll(() => init({ numCpus: 2, logToDriver: false }));
  afterAll(async () => {
    await shutdown();
    rmSync(storagePath, { recursive: true, force: true });
  });

  const fit = async (name: string, { fails, ...more }: TuneRunConfig & { fails: boolean }) =>
    await new Tuner(
      python.task<(config: { library: string; fails: boolean }) => void>(TRAIN, "train", {
        runtimeEnv: { python: "venv" in found ? found.venv : "" },
      }),
      {
        paramSpace: { library: gridSearch(["xgboost", "lightgbm"]), fails },
        tuneConfig: { metric: "error", mode: "min" },
        runConfig: { name, storagePath, ...more },
      },
    ).fit();

  test("report each round, and go on from the model of their checkpoint", async () => {
    const results = await fit("fails", { fails: true, failureConfig: { maxFailures: 1 } });
    expect(results.errors.map(({ message }) => message)).toEqual([]);
    const facts = Array.from(results, ({ config, metrics, checkpoint }) => [
      config.library,
      metrics?.trainingIteration,
      metrics?.["start"],
      readdirSync(checkpoint?.path ?? "").filter((name) => !name.startsWith(".")),
    ]);
    expect(facts).toEqual([
      ["xgboost", 6, 4, ["model.ubj"]],
      ["lightgbm", 6, 4, ["model.txt"]],
    ]);
    for (const result of results) {
      const { error = [] } = (await result.metricsColumns()) as { error?: number[] };
      expect(error).toHaveLength(6);
      expect(error).toEqual(error.toSorted((a, b) => b - a));
    }
  });

  test("that are stopped get no further, and their processes run others", async () => {
    const results = await fit("stopped", { fails: false, stop: { trainingIteration: 3 } });
    expect(results.errors.map(({ message }) => message)).toEqual([]);
    expect(Array.from(results, ({ status, iterations }) => [status, iterations])).toEqual([
      ["terminated", 3],
      ["terminated", 3],
    ]);
  });
});
