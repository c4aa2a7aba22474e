/** Our event files, read by the real TensorBoard: its checksums, its curves, and its table of hyperparameters. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseMetrics } from "../../src/runs/metrics/metrics.ts";
import { TBXLoggerCallback } from "../../src/runs/trackers/files/tensorboard-tracker.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { installed } from "./installed.ts";

const TENSORBOARD = "2.21.0";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "test-shoal-tensorboard-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function venv(): string {
  return installed(`tensorboard-${TENSORBOARD}`, (place) => [
    ["python3", "-m", "venv", place],
    [
      join(place, "bin", "python3"),
      "-m",
      "pip",
      "install",
      "--quiet",
      "--disable-pip-version-check",
      `tensorboard==${TENSORBOARD}`,
      "setuptools<81",
    ],
  ]);
}

test("curves, hyperparameters and states of two trials, one of which went on after a crash", { timeout: 300_000 }, async () => {
  for (const [lr, state] of [
    [0.1, "finished"],
    [0.2, "failed"],
  ] as const) {
    const run = { id: `t${lr}`, name: `trial_${lr}`, experimentName: "mine", folder: join(folder, `trial_${lr}`), isResumed: false };
    mkdirSync(run.folder);
    const config = { lr, layers: [8, 8], model: { act: "relu", norm: true }, none: null };
    const first = await new TBXLoggerCallback().open({ ...run, config });
    await first.log([{ loss: 1, eval: { acc: 0.5 }, note: "text", trainingIteration: 1, timestampMs: Date.now() }]);
    // The first log was not closed: the next file continues the curves.
    const second = await new TBXLoggerCallback().open({ ...run, config, isResumed: true });
    await second.log([{ loss: Number.NaN, trainingIteration: 299 }]);
    await second.log([{ loss: lr, eval: { acc: 0.75 }, trainingIteration: 300 }]);
    await second.close(state);
  }
  const script = join(REPOSITORY, "test", "systems", "python", "read_events.py");
  const found = parseMetrics(execFileSync(join(venv(), "bin", "python3"), [script, folder], { encoding: "utf8" }));
  const curves = (last: number) => ({
    loss: [
      [1, 1],
      [299, Number.NaN],
      [300, expect.closeTo(last, 6)],
    ],
    "eval/acc": [
      [1, 0.5],
      [300, 0.75],
    ],
  });
  const session = (lr: number, status: string) => ({
    hparams: { lr, layers: "[8,8]", "model/act": "relu", "model/norm": true },
    metrics: { loss: expect.closeTo(lr, 6), "eval/acc": 0.75 },
    status,
  });
  expect(found).toEqual({
    versions: new Array(4).fill("brain.Event:2"),
    scalars: { "trial_0.1": curves(0.1), "trial_0.2": curves(0.2) },
    metrics: ["eval/acc", "loss"],
    sessions: [session(0.1, "STATUS_SUCCESS"), session(0.2, "STATUS_FAILURE")],
  });
});
