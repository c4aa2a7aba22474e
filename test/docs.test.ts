/**
 * Runs every program of the guides in `docs` and compares the output with the text below the program.
 *
 * A program is a `ts` block; the `text` block behind it is its standard output. A `ts` block without one would go untested, so each page's blocks are counted.
 * Pages with Python are in `python-docs.test.ts`, and links in `links.test.ts`.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ProgramRun, runProgram } from "./house/run-program.ts";
import { REPOSITORY } from "./house/source-files.ts";
import { runTool } from "./house/tool.ts";

const GUIDES = [
  "tutorial",
  "what-travels",
  "servers",
  "debugging",
  "testing",
  "utilities",
  "tensor",
  "data",
  "data-files",
  "data-expressions",
  "data-types",
  "data-running",
  "data-recipes",
  "data-formats",
  "data-preprocessors",
  "train",
  "tune",
  "tune-search",
  "rl",
  "serve",
  "serve-http",
  "serve-production",
  "serve-models",
  "serve-config",
];

/** Folders that Shoal makes for a session. */
const SESSION = /^shoal-(spill-)?[0-9a-f]{12}$/;

interface Program {
  title: string;
  code: string;
  output: string;
}

function programsOf(page: string): Program[] {
  const programs: Program[] = [];
  for (const section of page.split(/^(?=## )/m)) {
    const title = /^## (.*)/.exec(section)?.[1] ?? "before the first heading";
    for (const [, code, output] of section.matchAll(/```ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/g))
      programs.push({ title, code: code ?? "", output: output ?? "" });
  }
  return programs;
}

/**
 * Programs wait for their processes to start and end, so some run side by side. Each has separate folders, also for the user's home and for
 * temporary files.
 */
async function runApart(code: string): Promise<ProgramRun & { left: string[] }> {
  // Inside the repository: the programs find the package by its name.
  const folder = await mkdtemp(join(REPOSITORY, "test", "docs-"));
  const temporary = await mkdtemp(join(tmpdir(), "docs-"));
  const file = join(folder, "program.mts");
  await writeFile(file, code);
  try {
    const run = await runProgram([file], { env: { HOME: folder, TMPDIR: temporary } });
    return { ...run, left: (await readdir(temporary)).filter((name) => SESSION.test(name)) };
  } finally {
    for (const each of [folder, temporary]) await rm(each, { recursive: true });
  }
}

describe.concurrent.each(GUIDES)("docs/%s.md", async (name) => {
  const page = await readFile(join(REPOSITORY, "docs", `${name}.md`), "utf8");
  const programs = programsOf(page);

  test("each program has the text that it prints", () => {
    expect(programs.length).toBe(page.match(/^```ts$/gm)?.length ?? 0);
  });

  test.each(programs)("$title", async ({ code, output }) => {
    expect(await runApart(code)).toMatchObject({ exitCode: 0, stdout: output, left: [] });
  });
});

test("all programs compile in strict mode", async () => {
  const folder = await mkdtemp(join(REPOSITORY, "test", "docs-"));
  try {
    const files: string[] = [];
    for (const guide of GUIDES) {
      const page = await readFile(join(REPOSITORY, "docs", `${guide}.md`), "utf8");
      for (const [, code = ""] of page.matchAll(/```ts(?: no-run)?\n([\s\S]*?)```/g)) {
        files.push(`${guide}-${files.length}.mts`);
        await writeFile(join(folder, files.at(-1) ?? ""), code);
      }
    }
    const options = [
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--target",
      "es2024",
      "--lib",
      "es2024,esnext.disposable",
      "--module",
      "nodenext",
    ];
    const { output } = await runTool(
      "typescript/bin/tsc",
      [...options, "--types", "node", "--skipLibCheck", "--pretty", "false", ...files],
      folder,
    );
    expect(output).toBe("");
  } finally {
    await rm(folder, { recursive: true });
  }
});
