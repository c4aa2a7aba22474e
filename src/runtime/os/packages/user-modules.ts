/**
 * Loads packages from the user's project: the program `shoal` runs code of a project, which has to meet the same copy of a library as the
 * program itself.
 *
 * A project without the package, as where `shoal` is installed for the whole machine, gets the one that this program belongs to.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** @param folder of the project */
export async function importFor(folder: string, specifier: string): Promise<unknown> {
  return await import(pathToFileURL(pathFor(folder, specifier)).href);
}

function pathFor(folder: string, specifier: string): string {
  try {
    return createRequire(join(folder, "index.js")).resolve(specifier);
  } catch {
    return createRequire(import.meta.url).resolve(specifier);
  }
}

/** Reads a text file of the user's, by a path from a folder. @throws errors of `readFileSync` */
export function readUserFile(folder: string, path: string): string {
  return readFileSync(resolve(folder, path), "utf8");
}
