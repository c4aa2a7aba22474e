import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ClassTrial, type ClassTrainable } from "./trial-loop.ts";
import type { TrialSpec } from "./trial-protocol.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "test-shoal-trial-loop-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const spec = (more: Partial<TrialSpec> = {}): TrialSpec => ({
  trialId: "t1",
  trialName: "t1",
  trialDir: folder,
  experimentName: "mine",
  config: {},
  resources: { bundles: [{ CPU: 1 }], strategy: "PACK" },
  checkpoint: undefined,
  iteration: 0,
  timeTotalMs: 0,
  nextCheckpoint: 0,
  checkpointFrequency: 0,
  checkpointAtEnd: true,
  ...more,
});

class Model implements ClassTrainable {
  step() {
    return { at: 1 };
  }
  saveCheckpoint(path: string) {
    writeFileSync(join(path, "at"), "1");
  }
  exportModel(path: string) {
    writeFileSync(join(path, "model"), "weights");
  }
}

test("a trial hands its last checkpoint over before it exports", async () => {
  const trial = new ClassTrial(spec(), Promise.resolve(new Model()));
  expect(await trial.next(undefined)).toMatchObject({ type: "report", metrics: { at: 1 } });
  expect(await trial.next({ action: "stop", hasEnded: true })).toMatchObject({
    type: "saved",
    checkpoint: { to: join(folder, "checkpoint_000000") },
  });
  expect(existsSync(join(folder, "export"))).toBe(false);
  expect(await trial.next(undefined)).toEqual({ type: "released" });
  expect(readFileSync(join(folder, "export", "model"), "utf8")).toBe("weights");
});

test("a trial that did not end well, or has no last checkpoint, leaves at once", async () => {
  const failed = new ClassTrial(spec(), Promise.resolve(new Model()));
  expect(await failed.next({ action: "stop" })).toMatchObject({ type: "released", checkpoint: { part: { rank: 0 } } });
  expect(existsSync(join(folder, "export"))).toBe(false);
  const plain = new ClassTrial(spec({ checkpointAtEnd: false }), Promise.resolve(new Model()));
  expect(await plain.next({ action: "stop", hasEnded: true })).toEqual({ type: "released" });
  expect(existsSync(join(folder, "export", "model"))).toBe(true);
});
