/** Environments beside Gymnasium's own: fresh trajectories of a seed of today, and the same ones as recorded for seed 1. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import {
  compareTrajectories,
  type RecordedTable,
  recordedTables,
  recordedTrajectories,
  type Trajectory,
} from "../oracles/gymnasium-trajectories.ts";
import { installed } from "./installed.ts";

const folder = installed("gymnasium-1.4.0", (place) => [
  ["python3", "-m", "venv", place],
  [join(place, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "gymnasium==1.4.0"],
]);

function printed(argument: string): unknown {
  const program = join(REPOSITORY, "test", "systems", "gymnasium_trajectories.py");
  return JSON.parse(execFileSync(join(folder, "bin", "python3"), [program, argument], { encoding: "utf8", maxBuffer: 2 ** 26 }));
}

function recorded(seed: number): Trajectory[] {
  return printed(String(seed)) as Trajectory[];
}

test("the kept tables of the toy text environments are those of Gymnasium 1.4", () => {
  expect(printed("tables") as RecordedTable[]).toEqual(recordedTables());
});

test("the kept trajectories are those of Gymnasium 1.4", () => {
  expect(recorded(1)).toEqual(recordedTrajectories());
});

test("environments move as Gymnasium's with a seed that nobody has tried", async () => {
  const seed = Math.floor(Math.random() * 1e6);
  for (const trajectory of recorded(seed)) await compareTrajectories(trajectory);
});
