/** Third-party software for the tests: the first run installs each package below `.test-cache/`, and later runs reuse it. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../house/source-files.ts";

const CACHE = join(REPOSITORY, ".test-cache");

/** The folder that the commands of `install` fill. The commands run only once. */
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
