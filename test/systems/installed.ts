/** What others have written, for the tests with it: installed below `.test-cache/` by the first run, and kept. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../house/source-files.ts";

const CACHE = join(REPOSITORY, ".test-cache");

/** The folder of what `install` puts there, which it does once. */
export function installed(name: string, install: (folder: string) => readonly (readonly string[])[]): string {
  const folder = join(CACHE, name);
  const done = join(folder, "complete");
  if (existsSync(done)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [program, ...args] of install(folder)) execFileSync(program as string, args, { stdio: ["ignore", "ignore", "inherit"] });
  writeFileSync(done, "");
  return folder;
}
