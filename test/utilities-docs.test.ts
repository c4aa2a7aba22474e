/**
 * Runs every program of docs/utilities.md and compares what it prints with the text that stands below it there.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram } from "./house/run-program.ts";
import { REPOSITORY } from "./house/source-files.ts";

const page = await readFile(join(REPOSITORY, "docs", "utilities.md"), "utf8");
const programs = Array.from(
  page.matchAll(/^## (.*)\n[\s\S]*?```ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/gm),
  ([, title, code, output]) => ({
    title: title ?? "",
    code: code ?? "",
    output: output ?? "",
  }),
);
let folder: string;

beforeAll(async () => {
  // Inside the repository: the programs find the package by its name.
  folder = await mkdtemp(join(REPOSITORY, "test", "utilities-docs-"));
});
afterAll(() => rm(folder, { recursive: true }));

test("every section has a program and what it prints", () => {
  expect(programs.map(({ title }) => title)).toEqual(Array.from(page.matchAll(/^## (.*)$/gm), ([, title]) => title));
});

test.each(programs)("$title", async ({ code, output }) => {
  const file = join(folder, "program.ts");
  await writeFile(file, code);
  const run = await runProgram([file]);
  expect(run).toMatchObject({ exitCode: 0, stdout: output });
});
