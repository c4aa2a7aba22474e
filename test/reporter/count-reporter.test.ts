/**
 * Runs Vitest with the reporter on a fixture in which one test passes, one fails, one is skipped and one file cannot be loaded.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { runTool } from "../house/tool.ts";
import { countLine } from "./count-reporter.ts";

const FIXTURE = join(REPOSITORY, "test", "reporter", "fixture");
const REPORTER = join(REPOSITORY, "test", "reporter", "count-reporter.ts");

test("the last line counts tests, and a file that cannot be loaded is a failure", async () => {
  const { exitCode, output } = await runTool(
    "vitest/vitest.mjs",
    ["run", `--config=${join(FIXTURE, "vitest.config.ts")}`, `--reporter=${REPORTER}`],
    FIXTURE,
  );
  expect(output.trimEnd().split("\n").at(-1)).toBe("1 passed, 2 failed, 1 skipped");
  expect(exitCode).toBe(1);
});

test("skipped tests are named only when there are some", () => {
  expect(countLine({ passed: 12, failed: 0, skipped: 0 })).toBe("12 passed, 0 failed");
});
