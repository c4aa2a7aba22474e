/**
 * Paths of files that are known by their URLs: a URL escapes spaces, `#`, `?`, `%` and letters beyond ASCII, and a path does not.
 *
 * All such conversions go through here or through `node:url`. `test/house.test.ts` refuses the other ways: the path in a URL as it is escaped there, and a scheme put before a path.
 */
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** @throws TypeError for a URL that names no file of this machine */
export function pathOfFileUrl(url: URL | string): string {
  return fileURLToPath(url);
}

/** @param path relative to the working folder, or absolute */
export function fileUrlOf(path: string): string {
  return pathToFileURL(resolve(path)).href;
}
