/**
 * Whether a path is there, for searches that try many paths.
 *
 * Any failure to look means that nothing is there: a text that was taken for a name may be too long for one, and a folder on the way may be closed or go in circles.
 * Called by those who search the files of code: `module-files.ts`, `named-modules.ts`, `python-modules.ts`.
 */
import { type Stats, statSync } from "node:fs";

export function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
