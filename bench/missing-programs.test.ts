/** Figures whose program is not on the machine are named before anything is measured, and left out. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Figure } from "./figure.ts";
import { runnableFigures } from "./missing-programs.ts";

const plain: Figure = {
  name: "plain",
  title: "",
  unit: "s",
  higherIsBetter: false,
  goal: null,
  floor: null,
  where: "driver",
  run: () => Promise.resolve({ samples: [] }),
};
const loaded: Figure = { ...plain, name: "loaded", program: "wrk" };

test("a figure is left out where its program is missing, and runs where it is", () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-bench-"));
  try {
    const without = runnableFigures([plain, loaded], folder);
    expect(without.runnable).toEqual([plain]);
    expect(without.missing).toEqual(["Cannot run loaded: wrk is not installed: apt-get install wrk"]);
    writeFileSync(join(folder, "wrk"), "");
    chmodSync(join(folder, "wrk"), 0o755);
    expect(runnableFigures([plain, loaded], `/nowhere:${folder}`)).toEqual({ runnable: [plain, loaded], missing: [] });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
