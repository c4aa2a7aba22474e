/**
 * Holds what the tools say about the whole repository: types, lint, format, unused files and exports.
 *
 * As tests, so that one runner and one count cover them, on a developer's machine and in CI alike.
 */
import { expect, test } from "vitest";
import { runTool } from "./house/tool.ts";

test("the repository's TypeScript compiles", async () => {
  await expectClean("typescript/bin/tsc", ["--noEmit", "-p", "tsconfig.json", "--pretty", "false"]);
});

test("oxlint finds no fault", async () => {
  await expectClean("oxlint/bin/oxlint", ["--deny-warnings", "--format=unix"]);
});

test("the files are formatted: `npm run format` does it", async () => {
  await expectClean("@biomejs/biome/bin/biome", ["format", "--reporter=summary"]);
});

test("knip finds no unused file, export or dependency", async () => {
  await expectClean("knip/bin/knip.js", ["--no-progress"]);
});

async function expectClean(script: string, args: readonly string[]): Promise<void> {
  const { exitCode, output } = await runTool(script, args);
  if (exitCode !== 0) expect.fail(output.trim());
}
