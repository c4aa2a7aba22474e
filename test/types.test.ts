/**
 * Holds what compiles against the public types and what must not: the files `test/types/*.test-d.ts`.
 *
 * The compiler is the test runner: a line that must not compile is marked `@ts-expect-error`, and a marked line that does compile is itself
 * a diagnostic. Each file is one test here, so that a failure is named by its file and prints only that file's diagnostics.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { REPOSITORY } from "./house/source-files.ts";
import { runTool } from "./house/tool.ts";

const files = readdirSync(join(REPOSITORY, "test", "types")).filter((name) => name.endsWith(".test-d.ts"));
let diagnostics: readonly string[] = [];

beforeAll(async () => {
  const { output } = await runTool("typescript/bin/tsc", ["--noEmit", "-p", "test/types/tsconfig.json", "--pretty", "false"]);
  diagnostics = output.split("\n").filter((line) => line.trim() !== "");
});

test.each(files)("%s", (file) => {
  expect(diagnostics.filter((line) => line.includes(file)).join("\n")).toBe("");
});

test("no other file has diagnostics", () => {
  expect(diagnostics.filter((line) => !files.some((file) => line.includes(file))).join("\n")).toBe("");
});
