/**
 * Holds the rules of the house that a machine can check: headers, names and words of the files under `src`.
 *
 * CONTRIBUTING.md gives the reasons. A message names the file and what it should be instead.
 */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { readCode, readSources, REPOSITORY, sourceFile } from "./house/source-files.ts";
import { SUBPATHS } from "./house/subpaths.ts";
import { unusedExports } from "./house/unused-exports.ts";

/** A small file may say it in one line; a longer one has more to tell than that. */
const SMALL_FILE_LINES_MAX = 80;
const HEADER_LINES_MIN = 3;
const VAGUE_NAMES = /^(utils?|helpers?|common|misc)$/;
/** Named after the public subpath, whose name is that of Ray's. */
const UTIL = /^util\//;
const FILE_NAME = /^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.ts$/;
const WORDS_OF_UNFINISHED_CODE = /\b(TODO|FIXME|XXX|HACK|not implemented|placeholder)\b/i;

/** Calls of Vitest, Jest and Node's runner that replace modules. */
const MODULE_MOCKS = /\b(vi|jest)\.(mock|doMock)\(|\bmock\.module\(/;

/** Files whose exports need no importer: their names are tested, or a transform keeps them. */
const EXPORTS_FOR_THEMSELVES = /\.test\.ts$|\.d\.mts$|^test\/(types|closures\/matrix)\//;

/** URLs that name no files. */
const PATHNAMES_OF_OTHER_URLS: Readonly<Record<string, string>> = {
  "src/serve/proxy/fronts/request-headers.ts": "the target of a request",
  "src/serve/proxy/fronts/request-headers.test.ts": "the same",
  "test/house.test.ts": "the rule itself",
  "test/closures/matrix/values.ts": "a URL of the web that travels",
  "src/serve/replica/http/node-handler.ts": "the target of a request of HTTP",
  "test/integration/serve-http.test.ts": "paths of requests of HTTP",
  "test/integration/serve-websockets.test.ts": "paths of requests of HTTP",
  "src/serve/llm/openai/openai-ingress.ts": "the URL of a request",
  "examples/serve-chat.ts": "the URL of a request",
};

test("every file begins with a header that says what it decides", () => {
  const breaches = readSources()
    .map(({ path, text }) => ({
      path,
      found: headerLines(text),
      wanted: text.split("\n").length > SMALL_FILE_LINES_MAX ? HEADER_LINES_MIN : 1,
    }))
    .filter(({ found, wanted }) => found < wanted)
    .map(({ path, found, wanted }) => `src/${path}: its header has ${found} lines of text; it needs ${wanted} to 10`);
  expect(breaches).toEqual([]);
});

test("files are named in kebab-case, and none after nothing in particular", () => {
  const breaches = readSources({ tests: true })
    .filter(({ path }) => {
      const folders = path.replace(UTIL, "").split("/").slice(0, -1);
      const stem = basename(path).replace(/(\.test)?\.ts$/, "");
      return !FILE_NAME.test(basename(path)) || [...folders, stem].some((name) => VAGUE_NAMES.test(name));
    })
    .map(({ path }) => `src/${path}`);
  expect(breaches).toEqual([]);
});

test("no comment promises to finish something later", () => {
  const breaches = readSources({ tests: true }).flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => (WORDS_OF_UNFINISHED_CODE.test(line) ? [`src/${path}:${index + 1}: ${line.trim()}`] : [])),
  );
  expect(breaches).toEqual([]);
});

test("no test replaces a module: modules take their parts as parameters", () => {
  const breaches = readCode().flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => (MODULE_MOCKS.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
  expect(breaches).toEqual([]);
});

test("every file that ARCHITECTURE.md and docs/internals name is there", () => {
  const files = globSync(
    "{src,dashboard,test,python,sim,chaos,soak,scale,conformance,scripts,docs,native,bench}/**/*.{ts,tsx,mjs,py,c,md}",
    {
      cwd: REPOSITORY,
    },
  );
  const pages = ["ARCHITECTURE.md", ...globSync("docs/internals/*.md", { cwd: REPOSITORY })];
  const missing = pages.flatMap((page) =>
    Array.from(readFileSync(join(REPOSITORY, page), "utf8").matchAll(/`([\w./-]+\.(?:ts|mjs|py|c))`/g), ([, path = ""]) => path)
      .filter((path) => !files.some((file) => file === path || file.endsWith(`/${path}`)))
      .map((path) => `${page}: there is no ${path}`),
  );
  expect(pages.length).toBeGreaterThan(10);
  expect(missing).toEqual([]);
});

/** The files at which users, processes and tools begin. */
function entryFiles(): Set<string> {
  const { entry } = JSON.parse(readFileSync(join(REPOSITORY, "knip.json"), "utf8")) as { entry: string[] };
  return new Set([...SUBPATHS.map(({ source }) => source), ...entry.flatMap((pattern) => globSync(pattern, { cwd: REPOSITORY }))]);
}

test("no export is one that only its own file uses", () => {
  const code = readCode()
    .filter(({ path }) => !path.endsWith(".py"))
    .map(({ path, text }) => sourceFile(path, text));
  const entries = entryFiles();
  const checked = code.filter(({ path }) => !entries.has(path) && !EXPORTS_FOR_THEMSELVES.test(path));
  expect(checked.length).toBeGreaterThan(0);
  expect(unusedExports(checked, code)).toEqual([]);
});

test("no file of src is there for its tests alone", () => {
  const sources = readSources();
  const used = new Set([...entryFiles(), ...sources.flatMap(({ imports }) => imports.map(({ target }) => `src/${target}`))]);
  expect(sources.length).toBeGreaterThan(0);
  expect(sources.map(({ path }) => `src/${path}`).filter((path) => !used.has(path))).toEqual([]);
});

test("everything that core/internal.ts lends to libraries says what it promises", () => {
  const sources = new Map(readSources().map((file) => [file.path, file]));
  const door = sources.get("core/internal.ts");
  const lent =
    door?.imports.flatMap(({ target, names }) => (names === "all" ? [] : names.map((name) => ({ target: target ?? "", name })))) ?? [];
  expect(lent.length).toBeGreaterThan(0);
  const silent = lent.filter(({ target, name }) => {
    const text = sources.get(target)?.text ?? "";
    return !new RegExp(String.raw`\*/\nexport (async |abstract )?(function|class|const|let|interface|type) ${name}\b`).test(text);
  });
  expect(silent.map(({ target, name }) => `src/${target}: ${name} has no comment that says what it promises`)).toEqual([]);
});

test("an export counts as used by any form of import, and by nothing else", () => {
  const files = [
    sourceFile(
      "src/runtime/rpc/link.ts",
      [
        "export interface LinkOptions {}",
        "export class Link { constructor(_options: LinkOptions) {} }",
        "export async function openLink(): Promise<void> {}",
        "export type Other = LinkOptions;",
        "/** @public A class that travels by its name. */",
        "export class Traveller {}",
        "// export const comment = 1;",
      ].join("\n"),
    ),
    sourceFile("src/runtime/rpc/all.ts", "export const one = 1;"),
    sourceFile("src/runtime/rpc/late.ts", "export const two = 2;"),
    sourceFile("src/runtime/rpc/later.ts", "export const four = 4;\nexport const five = 5;"),
    sourceFile("src/runtime/rpc/effect.ts", "export const three = 3;"),
  ];
  const user = sourceFile(
    "src/core/user.ts",
    [
      'import { type Link as Line } from "../runtime/rpc/link.ts";',
      'export type { Other } from "../runtime/rpc/link.ts";',
      'import * as all from "../runtime/rpc/all.ts";',
      'import "../runtime/rpc/effect.ts";',
      'const late = import("../runtime/rpc/late.ts");',
      'const { four: fourth } = await import("../runtime/rpc/later.ts");',
    ].join("\n"),
  );
  expect(unusedExports(files, [...files, user])).toEqual([
    "src/runtime/rpc/link.ts: no other file imports LinkOptions; take away `export`",
    "src/runtime/rpc/link.ts: no other file imports openLink; take away `export`",
    "src/runtime/rpc/later.ts: no other file imports five; take away `export`",
    "src/runtime/rpc/effect.ts: no other file imports three; take away `export`",
  ]);
});

test("paths become URLs, and URLs paths, by pathToFileURL and fileURLToPath alone", () => {
  const breaches = readCode()
    .filter(({ path }) => PATHNAMES_OF_OTHER_URLS[path] === undefined)
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) => (escapesByHand(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );
  expect(breaches).toEqual([]);
});

test("one file decides where temporary files and sockets lie", () => {
  const breaches = readSources()
    .filter(({ path, text }) => path !== "runtime/os/files/sessions/temporary-folder.ts" && /\btmpdir\b|["']\/tmp\b|\bTMPDIR"\]/.test(text))
    .map(({ path }) => `src/${path}: use temporaryRoot or socketRoot of runtime/os/files/sessions/temporary-folder.ts`);
  expect(breaches).toEqual([]);
});

test.each([
  ["new URL('x.ts', import.meta.url).pathname", true],
  ["const { pathname } = url;", true],
  ["import(`file://${path}`)", true],
  ["import('file://' + path)", true],
  ['url = "file://%s" % path', true],
  ['url = f"file:///{path}"', true],
  ["import(`${base}?v=1`)", false],
  ['new URL("file:///some%20where/x.py")', false],
])("the rule about URLs takes %s for %s", (line, isBreach) => {
  expect(escapesByHand(line)).toBe(isBreach);
});

/** `pathname` keeps the escapes of a URL, and text put behind `file://` is not escaped. */
function escapesByHand(line: string): boolean {
  return /\bpathname\b/.test(line) || /file:\/\/[^"'`\s]*(\$\{|\{\w|%s|["'`]\s*(\+|%|\.\w))/.test(line);
}

/** Lines with text in the comment that begins the file. */
function headerLines(text: string): number {
  // The first line of a program names its interpreter.
  const rest = text.replace(/^#!.*\n/, "");
  const block = /^\/\*\*?([\s\S]*?)\*\//.exec(rest)?.[1] ?? /^(\/\/.*\n)+/.exec(rest)?.[0] ?? "";
  return block.split("\n").filter((line) => /\w/.test(line)).length;
}
