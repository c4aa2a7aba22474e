import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CSVLoggerCallback } from "./files/csv-tracker.ts";
import { JsonLoggerCallback } from "./files/json-lines-tracker.ts";
import type { Metrics } from "../metrics/metrics.ts";

const resultOf = (trainingIteration: number, timestampMs: number): Metrics => ({
  loss: trainingIteration / 2,
  trainingIteration,
  timestampMs,
});
/** Two of one millisecond, and an attempt that began anew. */
const RESULTS = [resultOf(1, 1_000_250), resultOf(2, 1_000_250), resultOf(3, 1_000_900), resultOf(1, 1_001_003)];

test.each([
  [new JsonLoggerCallback(), "result.json"],
  [new CSVLoggerCallback(), "progress.csv"],
])("%o has every result of the log once, wherever its driver was killed", async (tracker, name) => {
  const root = mkdtempSync(join(tmpdir(), "test-shoal-missed-"));
  try {
    const run = { id: "a", name: "a", experimentName: "a", config: {} };
    const written = async (folder: string, count: number): Promise<string> => {
      mkdirSync(folder, { recursive: true });
      const open = await tracker.open({ ...run, folder, isResumed: false });
      if (count > 0) await open.log(RESULTS.slice(0, count));
      await open.close("finished");
      return join(folder, name);
    };
    const whole = readFileSync(await written(join(root, "whole"), RESULTS.length), "utf8");
    for (let count = 0; count <= RESULTS.length; count += 1) {
      const folder = join(root, String(count));
      const file = await written(folder, count);
      await tracker.catchUp?.({ ...run, folder, isResumed: true }, RESULTS);
      expect(readFileSync(file, "utf8")).toBe(whole);
      // A torn last line is written again.
      truncateSync(file, whole.length - 3);
      await tracker.catchUp?.({ ...run, folder, isResumed: true }, RESULTS.slice(2));
      expect(readFileSync(file, "utf8")).toBe(whole);
    }
  } finally {
    rmSync(root, { recursive: true });
  }
});
