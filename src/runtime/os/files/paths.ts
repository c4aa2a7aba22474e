/** Paths of the machine, for folders that know them only as text: made absolute, joined, and looked up. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { homeFolder } from "../user.ts";

/** The file that `require(specifier)` of a program in the working directory loads, where there is one. */
export function resolveModule(specifier: string): string | undefined {
  try {
    return createRequire(resolve("package.json")).resolve(specifier);
  } catch {
    return undefined;
  }
}

export function resolvePath(path: string): string {
  return resolve(path);
}

/** Makes a path of a user's file absolute: `~/` is the home, and others are relative to the folder of `file`. */
export function userPath(path: string, file: string): string {
  return path.startsWith("~/") ? join(homeFolder(), path.slice(2)) : resolve(dirname(file), path);
}

/** Resolves links on the way; returns a path that does not exist unchanged. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

export function joinPath(...parts: string[]): string {
  return join(...parts);
}

/** @throws RangeError for a file that cannot be read */
export function readTextFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new RangeError(`Cannot read ${path}: ${(error as Error).message}. Name a file that you may read.`, { cause: error });
  }
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

export function isSocket(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isSocket() === true;
}

/**
 * Returns a value that one folder has and no other of this machine since its start: processes that find the same value at a path see the
 * same folder, in any namespaces.
 *
 * @returns undefined where there is no such folder, or the system does not tell when it was started
 */
export function folderIdentity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}:${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
