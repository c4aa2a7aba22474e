import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PolicyFiles } from "./policy-files.ts";
import { PopulationBasedTrainingReplay } from "./schedulers/population/population-based-training-replay.ts";

let folder = "";
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "shoal-policies-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const problems: string[] = [];
const open = (path = folder): PolicyFiles => new PolicyFiles({ folder: path, onProblem: (text) => problems.push(text) });

const exploit = (trialId: string, donorId: string, at: number) =>
  ({
    type: "exploited",
    trialId,
    donorId,
    iteration: at + 1,
    donorIteration: at,
    before: { lr: at, fn: Math.max },
    config: { lr: at + 1 },
  }) as const;
const line = (trialId: string, donorId: string, at: number): string =>
  `["${trialId}","${donorId}",${at + 1},${at},{"lr":${at},"fn":"max"},{"lr":${at + 1}}]\n`;
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

test("a trial's file has the exploits that led to its configuration, and no others", async () => {
  const files = open();
  files.add(exploit("a", "b", 1));
  files.add(exploit("c", "d", 2));
  files.write();
  files.add(exploit("a", "c", 3));
  files.write();
  await files.close();
  expect(read("pbt_policy_a.txt")).toBe(line("c", "d", 2) + line("a", "c", 3));
  expect(read("pbt_policy_c.txt")).toBe(line("c", "d", 2));
  expect(read("pbt_global.txt")).toBe(line("a", "b", 1) + line("c", "d", 2) + line("a", "c", 3));
  const replay = await PopulationBasedTrainingReplay.fromFile(join(folder, "pbt_policy_a.txt"));
  expect(replay.onTrialAdd({ id: "r" } as never)).toEqual({ lr: 2, fn: "max" });
});

test("a restored run writes what its dead driver has not, and takes back what was not logged", async () => {
  const first = open();
  first.add(exploit("a", "b", 1));
  const state = JSON.parse(JSON.stringify(first.save()));
  first.add(exploit("a", "b", 9));
  first.write();
  await first.close();
  writeFileSync(join(folder, "pbt_global.txt"), `${read("pbt_global.txt")}["torn`);
  const second = open();
  second.restore(state);
  second.add(exploit("c", "a", 2));
  second.write();
  await second.close();
  expect(read("pbt_policy_a.txt")).toBe(line("a", "b", 1));
  expect(read("pbt_policy_c.txt")).toBe(line("a", "b", 1) + line("c", "a", 2));
  expect(read("pbt_global.txt")).toBe(line("a", "b", 1) + line("c", "a", 2));
});

test("a run without exploits has no such files, and a folder that cannot be written is told once", async () => {
  const none = open();
  none.write();
  await none.close();
  expect(readdirSync(folder)).toEqual([]);
  writeFileSync(join(folder, "file"), "");
  const files = open(join(folder, "file"));
  for (const at of [1, 2]) {
    files.add(exploit("a", "b", at));
    files.write();
  }
  await files.close();
  expect(problems).toEqual([expect.stringMatching(/^cannot write the policies of the trials: /)]);
});
