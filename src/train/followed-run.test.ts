/** How a run shows itself while it is followed: a line a rank, and one at its end. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readRunConfig } from "../runs/run-config.ts";
import { FollowedRun } from "./followed-run.ts";
import type { RunObserver, TrainingRun } from "./training-run.ts";

const folder = mkdtempSync(join(tmpdir(), "followed-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("there is a line a rank with its metrics, of which attempt they are, and a summary", async () => {
  const runConfig = await readRunConfig<never>({ storagePath: folder, loggingConfig: { logLevel: "ERROR" } }, "train");
  const run = new FollowedRun({ name: "mine", folder, runConfig, isResumed: false, signal: new AbortController().signal });
  const shown: (readonly string[])[] = [run.lines()];
  const events = async (observer: RunObserver): Promise<void> => {
    observer.started(1, 2);
    shown.push(run.lines());
    await observer.reported({ metrics: [{ loss: 0.5 }, { loss: 0.25 }], checkpoint: undefined });
    shown.push(run.lines());
    await observer.failed([{ rank: 1, cause: "died", error: new Error("gone") }]);
    observer.started(2, 1);
    await observer.reported({ metrics: [{ loss: 0.125, step: 7 }], checkpoint: undefined });
    shown.push(run.lines());
  };
  await run.follow(
    (observer) =>
      ({
        run: async () => {
          await events(observer);
          return { metrics: {}, checkpoint: undefined, values: [] };
        },
      }) as unknown as TrainingRun,
    {},
  );
  expect(shown).toEqual([
    ["mine: waits for its ranks"],
    ["mine: rank 0  has not reported", "mine: rank 1  has not reported"],
    ["mine: rank 0  report 1  loss 0.5", "mine: rank 1  report 1  loss 0.25"],
    ["mine, attempt 2: rank 0  report 2  loss 0.125, step 7"],
  ]);
  expect(run.summary("done", 1500)).toBe("mine: done in 1.5 s, 2 reports, loss 0.125, step 7");
});
