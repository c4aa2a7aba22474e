/**
 * Installs the pools of npm into a folder that git ignores, once. The folder's name has the versions, and its marker file is written last, so that an
 * interrupted installation is begun again. Called by `against-pools.ts`.
 */
import { execFile } from "node:child_process";
import { access, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const VERSIONS = { piscina: "5.3.2", tinypool: "2.2.0", workerpool: "10.0.3" };

/** @returns the folder in which the packages are installed */
export async function preparePools(repositoryRoot: string, say: (line: string) => void): Promise<string> {
  const packages = Object.entries(VERSIONS).map(([name, version]) => `${name}@${version}`);
  const cache = join(repositoryRoot, ".bench-cache");
  const folder = join(cache, `pools-${packages.join("-")}`);
  const marker = join(folder, "complete");
  const isComplete = await access(marker).then(
    () => true,
    () => false,
  );
  if (isComplete) return folder;
  say(`Installing ${packages.join(", ")} (once) ...`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(join(cache, ".gitignore"), "*\n");
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: VERSIONS }));
  try {
    // Piscina's optional native part sets priorities of threads, which nothing here asks for.
    await promisify(execFile)("npm", ["install", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"], { cwd: folder });
  } catch (cause) {
    throw new Error(`Cannot measure beside the pools of npm: installing ${packages.join(", ")} failed: is the registry in reach?`, {
      cause,
    });
  }
  await writeFile(marker, "");
  return folder;
}
