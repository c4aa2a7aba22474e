/**
 * The deterministic simulation (`sim/main.ts`) on the seeds of every test run, on those that once found something, and with defects put in on purpose, which
 * it has to find: a simulation that cannot fail would prove nothing.
 */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runProgram } from "./house/run-program.ts";
import { REGRESSIONS } from "../sim/regressions.ts";

const MAIN = fileURLToPath(new URL("../sim/main.ts", import.meta.url));

async function simulate(...args: string[]): Promise<{ exitCode: number | null; output: string }> {
  const { exitCode, stdout, stderr } = await runProgram([MAIN, ...args]);
  return { exitCode, output: stdout + stderr };
}

test("no invariant breaks in a few hundred seeds", async () => {
  const { exitCode, output } = await simulate("--seeds", "200", "--steps", "20");
  if (exitCode !== 0) expect.fail(output);
});

test("seeds that have found a defect find none any more", async () => {
  const { exitCode, output } = await simulate("--regressions");
  if (exitCode !== 0) expect.fail(output);
  expect(output).toContain(`${REGRESSIONS.length} seeds, 0 failed`);
});

test("the same seed gives the same run", async () => {
  const first = await simulate("--seed", "7");
  const second = await simulate("--seed", "7");
  expect(fingerprint(first.output)).toMatch(/^fingerprint \d+$/);
  expect(fingerprint(first.output)).toBe(fingerprint(second.output));
});

test.each(["leaseOfDeadProcess", "lostReturn", "forgottenHold", "doubleRelease", "lostUnpark"])("finds the defect %s", async (mutation) => {
  const { exitCode, output } = await simulate("--seeds", "30", "--mutation", mutation);
  expect(output).toMatch(/breaks an invariant/);
  expect(exitCode).toBe(1);
});

function fingerprint(output: string): string | undefined {
  return /fingerprint \d+/.exec(output)?.[0];
}
