import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Trial } from "./trial.ts";
import { TrialFiles } from "./trial-files.ts";

const TRIAL = { id: "a", name: "a", config: {} } as Trial;

function filesIn(folder: string): TrialFiles {
  return new TrialFiles({
    folder,
    experimentName: "run",
    trackers: [],
    onProblem: (text) => expect.fail(text),
    shownConfig: () => ({}),
    dirnameOf: ({ id }) => id,
  });
}

test("a trial that goes on keeps its files, and not its error", async () => {
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-trial-files-"));
  try {
    const files = filesIn(folder);
    files.restored();
    mkdirSync(join(folder, "a"));
    for (const name of ["error.txt", "result.json"]) writeFileSync(join(folder, "a", name), "");
    files.resume({ id: "a" });
    files.start(TRIAL);
    await files.whenMade(TRIAL);
    expect(readdirSync(join(folder, "a"))).toEqual(["result.json"]);
    await files.closeAll();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what an end without warning has left of a trial is gone before the trial begins anew", async () => {
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-trial-files-"));
  try {
    const files = filesIn(folder);
    files.restored();
    const own = join(folder, "a", "checkpoint_000000");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "left"), "");
    files.start(TRIAL);
    await files.whenMade(TRIAL);
    expect(existsSync(join(folder, "a"))).toBe(true);
    expect(existsSync(own)).toBe(false);
    await files.closeAll();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
