/**
 * Loop files that were written for Ray run unchanged on Shoal's ranks, and give the real Ray's results (`recorded.json`). `test/frameworks`
 * has more of them, beside the real Ray.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import { TorchTrainer } from "shoal/train";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environment } from "../frameworks/environments.ts";
import { type LoopResult, RAY_LOOPS, recorded, runOnShoal } from "../frameworks/ray-loops.ts";
import { expectEqualResults } from "../frameworks/results.ts";
import { unless } from "../integration/python-places.ts";
import { failureOf } from "../integration/session.ts";

const found = environment("torch");
const problem = "problem" in found ? found.problem : undefined;
const venv = "venv" in found ? found.venv : "";
const LOOPS = RAY_LOOPS.filter((loop) => loop.environment === "torch" && recorded(loop) !== undefined);

describe.skipIf(problem !== undefined)(`loops of Ray${unless(problem)}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-ray-loop-"));
  beforeAll(() => init({ numCpus: 2, logToDriver: false }));
  afterAll(async () => {
    await shutdown();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(LOOPS)("$file gives what it gives on Ray", async (loop) => {
    expectEqualResults(await runOnShoal(loop, venv, join(folder, loop.file)), recorded(loop) as LoopResult);
  });

  test("the driver's names say that the driver is TypeScript", async () => {
    const trainer = new TorchTrainer({
      trainLoopPerWorker: python.task(new URL("../frameworks/loops/ray_names.py", import.meta.url), "train_loop"),
      runConfig: { storagePath: folder, name: "names" },
      runtimeEnv: { python: venv },
    });
    const { metrics } = await trainer.fit();
    expect(metrics).toMatchObject({ modules: "shoal.train shoal.train.torch", tune: true, version: "2.60.0", absent: "ray.serve" });
    for (const said of (metrics as unknown as { said: string[] }).said) expect(said).toMatch(/^Cannot (use|call) .* here: .*TypeScript/);
  });

  test("a loop that does not exist is named, with what is near", async () => {
    const wrong = new TorchTrainer({
      trainLoopPerWorker: python.task(new URL("../frameworks/ray-loops/torch_regressor.py", import.meta.url), "train_loop_per_workr"),
      runConfig: { storagePath: folder, name: "wrong" },
      runtimeEnv: { python: venv },
    });
    expect((await failureOf(wrong.fit())).message).toMatch(
      /Cannot import the loop train_loop_per_workr of .*torch_regressor.py.*did you mean train_loop_per_worker/s,
    );
  });
});
