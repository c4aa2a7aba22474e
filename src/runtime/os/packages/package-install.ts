/**
 * Installs npm packages into a folder that later sessions find again: once per lockfile, Node version and platform.
 *
 * A new install is made beside its final place and moved there in one step, so that an unfinished one is never used, and two simultaneous
 * installs do not disturb each other. The user's own npm and its configuration are used; npm's output is kept for the error.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sha256Hex } from "../digest.ts";
import { INSTALL_OUTPUT_LINES_MAX, OUTPUT_CHARACTERS_MAX } from "../limits.ts";
import { homeFolder } from "../user.ts";

interface PackageInstallOptions {
  /** A folder with package.json and package-lock.json, or the packages themselves. */
  readonly from: string | readonly string[];
  readonly cacheFolder: string;
  readonly timeoutMs: number;
}

/** A failed install, with npm's output. */
export class PackageInstallError extends Error {
  readonly output: readonly string[];
  constructor(message: string, output: readonly string[]) {
    super(message);
    this.output = output;
  }
}

const COMPLETE = "complete";
/** Number of kept installs; the least recently used is dropped first. */
const KEPT_MAX = 20;

/** Where installs are kept between sessions: in the user's folder for caches. */
export function packageCacheFolder(environment: Readonly<Record<string, string | undefined>>): string {
  return join(environment["XDG_CACHE_HOME"] ?? join(homeFolder(), ".cache"), "shoal", "packages");
}

/** @returns the folder that holds `node_modules` */
export async function installPackages({ from, cacheFolder, timeoutMs }: PackageInstallOptions): Promise<string> {
  const project = typeof from === "string" ? await readProject(from) : projectOf(from);
  const platform = `${process.platform}-${process.arch}-${process.versions.modules}`;
  const folder = join(cacheFolder, sha256Hex(JSON.stringify([platform, project.manifest, project.lockfile])).slice(0, 32));
  if (existsSync(join(folder, COMPLETE))) {
    const now = new Date();
    await utimes(join(folder, COMPLETE), now, now);
    return folder;
  }
  const fresh = `${folder}.${process.pid}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  try {
    await writeFile(join(fresh, "package.json"), project.manifest);
    if (project.lockfile !== undefined) await writeFile(join(fresh, "package-lock.json"), project.lockfile);
    const command = project.lockfile === undefined ? "install" : "ci";
    await npm([command, "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"], fresh, timeoutMs);
    await writeFile(join(fresh, COMPLETE), "");
    await rename(fresh, folder).catch((error: NodeJS.ErrnoException) => {
      // A parallel install was faster, and is as good.
      if (!existsSync(join(folder, COMPLETE))) throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  await prune(cacheFolder, folder);
  return folder;
}

async function readProject(folder: string): Promise<{ manifest: string; lockfile: string }> {
  const { name: _, scripts: __, ...manifest } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
  return { manifest: JSON.stringify(manifest), lockfile: await readFile(join(folder, "package-lock.json"), "utf8") };
}

function projectOf(packages: readonly string[]): { manifest: string; lockfile: undefined } {
  const dependencies = packages.map((given) => {
    const at = given.indexOf("@", 1);
    return at < 0 ? [given, "*"] : [given.slice(0, at), given.slice(at + 1)];
  });
  return { manifest: JSON.stringify({ private: true, dependencies: Object.fromEntries(dependencies) }), lockfile: undefined };
}

function npm(args: readonly string[], folder: string, timeoutMs: number): Promise<void> {
  const besideNode = join(dirname(process.execPath), "npm");
  const program = existsSync(besideNode) ? besideNode : "npm";
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], timeout: timeoutMs, killSignal: "SIGKILL" });
    let text = "";
    const read = (chunk: Buffer): void => {
      text = (text + chunk.toString()).slice(0, OUTPUT_CHARACTERS_MAX);
    };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", read);
    const fail = (reason: string): void =>
      reject(new PackageInstallError(reason, text.trim().split("\n").slice(0, INSTALL_OUTPUT_LINES_MAX)));
    child.on("error", (error) => fail(`npm could not be started: ${error.message}; install npm, or start Shoal where it is in PATH`));
    child.on("close", (code, signal) => {
      if (code === 0) resolve();
      else if (signal === "SIGKILL") fail(`npm ${args[0]} was not done after ${timeoutMs / 1000} s`);
      else fail(`npm ${args[0]} ended with code ${code}`);
    });
  });
}

async function prune(cacheFolder: string, keep: string): Promise<void> {
  const installs: { path: string; usedMs: number }[] = [];
  for (const name of await readdir(cacheFolder)) {
    const path = join(cacheFolder, name);
    const used = await stat(join(path, COMPLETE)).catch(() => undefined);
    if (used !== undefined && path !== keep) installs.push({ path, usedMs: used.mtimeMs });
  }
  installs.sort((a, b) => b.usedMs - a.usedMs);
  for (const { path } of installs.slice(KEPT_MAX - 1)) await rm(path, { recursive: true, force: true });
}
