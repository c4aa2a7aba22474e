/**
 * One digest of the files that code is made of.
 *
 * Paths count from the first file, so a folder may move. The languages find the files (`module-files.ts`, `python-modules.ts`); their digest is part of the version of a deployment.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, relative } from "node:path";

/** @param first - a file that the others lie around; undefined where there is none, which gives an empty digest */
export function digestOfFiles(files: readonly string[], first: string | undefined): string {
  if (first === undefined) return "";
  const hash = createHash("sha256");
  for (const file of files.toSorted())
    hash
      .update(relative(dirname(first), file))
      .update("\0")
      .update(readFileSync(file))
      .update("\0");
  return hash.digest("hex");
}
