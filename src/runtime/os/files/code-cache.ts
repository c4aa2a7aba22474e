/**
 * Keeps V8's compiled code of modules from process to process (`$XDG_CACHE_HOME/shoal/code`, by default `~/.cache/shoal/code`).
 *
 * A worker that finds its modules compiled, and their types stripped, starts in half the processor time. Called first by the processes that
 * Shoal starts, never by a driver, whose process is its user's. The cache is code, so a folder that others can write to is not used.
 * `NODE_COMPILE_CACHE` overrides the folder, `NODE_DISABLE_COMPILE_CACHE` turns the cache off, and so does coverage. A cache that cannot be
 * written causes no failure.
 */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { homeFolder } from "../user.ts";

/** Our own modules take 1 MB for each version of Node; the rest belongs to imports of tasks and actors. */
const KEPT_MAX_BYTES = 128 * 1024 * 1024;

let isUsed = false;

export function codeCacheFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const caches = environment["XDG_CACHE_HOME"];
  return join(caches === undefined || caches === "" ? join(homeFolder(), ".cache") : caches, "shoal", "code");
}

/** From now on modules of this process are looked for there. */
export function useCodeCache(environment: Readonly<Record<string, string | undefined>> = process.env): void {
  if (environment["NODE_V8_COVERAGE"] !== undefined) return;
  try {
    const folder = codeCacheFolder(environment);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isOurs(folder)) return;
    const { status } = module.enableCompileCache(folder);
    isUsed = status === module.constants.compileCacheStatus.ENABLED;
  } catch {
    // Each process compiles for itself.
  }
}

/** Writes new entries, since SIGKILL, the end of most workers, writes none. Takes some microseconds if there are none. */
export function saveCodeCache(): void {
  if (isUsed) module.flushCompileCache();
}

/** Files of modules that are gone stay, so all are removed when they have become too many. */
export function pruneCodeCache(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  maxBytes: number = KEPT_MAX_BYTES,
): void {
  const folder = codeCacheFolder(environment);
  try {
    let bytes = 0;
    for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      bytes += statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0;
    }
    if (bytes > maxBytes) rmSync(folder, { recursive: true, force: true });
  } catch {
    // The file does not exist, or another process removes it at this moment.
  }
}

function isOurs(folder: string): boolean {
  if (process.getuid === undefined) return true;
  const { uid, mode } = statSync(folder);
  return uid === process.getuid() && (mode & 0o022) === 0;
}
