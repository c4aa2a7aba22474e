/** Follows every relative link of every document: the file exists, and so does the heading that a fragment names. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linksOf } from "./house/links.ts";
import { REPOSITORY } from "./house/source-files.ts";

test("every relative link names a file and a heading that exist", () => {
  const broken = documents()
    .flatMap((path) => linksOf(path, readFileSync(join(REPOSITORY, path), "utf8")))
    .filter(({ file, fragment }) => !existsSync(join(REPOSITORY, file)) || (fragment !== undefined && !hasHeading(file, fragment)))
    .map(({ document, target }) => `${document}: ${target}`);
  expect(broken).toEqual([]);
});

test.each([
  ["a [b](c.md)", ["docs/c.md"]],
  ["[a](../README.md#b) ![c](d.png)", ["README.md", "docs/d.png"]],
  ["[here](#there)", ["docs/x.md"]],
  ["[a]: b.md", ["docs/b.md"]],
  ["[a](https://example.com)", []],
  ["`[a](b.md)`\n```md\n[a](b.md)\n```", []],
])("%j links to %j", (text, files) => {
  expect(linksOf("docs/x.md", text).map(({ file }) => file)).toEqual(files);
});

function documents(): string[] {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
    cwd: REPOSITORY,
    encoding: "utf8",
  });
  return listed.split("\n").filter((path) => path !== "" && existsSync(join(REPOSITORY, path)));
}

/** Compares with the anchors that Markdown renderers give to headings. */
function hasHeading(file: string, fragment: string): boolean {
  const headings = readFileSync(join(REPOSITORY, file), "utf8").matchAll(/^#+ (.*)$/gm);
  return Array.from(headings, ([, title = ""]) => anchorOf(title)).includes(fragment);
}

function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}
