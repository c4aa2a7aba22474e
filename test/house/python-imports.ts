/**
 * Finds the imports between the modules of `python/shoal`, wherever in a file they are: an import inside a function only hides a circle.
 *
 * Found by the form of a line, as in `source-files.ts`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ImportGraph } from "./circles.ts";
import { REPOSITORY } from "./source-files.ts";

const IMPORT_FORMS = [
  /^[ \t]*from (?:\.|shoal\.)(?<module>\w+) import /gm,
  /^[ \t]*from (?:\.|shoal) import (?<names>\([^)]*\)|.*)/gm,
  /^[ \t]*import shoal\.(?<module>\w+)/gm,
];

/** The modules of the package, by their names, with the modules that each imports. */
export function readPythonImports(): ImportGraph {
  const folder = join(REPOSITORY, "python", "shoal");
  const files = readdirSync(folder).filter((name) => name.endsWith(".py"));
  return pythonImports(new Map(files.map((name) => [name.slice(0, -".py".length), readFileSync(join(folder, name), "utf8")])));
}

export function pythonImports(texts: ReadonlyMap<string, string>): ImportGraph {
  return new Map(Array.from(texts, ([module, text]) => [module, importsOf(text, texts)]));
}

function importsOf(text: string, known: ReadonlyMap<string, unknown>): string[] {
  const found = IMPORT_FORMS.flatMap((form) =>
    Array.from(text.matchAll(form)).flatMap(({ groups }) =>
      groups?.["module"] === undefined ? namesIn(groups?.["names"] ?? "") : groups["module"],
    ),
  );
  // A name that is no module is defined by `__init__`.
  return found.map((name) => (known.has(name) ? name : "__init__"));
}

function namesIn(list: string): string[] {
  return list
    .replace(/#.*$/gm, "")
    .replace(/[()]/g, "")
    .split(",")
    .map((name) => name.trim().replace(/ as \w+$/, ""))
    .filter((name) => name !== "");
}
