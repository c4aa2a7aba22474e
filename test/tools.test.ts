/**
 * Holds the tools' results on the whole repository: types, lint, format, unused files and exports.
 *
 * As tests, so that one runner and one count cover them, on a developer's machine and in CI alike.
 */
import { relative } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "./house/source-files.ts";
import { SUBPATHS } from "./house/subpaths.ts";
import { runTool } from "./house/tool.ts";

test("the repository's TypeScript compiles", async () => {
  await expectClean("typescript/bin/tsc", ["--noEmit", "-p", "tsconfig.json", "--pretty", "false"]);
});

test("the dashboard's page compiles with a browser's types", async () => {
  await expectClean("typescript/bin/tsc", ["--noEmit", "-p", "dashboard/tsconfig.json", "--pretty", "false"]);
});

test("types come from the sources alone, so that a fresh clone needs no build to be checked", async () => {
  const { exitCode, output } = await runTool("typescript/bin/tsc", ["--listFilesOnly", "-p", "tsconfig.json"]);
  expect(exitCode).toBe(0);
  const files = output.split("\n").map((file) => relative(REPOSITORY, file.trim()));
  expect(files).toContain("src/index.ts");
  expect(files.filter((file) => file.startsWith("dist/"))).toEqual([]);
});

test("each subpath names its source, and what is compiled from that", () => {
  expect(SUBPATHS.map(({ specifier }) => specifier)).toContain("shoal");
  for (const { source, published } of SUBPATHS) {
    const compiled = `./${source.replace(/^src/, "dist").replace(/\.ts$/, "")}`;
    expect(published).toEqual([`${compiled}.d.ts`, `${compiled}.js`]);
  }
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
