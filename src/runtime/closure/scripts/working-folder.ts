/** The working directory, also where it has been removed: a task may have changed into a temporary folder and left the process there. */
import path from "node:path";

/** Without a working directory any folder serves, since all paths beside it are absolute. */
let last = path.parse(process.execPath).root;

/** Returns the working directory, or the last one that existed when somebody asked. */
export function workingFolder(): string {
  try {
    last = process.cwd();
  } catch {
    // The folder was removed.
  }
  return last;
}
