/**
 * The deterministic simulation (`sim/main.ts`) on the seeds of every test run, on seeds that once found a defect, and with defects put in
 * on purpose. It has to find these: a simulation that cannot fail would prove nothing.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { runProgram } from "./house/run-program.ts";
import { MUTANTS } from "../sim/mutants.ts";
import { REGRESSIONS } from "../sim/regressions.ts";

// Each is a process that computes, with nothing in common with the others.
vi.setConfig({ testTimeout: 180_000, maxConcurrency: 2 });

const MAIN = fileURLToPath(new URL("../sim/main.ts", import.meta.url));

function partsText(parts: "drawn" | readonly string[]): string {
  if (parts === "drawn") return parts;
  return parts.length === 0 ? "none" : parts.join(",");
}

async function simulate(...args: string[]): Promise<{ exitCode: number | null; output: string }> {
  // Some take 20 s where nothing else runs.
  const { exitCode, stdout, stderr } = await runProgram([MAIN, ...args], { timeoutMs: 170_000 });
  return { exitCode, output: stdout + stderr };
}

test("no invariant breaks in a few hundred seeds", async () => {
  const { exitCode, output } = await simulate("--seeds", "100", "--steps", "20");
  if (exitCode !== 0) expect.fail(output);
});

test("nor where programs have tasks, actors and objects alone", async () => {
  const { exitCode, output } = await simulate("--seeds", "100", "--steps", "20", "--parts", "none");
  if (exitCode !== 0) expect.fail(output);
});

test("nor on three machines, which die, stand still and are cut off from each other", async () => {
  const { exitCode, output } = await simulate("--seeds", "60", "--steps", "20", "--nodes", "3", "--parts", "none");
  if (exitCode !== 0) expect.fail(output);
});

test("seeds that have found a defect find none any more", async () => {
  const { exitCode, output } = await simulate("--regressions");
  if (exitCode !== 0) expect.fail(output);
  expect(output).toContain(`${REGRESSIONS.length} seeds, 0 failed`);
});

test("the same seed gives the same run", async () => {
  const fingerprints = async (): Promise<string[]> => {
    const { output } = await simulate("--seeds", "12", "--steps", "20", "--fingerprints");
    return output.split("\n").filter((line) => line.startsWith("seed "));
  };
  const first = await fingerprints();
  expect(first).toHaveLength(12);
  expect(await fingerprints()).toEqual(first);
});

test.concurrent.each(["leaseOfDeadProcess", "lostReturn", "forgottenHold", "doubleRelease", "lostUnpark"])(
  "finds the defect %s",
  async (mutation) => {
    const { exitCode, output } = await simulate("--seeds", "30", "--parts", "none", "--mutation", mutation);
    expect(output).toMatch(/breaks an invariant/);
    expect(exitCode).toBe(1);
  },
);

// Later seeds may meet the defect in its place: a seed's meaning changes with each message.
test.concurrent.each(REGRESSIONS)(
  "seed $seed or one behind it finds the mutant $mutant",
  async ({ seed, steps, parts = [], nodes = 1, mutant }) => {
    const run = ["--steps", String(steps), "--nodes", String(nodes), "--parts", partsText(parts)];
    const { exitCode, output } = await simulate(...run, "--from", String(seed), "--seeds", "200", "--mutant", mutant);
    const found = /^seed (\d+) breaks an invariant/m.exec(output)?.[1];
    if (found === undefined) expect.fail(output);
    expect(exitCode).toBe(1);
    // The test of all regressions has run the seed itself without the mutant.
    if (found === String(seed)) return;
    // A seed that fails without the mutant shows nothing about the mutant.
    const without = await simulate(...run, "--seed", found);
    if (without.exitCode !== 0) expect.fail(without.output);
  },
);

test("each mutant is of the code as it is now", () => {
  for (const [name, { file, text }] of Object.entries(MUTANTS)) {
    const source = readFileSync(new URL(`../src/${file}`, import.meta.url), "utf8");
    if (source.split(text).length !== 2) expect.fail(`${name}: ${file} does not have its text once`);
  }
});
