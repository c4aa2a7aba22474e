/** Paths of the machine, for folders that know them only as text: made absolute, joined, and looked up. */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";

export function resolvePath(path: string): string {
  return resolve(path);
}

export function joinPath(...parts: string[]): string {
  return join(...parts);
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
