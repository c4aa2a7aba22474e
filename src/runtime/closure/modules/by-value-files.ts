/**
 * Files whose exports must not be imported by a worker, because importing them would run the program again.
 *
 * Decides by reference or by value, per file: the program's main file, a test file under Vitest, and every file that `init()` was
 * called from are by value. Owns the set that `init()` adds to. Called by `capture`.
 */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { CODE_URL } from "../../os/own-files.ts";
import { tryRead } from "../values/known-values.ts";
import { testFile } from "../scripts/vite-modules.ts";

const markedFiles = new Set<string>();

/** @param file - absolute path or `file:` URL of a file that starts the program, such as a file on the stack of `init()` */
export function markByValueFile(file: string): void {
  markedFiles.add(realPath(file.startsWith("file:") ? fileURLToPath(file) : file));
}

const realPaths = new Map<string, string>();

function realPath(file: string): string {
  let real = realPaths.get(file);
  if (real === undefined) {
    real = tryRead(() => fs.realpathSync(file)) ?? file;
    realPaths.set(file, real);
  }
  return real;
}

/** `process.argv[1]`: the user's file, or the tool that runs it. */
export function mainFile(): string | null {
  const argument = process.argv[1];
  return argument ? realPath(path.resolve(argument)) : null;
}

export function isByValueFile(file: string): boolean {
  const real = realPath(file);
  if (markedFiles.has(real) || real === mainFile()) return true;
  const test = testFile();
  return test !== undefined && realPath(test) === real;
}

const RUNTIME_FOLDER = realPath(path.resolve(fileURLToPath(CODE_URL)));

/** Whether a file is part of this runtime: its state is never shipped by value. */
export function isRuntimeFile(file: string): boolean {
  const real = realPath(file);
  return real.startsWith(RUNTIME_FOLDER + path.sep) && !isByValueFile(file);
}
