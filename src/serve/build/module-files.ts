/**
 * The modules that code of TypeScript and JavaScript is made of: those that it imports by name, and all that these import of the project, at any depth.
 *
 * Decides by the text of imports, without running them: sources of the project and of linked packages count by their text, installed packages that they import by name and version
 * (`named-modules.ts`). Text in comments and strings may name a module too many, which only makes a version that need not be. Called when an application is built: the digest
 * is part of the version of a deployment, as replicas load the modules anew.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { ComparableCapture } from "../../core/internal.ts";
import { VERSIONED_FILES_MAX } from "../limits.ts";
import { digestOfFiles, digestsOf, type FileDigest } from "./file-digest.ts";
import { NamedModules } from "./named-modules.ts";

/** `from "./a.ts"`, `import "a"`, `import("./a.ts")`, `require("#a")`. */
const SPECIFIERS = /\b(?:from|import|require)\s*\(?\s*["'`]([^"'`\s]+)["'`]/gu;
const ENDINGS = ["", ".ts", ".js", ".mts", ".mjs", ".cts", ".cjs", ".tsx", ".jsx", ".json"];

/** Modules that code imports itself. */
type ImportedModules = Pick<ComparableCapture, "files" | "named">;

/** A digest of modules and of all that they import; empty where none is there. Paths count from the first, so a folder may move. */
export function digestOfModules(imported: ImportedModules): { readonly digest: string; readonly files: readonly FileDigest[] } {
  const { files, packages } = modulesOf(imported);
  const found = digestsOf(files.toSorted());
  return { digest: [digestOfFiles(found, found[0]?.[0]), ...packages.toSorted()].join(" ").trim(), files: found };
}

/** @internal the sources, and the installed packages as `name@version` */
export function modulesOf({ files, named }: ImportedModules): { files: string[]; packages: string[] } {
  const found = new Set<string>();
  const packages = new Set<string>();
  const modules = new NamedModules();
  const add = (path: string): void => {
    const file = fileAt(path);
    if (file === undefined) return;
    const installed = modules.installedWith(file);
    if (installed === undefined) found.add(file);
    else packages.add(installed);
  };
  const addNamed = (specifier: string, from: string): void => {
    const sources = modules.sourcesOf(specifier, from);
    for (const path of sources.paths) add(path);
    for (const installed of sources.packages) packages.add(installed);
  };
  for (const file of files) add(file);
  for (const { specifier, from } of named) addNamed(specifier, from);
  for (const file of found) {
    if (found.size >= VERSIONED_FILES_MAX) break;
    for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(SPECIFIERS))
      if (/^\.{0,2}\//u.test(specifier)) add(resolve(dirname(file), specifier.replace(/[?#].*$/u, "")));
      else addNamed(specifier, file);
  }
  return { files: [...found], packages: [...packages] };
}

/** The file of a path as an import names it: without its ending, by its folder, or with the ending that a compiler gives it. */
function fileAt(path: string): string | undefined {
  const source = path.replace(/\.([mc]?)js(x?)$/u, ".$1ts$2");
  const places = [path, source, join(path, "index")].flatMap((place) => ENDINGS.map((ending) => place + ending));
  return places.find((place) => statSync(place, { throwIfNoEntry: false })?.isFile() === true);
}
