import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Trial } from "./trial.ts";
import { TrialFiles } from "./trial-files.ts";

test("what an end without warning has left of a trial is gone before the trial begins anew", async () => {
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-trial-files-"));
  try {
    const files = new TrialFiles({
      folder,
      experimentName: "run",
      trackers: [],
      onProblem: (text) => expect.fail(text),
      shownConfig: () => ({}),
      dirnameOf: ({ id }) => id,
    });
    files.restored();
    const own = join(folder, "a", "checkpoint_000000");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "left"), "");
    const trial = { id: "a", name: "a", config: {} } as Trial;
    files.start(trial);
    await files.whenMade(trial);
    expect(existsSync(join(folder, "a"))).toBe(true);
    expect(existsSync(own)).toBe(false);
    await files.closeAll();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
