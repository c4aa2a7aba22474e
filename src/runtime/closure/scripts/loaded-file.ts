/** Finds the file behind a loader's name for a module: a path, perhaps with a query at its end (`?namespace=...`, `?t=...`). */
import fs from "node:fs";
import { pathToFileURL } from "node:url";

/** Returns the path in such a name: a question mark begins the query, unless it is part of a file's name. */
export function loadedFile(name: string): string {
  return !name.includes("?") || fs.existsSync(name) ? name : (name.split("?")[0] as string);
}

export function loadedUrl(name: string): string {
  const file = loadedFile(name);
  return pathToFileURL(file).href + name.slice(file.length);
}
