/**
 * Tells whether a path exists, for searches that try many paths.
 *
 * Any failure counts as absence: a text taken for a name may be too long, and a folder on the way may be closed or go in circles. The searches for code's files
 * call it: `module-files.ts`, `named-modules.ts`, `python-modules.ts`.
 */
import { type Stats, statSync } from "node:fs";

export function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
