/**
 * Runs every program of docs/python.md, with the Python files above it, and compares the output with the text below the program.
 *
 * Without Python the programs are skipped, and their titles say why.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram } from "./house/run-program.ts";
import { REPOSITORY } from "./house/source-files.ts";
import { unless, WITHOUT_PYTHON } from "./integration/python-places.ts";

const page = await readFile(join(REPOSITORY, "docs", "python.md"), "utf8");
const programs = Array.from(
  page.matchAll(/^## ([^\n]*)\n(?:(?!^## )[\s\S])*?```python\n# (\S+)\n([\s\S]*?)```\n\n```ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/gm),
  ([, title, file, python, code, output]) => ({
    title: title ?? "",
    file: file ?? "",
    python: python ?? "",
    code: code ?? "",
    output: output ?? "",
  }),
);
let folder: string;

beforeAll(async () => {
  // Inside the repository: the programs find the package by its name.
  folder = await mkdtemp(join(REPOSITORY, "test", "python-docs-"));
});
afterAll(() => rm(folder, { recursive: true }));

test("every program of the page is found", () => {
  expect(programs.length).toBe(page.match(/^```ts$/gm)?.length);
});

test.skipIf(WITHOUT_PYTHON !== undefined).each(programs)(
  `$title${unless(WITHOUT_PYTHON)}`,
  async ({ title, file, python, code, output }) => {
    const place = join(folder, title.toLowerCase().replace(/\W+/g, "-"));
    await mkdir(place);
    await writeFile(join(place, file), python);
    await writeFile(join(place, "program.ts"), code);
    const run = await runProgram([join(place, "program.ts")]);
    expect(run).toMatchObject({ exitCode: 0, stdout: output, stderr: "" });
  },
);
