/**
 * The loop files of Ray's users: unchanged on Shoal and, beside that, on the real Ray. Both give the same metrics and the same files of checkpoints, which are those of `recorded.json`.
 *
 * The metrics of the real Ray are written there for a loop that has no record yet, and with `SHOAL_RECORD_RAY=1` for all.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, shutdown } from "shoal";
import { afterAll, beforeAll, describe, test } from "vitest";
import { unless } from "../integration/python-places.ts";
import { environment } from "./environments.ts";
import { type LoopResult, RAY_LOOPS, record, recorded, runOnRay, runOnShoal } from "./ray-loops.ts";
import { expectEqualResults } from "./results.ts";

const ray = environment("ray");

describe.each(RAY_LOOPS)("$file", (loop) => {
  const found = environment(loop.environment);
  const problem = "problem" in found ? found.problem : undefined;
  const rayProblem = "problem" in ray ? ray.problem : problem;
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-ray-"));
  beforeAll(() => init({ numCpus: 2, logToDriver: false }));
  afterAll(async () => {
    await shutdown();
    rmSync(folder, { recursive: true, force: true });
  });

  test.skipIf(rayProblem !== undefined)(`gives on Ray what is recorded${unless(rayProblem)}`, async () => {
    const result = await runOnRay(loop, join(folder, "ray"));
    if (process.env["SHOAL_RECORD_RAY"] === "1" || recorded(loop) === undefined) record(loop, result);
    expectEqualResults(result, recorded(loop) as LoopResult);
  });

  const shoalProblem =
    problem ?? (recorded(loop) === undefined && rayProblem !== undefined ? "nothing is recorded, and there is no Ray" : undefined);
  test.skipIf(shoalProblem !== undefined)(`gives the same on Shoal${unless(shoalProblem)}`, async () => {
    expectEqualResults(await runOnShoal(loop, "venv" in found ? found.venv : "", join(folder, "shoal")), recorded(loop) as LoopResult);
  });
});
