/** Where compiled modules are kept, and that they do not become too many. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { codeCacheFolder, pruneCodeCache } from "./code-cache.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-code-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("the folder is that of the user's caches", () => {
  expect(codeCacheFolder({ XDG_CACHE_HOME: "/caches" })).toBe("/caches/shoal/code");
  expect(codeCacheFolder({ XDG_CACHE_HOME: "" })).toBe(join(homedir(), ".cache", "shoal", "code"));
});

test("all of it is removed when it is more than is kept, and nothing before", () => {
  const environment = { XDG_CACHE_HOME: folder };
  pruneCodeCache(environment);
  const version = join(codeCacheFolder(environment), "v24");
  mkdirSync(version, { recursive: true });
  for (const name of ["a", "b"]) writeFileSync(join(version, name), new Uint8Array(100_000));
  pruneCodeCache(environment, 1_000_000);
  expect(existsSync(join(version, "b"))).toBe(true);
  pruneCodeCache(environment, 150_000);
  expect(existsSync(version)).toBe(false);
});
