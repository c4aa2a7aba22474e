import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchFolder } from "./watch-folder.ts";

let folder = "";
let watched: Disposable;
let changes = 0;
let noticed = Promise.withResolvers<void>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "watched-"));
  mkdirSync(join(folder, "lib"));
  mkdirSync(join(folder, "node_modules"));
  writeFileSync(join(folder, "lib", "a.ts"), "1");
  changes = 0;
  watched = watchFolder(folder, () => {
    changes += 1;
    noticed.resolve();
  });
});
afterEach(() => {
  watched[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Resolves when the change is told. */
async function after(change: () => void): Promise<void> {
  noticed = Promise.withResolvers();
  change();
  await noticed.promise;
}

/** Saves as editors do that never leave half a file: a new file is renamed over the old one. */
function replace(text: string): void {
  writeFileSync(join(folder, ".new"), text);
  renameSync(join(folder, ".new"), join(folder, "lib", "a.ts"));
}

test("a file that is replaced again and again is told each time", async () => {
  for (const text of ["2", "3", "4"]) await after(() => replace(text));
  await after(() => writeFileSync(join(folder, "lib", "a.ts"), "5"));
});

test("folders that come, go, and come again are watched", async () => {
  await after(() => mkdirSync(join(folder, "more", "deep"), { recursive: true }));
  await after(() => writeFileSync(join(folder, "more", "deep", "b.ts"), "1"));
  await after(() => rmSync(join(folder, "more"), { recursive: true }));
  await after(() => mkdirSync(join(folder, "more", "deep"), { recursive: true }));
  await after(() => writeFileSync(join(folder, "more", "deep", "b.ts"), "2"));
});

test("what is installed or hidden does not count, and a burst is told once", async () => {
  writeFileSync(join(folder, "node_modules", "x.js"), "1");
  writeFileSync(join(folder, ".env"), "1");
  await after(() => {
    for (const text of ["2", "3", "4"]) replace(text);
  });
  expect(changes).toBe(1);
});
