/**
 * Runs every program of the guides in `docs` and compares what it prints with the text that stands below it there.
 *
 * A program is a `ts` block; the `text` block behind it is its standard output. A `ts` block without one would go untested, so each page's blocks are counted.
 * Links of all pages are checked too: each names a file, and a heading where it has a fragment. Pages with Python are in `python-docs.test.ts`.
 */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runProgram } from "./house/run-program.ts";
import { REPOSITORY } from "./house/source-files.ts";

const GUIDES = [
  "tutorial",
  "what-travels",
  "servers",
  "debugging",
  "testing",
  "utilities",
  "data",
  "train",
  "tune",
  "tune-search",
  "serve",
  "serve-models",
  "serve-config",
];

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

let folder: string;

beforeAll(async () => {
  // Inside the repository: the programs find the package by its name.
  folder = await mkdtemp(join(REPOSITORY, "test", "docs-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe.each(GUIDES)("docs/%s.md", async (name) => {
  const page = await readFile(join(REPOSITORY, "docs", `${name}.md`), "utf8");
  const programs = programsOf(page);

  test("each program has the text that it prints", () => {
    expect(programs.length).toBe(page.match(/^```ts$/gm)?.length ?? 0);
  });

  test.each(programs)("$title", async ({ code, output }) => {
    const file = join(folder, "program.mts");
    await writeFile(file, code);
    // Files that programs keep in the user's home are removed with the folder.
    const run = await runProgram([file], { env: { HOME: folder } });
    expect(run).toMatchObject({ exitCode: 0, stdout: output });
  });
});

test("links of all pages name a file, and a heading of it", async () => {
  const pages = (await readdir(join(REPOSITORY, "docs"), { recursive: true })).filter((name) => name.endsWith(".md"));
  const files = ["README.md", "ARCHITECTURE.md", "PROTOCOL.md", "CONTRIBUTING.md", ...pages.map((name) => join("docs", name))];
  const broken: string[] = [];
  for (const file of files) {
    const text = await readFile(join(REPOSITORY, file), "utf8");
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = "", fragment] = target.split("#");
      const linked = path === "" ? join(REPOSITORY, file) : join(REPOSITORY, dirname(file), path);
      if (!existsSync(linked)) broken.push(`${file}: ${target}: there is no ${relative(REPOSITORY, linked)}`);
      else if (fragment !== undefined && !anchorsOf(await readFile(linked, "utf8")).includes(fragment))
        broken.push(`${file}: ${target}: no heading has this anchor`);
    }
  }
  expect(broken).toEqual([]);
});

/** The anchors that Markdown renderers give to headings. */
function anchorsOf(page: string): string[] {
  return Array.from(page.matchAll(/^#+ (.*)$/gm), ([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-"),
  );
}
