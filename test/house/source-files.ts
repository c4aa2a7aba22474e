/**
 * The files under `src` as the tests of the house rules see them: path, text, and what each imports.
 *
 * Imports are found by their form, not by a parser: the sources are formatted, so a statement that begins a line with `import` or
 * `export … from` is one, and text inside comments and strings does not begin a line that way.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export interface SourceFile {
  /** Relative to `src`, with forward slashes: `runtime/wire/value/encode.ts`. */
  path: string;
  text: string;
  imports: Import[];
}

export interface Import {
  /** As written: `../base/ids.ts`, `node:fs`, `acorn`. */
  specifier: string;
  /** The imported file relative to `src`; absent for packages and Node's modules. */
  target?: string;
  /** The exports that it uses, a default export aside; "all" for a namespace, a star and an `import()` that is kept whole. */
  names: readonly string[] | "all";
}

export const REPOSITORY: string = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const IMPORT_FORMS = [
  /^[ \t]*(?:import|export)\s+(?<clause>[^;"'`()]*?)\bfrom\s*["'](?<specifier>[^"']+)["']/gm,
  /^[ \t]*import\s*(?<clause>)["'](?<specifier>[^"']+)["']/gm,
  /(?:(?<clause>\{[^{}]*\})\s*=\s*\(?await\s+)?(?<![.\w])(?<call>import|require)\(\s*["'](?<specifier>[^"']+)["']\s*\)/g,
];

/** Every TypeScript file under `src`, sorted; tests are left out unless asked for. */
export function readSources(options: { tests: boolean } = { tests: false }): SourceFile[] {
  const folder = join(REPOSITORY, "src");
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && (options.tests || !entry.name.endsWith(".test.ts")))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => sourceFile(relative(folder, file).split(sep).join("/"), readFileSync(file, "utf8")))
    .sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** Folders with code that runs; packages that such a folder installs for itself do not count. */
const CODE_FOLDERS = ["src", "python", "scripts", "bench", "chaos", "conformance", "examples", "scale", "sim", "soak", "test"];
const CODE_NAME = /\.(ts|mts|mjs|cjs|js|py)$/;

/** All code of the repository, its tools and tests with it: paths relative to the repository. */
export function readCode(): Pick<SourceFile, "path" | "text">[] {
  return CODE_FOLDERS.flatMap((folder) =>
    readdirSync(join(REPOSITORY, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && CODE_NAME.test(entry.name) && !entry.parentPath.includes(`${sep}node_modules`))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => ({ path: relative(REPOSITORY, file).split(sep).join("/"), text: readFileSync(file, "utf8") })),
  );
}

export function sourceFile(path: string, text: string): SourceFile {
  const imports: Import[] = [];
  const code = withoutComments(text);
  for (const form of IMPORT_FORMS) {
    for (const match of code.matchAll(form)) {
      const { specifier = "", clause = "", call } = match.groups ?? {};
      const relativeTo = specifier.startsWith(".") ? { target: posix.join(posix.dirname(path), specifier) } : {};
      const names = call !== undefined && clause === "" ? "all" : usedNames(clause);
      imports.push({ specifier, ...relativeTo, names });
    }
  }
  return { path, text, imports };
}

/** `A` of `import { type A as B }` and of `const { A: B } = await import(…)`. */
function usedNames(clause: string): Import["names"] {
  return clause.includes("*") ? "all" : namesInBraces(clause).map((name) => name.replace(/^type\s+|(\s+as\s|:)[\s\S]*$/g, ""));
}

function namesInBraces(clause: string): string[] {
  return (/\{(?<names>[^}]*)\}/.exec(clause)?.groups?.["names"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** Comments that stand on lines of their own; those are the ones that could hold a line which looks like an import. */
function withoutComments(text: string): string {
  return text.replace(/^[ \t]*\/\*[\s\S]*?\*\//gm, "").replace(/^[ \t]*\/\/.*$/gm, "");
}
