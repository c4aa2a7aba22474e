/** XGBoost on two ranks: the model of one rank with all rows, with parameters alone or a loop; a run that goes on when a rank is killed; predictions in a dataset. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import * as data from "shoal/data";
import { type Checkpoint, type TrainingFailedError, XGBoostTrainer } from "shoal/train";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environment } from "../frameworks/environments.ts";
import { unless } from "../integration/python-places.ts";
import { failureOf } from "../integration/session.ts";

const found = environment("boosters");
const problem = "problem" in found ? found.problem : undefined;
const venv = "venv" in found ? found.venv : "";
const LOOPS = new URL("../frameworks/loops/boosters.py", import.meta.url);
const PARAMS = { objective: "reg:squarederror", tree_method: "hist", max_depth: 3, nthread: 1 };
const ROUNDS = 6;

/** Few values a column, so that the bins of the histograms do not depend on which rank has which rows. */
const rows = data.fromItems(Array.from({ length: 1000 }, (_, i) => ({ x: i % 50, z: (i * 7) % 11, y: (i % 50) * 2 + ((i * 7) % 11) })));

interface Metrics {
  "train-rmse": number;
}

describe.skipIf(problem !== undefined)(`XGBoost${unless(problem)}`, () => {
  const storagePath = mkdtempSync(join(tmpdir(), "test-shoal-xgboost-"));
  let runs = 0;
  const common = (numWorkers: number, maxFailures = 0) => ({
    scalingConfig: { numWorkers, resourcesPerWorker: { CPU: 0.4 } },
    runConfig: { name: `run-${(runs += 1)}`, storagePath, failureConfig: { maxFailures } },
    datasets: { train: rows },
    runtimeEnv: { python: venv },
  });
  beforeAll(() => init({ numCpus: 2, logToDriver: false }));
  afterAll(async () => {
    await shutdown();
    rmSync(storagePath, { recursive: true, force: true });
  });

  const trained = async (numWorkers: number, checkpointFrequency = 0) =>
    await new XGBoostTrainer<object, Metrics>({
      params: PARAMS,
      labelColumn: "y",
      numBoostRound: ROUNDS,
      checkpointFrequency,
      ...common(numWorkers),
    }).fit();

  async function errorsOf(checkpoint: Checkpoint | undefined): Promise<number[]> {
    const predict = python.actor(LOOPS, "Predict", { runtimeEnv: { python: venv } });
    const predicted = rows.limit(100).mapBatches(
      predict as never,
      {
        batchFormat: "pandas",
        constructorArgs: [checkpoint?.path],
        concurrency: 1,
      } as never,
    ) as data.Dataset<{ y: number; predicted: number }>;
    return (await predicted.takeAll()).map(({ y, predicted: value }) => Math.abs(y - value));
  }

  test("two ranks make the model of one, and datasets predict with it", async () => {
    const one = await trained(1);
    const two = await trained(2, 2);
    const error = two.metrics?.["train-rmse"] as number;
    expect(Math.abs(error - (one.metrics?.["train-rmse"] as number))).toBeLessThan(1e-4 * error);
    expect(readdirSync(two.checkpoint?.path ?? "")).toContain("model.ubj");
    const [ofOne, ofTwo] = [await errorsOf(one.checkpoint), await errorsOf(two.checkpoint)];
    expect(ofTwo).toHaveLength(100);
    for (const [index, value] of ofTwo.entries()) expect(Math.abs(value - (ofOne[index] as number))).toBeLessThan(0.05);
  });

  test("a killed rank costs no round that was reported", async () => {
    const result = await new XGBoostTrainer<object, { error: number; start: number }>({
      trainLoopPerWorker: python.task(LOOPS, "resumed"),
      trainLoopConfig: { params: PARAMS, rounds: ROUNDS, killed_at: 4 },
      ...common(2, 1),
    }).fit();
    expect(result.metrics?.start).toBe(3);
    const whole = await trained(2);
    expect(Math.abs((result.metrics?.error as number) - (whole.metrics?.["train-rmse"] as number))).toBeLessThan(1e-3);
  });

  test("a label that is no column is named, with those that there are", async () => {
    const wrong = new XGBoostTrainer({ params: PARAMS, labelColumn: "label", ...common(2) });
    const failure = (await failureOf(wrong.fit())) as TrainingFailedError;
    expect(failure.message).toMatch(/no column 'label', which labelColumn names: it has x, z, y/);
  });
});
