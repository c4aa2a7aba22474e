/**
 * Tells when something in a folder changes, for programs that start again then. What is installed, hidden, or compiled by Python does not count.
 *
 * Each folder below is watched by itself: the recursive watch of Node on Linux watches files, and loses a file that an editor replaces by another of its name.
 */
import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join, sep } from "node:path";

const IGNORED = /^(node_modules|__pycache__|\..*)$/;
/** Editors write a file in several steps. */
const SETTLES_AFTER_MS = 30;

/**
 * @param changed called once for each burst of changes, until the watch is disposed of
 * @throws where the folder is none
 */
export function watchFolder(folder: string, changed: () => void): Disposable {
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  const follow = (path: string): void => {
    const watcher = watch(path, (event, name) => {
      if (name === null || IGNORED.test(name)) return;
      clearTimeout(timer);
      timer = setTimeout(changed, SETTLES_AFTER_MS);
      // Something came or went under this name, which may be a folder.
      if (event === "rename") followAnew(join(path, name));
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
    } catch {
      // A file, or gone.
    }
  };
  const leave = (path: string): void => {
    for (const [known, watcher] of watchers) {
      if (known !== path && !known.startsWith(path + sep)) continue;
      watcher.close();
      watchers.delete(known);
    }
  };
  follow(folder);
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      leave(folder);
    },
  };
}
