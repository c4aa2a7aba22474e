/**
 * The files of a project that code of TypeScript and JavaScript is made of: modules that it imports by name, and all that these import of the project, at any depth.
 *
 * Decides by the text of imports, without running them: what begins with a dot or a slash counts, packages do not. Text in comments and strings may name a module too many, which only makes a
 * version that need not be. Called when an application is built: the digest of these files is part of the version of a deployment, as replicas load them anew.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { VERSIONED_FILES_MAX } from "../limits.ts";
import { digestOfFiles } from "./file-digest.ts";

/** `from "./a.ts"`, `import "./a.ts"`, `import("./a.ts")`, `require("./a")`. */
const SPECIFIERS = /\b(?:from|import|require)\s*\(?\s*["'`](\.{0,2}\/[^"'`\n]+)["'`]/gu;
const ENDINGS = ["", ".ts", ".js", ".mts", ".mjs", ".cts", ".cjs", ".tsx", ".jsx", ".json"];
const PACKAGES = /[\\/]node_modules[\\/]/u;

/** A digest of files and of all that they import; empty where none is there. Paths count from the first, so a folder may move. */
export function digestOfModules(files: readonly string[]): string {
  const found = modulesOf(files).toSorted();
  return digestOfFiles(found, found[0]);
}

/** @internal */
export function modulesOf(files: readonly string[]): string[] {
  const found = new Set<string>();
  const add = (path: string): void => {
    const file = fileAt(path);
    if (file !== undefined && !PACKAGES.test(file)) found.add(file);
  };
  for (const file of files) add(file);
  for (const file of found) {
    if (found.size >= VERSIONED_FILES_MAX) break;
    for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(SPECIFIERS))
      add(resolve(dirname(file), specifier.replace(/[?#].*$/u, "")));
  }
  return [...found];
}

/** The file of a path as an import names it: without its ending, by its folder, or with the ending that a compiler gives it. */
function fileAt(path: string): string | undefined {
  const source = path.replace(/\.([mc]?)js(x?)$/u, ".$1ts$2");
  const places = [path, source, join(path, "index")].flatMap((place) => ENDINGS.map((ending) => place + ending));
  return places.find((place) => statSync(place, { throwIfNoEntry: false })?.isFile() === true);
}
