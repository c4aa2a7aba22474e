/** Tells when something in a folder changes, for programs that start again then. What is installed, hidden, or compiled by Python does not count. */
import { watch } from "node:fs";

const IGNORED = /(^|[/\\])(node_modules|__pycache__|\.[^/\\]*)([/\\]|$)/;
/** Editors write a file in several steps. */
const SETTLES_AFTER_MS = 30;

/** @param changed called once for each burst of changes, until the watch is disposed of */
export function watchFolder(folder: string, changed: () => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, { recursive: true }, (_event, file) => {
    if (file === null || IGNORED.test(file)) return;
    clearTimeout(timer);
    timer = setTimeout(changed, SETTLES_AFTER_MS);
  });
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      watcher.close();
    },
  };
}
