/**
 * The modules that code of TypeScript and JavaScript is made of: those that it imports by name, and all that these import of the project, at any depth.
 *
 * Decides by the text of imports, without running them: sources of the project and of linked packages count by their text, installed packages that they import by name and version
 * (`named-modules.ts`). Text in comments and strings may name a module too many, which only makes a version that need not be. Called when an application is built: the digest
 * is part of the version of a deployment, as replicas load the modules anew.
 */
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type ComparableCapture, driverCodePath, localCodePath } from "../../core/internal.ts";
import { VERSIONED_FILES_MAX } from "../limits.ts";
import { digestsOf, type FileDigest } from "./file-digest.ts";
import { statIfThere } from "./file-stat.ts";
import { NamedModules } from "./named-modules.ts";

/** `from "./a.ts"`, `import "a"`, `import("./a.ts")`, `require("#a")`. Names have no spaces, paths may. */
const SPECIFIERS = /\b(?:from|(?:import|require)\s*\(?)\s*["'`](\.{0,2}\/[^"'`\n]+|[^"'`\s]+)["'`]/gu;
const ENDINGS = ["", ".ts", ".js", ".mts", ".mjs", ".cts", ".cjs", ".tsx", ".jsx", ".json"];

/** Modules that code imports itself. */
type ImportedModules = Pick<ComparableCapture, "files" | "named">;

/** A digest of modules and of all that they import; empty where none is there. The order of imports counts and paths do not, so folders and the targets of links may move. */
export function digestOfModules(imported: ImportedModules): { readonly digest: string; readonly files: readonly FileDigest[] } {
  const { files, packages } = modulesOf(imported);
  const found = digestsOf(files);
  const digest = [...found.map(([, ofFile]) => ofFile), ...packages.toSorted()].join(" ");
  return { digest, files: found.map(([file, ofFile]) => [driverCodePath(file), ofFile]) };
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
  for (const file of files) add(localCodePath(file));
  for (const { specifier, from } of named) addNamed(specifier, localCodePath(from));
  for (const file of found) {
    if (found.size >= VERSIONED_FILES_MAX) break;
    for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(SPECIFIERS))
      if (/^\.{0,2}\//u.test(specifier)) add(resolve(dirname(file), specifier.replace(/[?#].*$/u, "")));
      else addNamed(specifier, file);
  }
  return { files: [...found], packages: [...packages] };
}

/** The file of a path as an import names it: without its ending, by its folder, or with the ending that a compiler gives it. Where it really lies, as Node resolves its imports from there. */
function fileAt(path: string): string | undefined {
  const source = path.replace(/\.([mc]?)js(x?)$/u, ".$1ts$2");
  const places = [path, source, join(path, "index")].flatMap((place) => ENDINGS.map((ending) => place + ending));
  const found = places.find((place) => statIfThere(place)?.isFile() === true);
  return found && realpathSync(found);
}
