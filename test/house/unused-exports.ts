/**
 * Finds exports that no other file imports. Pure, so that the rule is tested on made-up trees.
 *
 * knip finds most of them, but takes a type for used where an exported function of the same file mentions it.
 */
import type { SourceFile } from "./source-files.ts";

const EXPORT = /^export (?:declare )?(?:async )?(?:abstract )?(?:const|let|function\*?|class|interface|type|enum) (?<name>[\w$]+)/gm;
/** As knip has it: an export with this tag is used in a way that no import shows. */
const PUBLIC_TAG = /@public\b(?:(?!\*\/)[\s\S])*\*\/\n$/;

/** Returns a line for each export of `files` that none of `users` imports, `files` among them. */
export function unusedExports(files: readonly SourceFile[], users: readonly SourceFile[]): string[] {
  const used = new Set<string>();
  for (const { target, names } of users.flatMap(({ imports }) => imports)) {
    for (const name of names === "all" ? ["*"] : names) used.add(`${target} ${name}`);
  }
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(EXPORT)]
      .filter(({ index }) => !PUBLIC_TAG.test(text.slice(0, index)))
      .map((match) => match.groups?.["name"] ?? "")
      .filter((name) => !used.has(`${path} *`) && !used.has(`${path} ${name}`))
      .map((name) => `${path}: no other file imports ${name}; take away \`export\``),
  );
}
