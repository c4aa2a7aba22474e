/**
 * Reports changes in a folder, for programs that restart then. Installed, hidden, and Python's compiled files do not count.
 *
 * Every folder below gets a separate watch: Node's recursive watch on Linux watches files, and loses a file that an editor replaces by a
 * new one of the same name.
 */
import { asError } from "../../../base/texts/describe.ts";
import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join, sep } from "node:path";

const IGNORED = /^(node_modules|__pycache__|\..*)$/;
/** Editors write a file in several steps. */
const SETTLES_AFTER_MS = 30;

/** Errors of paths to skip: a file, a folder that disappeared, a link to itself, and folders that only others may read. */
const NO_FOLDER = ["ENOTDIR", "ENOENT", "ELOOP", "EACCES", "EPERM"];

/**
 * @param changed called once for each burst of changes, until the watch is disposed of
 * @param failed called if a later folder cannot be watched, such as at a system limit on watches
 * @throws if the path is no folder, or the system watches no more folders
 */
export function watchFolder(folder: string, changed: () => void, failed: (error: Error) => void): Disposable {
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  const follow = (path: string): void => {
    const watcher = watch(path, (event, name) => {
      if (name === null || IGNORED.test(name)) return;
      clearTimeout(timer);
      timer = setTimeout(changed, SETTLES_AFTER_MS);
      // A file or a folder of this name appeared or disappeared.
      if (event !== "rename") return;
      try {
        followAnew(join(path, name));
      } catch (error) {
        failed(asError(error));
      }
    });
    watcher.on("error", () => leave(path));
    watchers.set(path, watcher);
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory() && !IGNORED.test(entry.name)) followAnew(join(path, entry.name));
  };
  const followAnew = (path: string): void => {
    leave(path);
    try {
      readdirSync(path);
      follow(path);
    } catch (error) {
      // A system limit on watches is reported, as changes would be missed silently.
      if (!NO_FOLDER.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  };
  const leave = (path: string): void => {
    for (const [known, watcher] of watchers) {
      if (known !== path && !known.startsWith(path + sep)) continue;
      watcher.close();
      watchers.delete(known);
    }
  };
  try {
    follow(folder);
  } catch (error) {
    leave(folder);
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      leave(folder);
    },
  };
}
