/**
 * What V8 makes of modules, kept from process to process (`$XDG_CACHE_HOME/shoal/code`, by default `~/.cache/shoal/code`).
 *
 * Decides where, and whether: a worker that finds its modules compiled, and their types stripped, starts in half the processor time. Called first by the processes that
 * Shoal starts, never by a driver, whose process is its user's. What is kept is code, so a folder that others can write to is not used; whoever sets
 * `NODE_COMPILE_CACHE` has that one, `NODE_DISABLE_COMPILE_CACHE` has none, and there is none where coverage is measured. Nothing fails where nothing can be kept.
 */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { homeFolder } from "../user.ts";

/** Our own modules take 1 MB for each version of Node; the rest is what tasks and actors import. */
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

/** Keeps what is new: an end by SIGKILL, as most workers have, keeps nothing. Some microseconds where nothing is. */
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
    // There is none, or another process removes it at this moment.
  }
}

function isOurs(folder: string): boolean {
  if (process.getuid === undefined) return true;
  const { uid, mode } = statSync(folder);
  return uid === process.getuid() && (mode & 0o022) === 0;
}
