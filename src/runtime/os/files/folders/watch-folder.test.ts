import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchFolder } from "./watch-folder.ts";

let folder = "";
let watched: Disposable;
let changes = 0;
let noticed = Promise.withResolvers<void>();
const failures: Error[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "watched-"));
  mkdirSync(join(folder, "lib"));
  mkdirSync(join(folder, "node_modules"));
  writeFileSync(join(folder, "lib", "a.ts"), "1");
  changes = 0;
  failures.length = 0;
  const changed = (): void => {
    changes += 1;
    noticed.resolve();
  };
  watched = watchFolder(folder, changed, (error) => failures.push(error));
});
afterEach(() => {
  watched[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Resolves when the change is reported. */
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

test("a link to itself is no folder, and what follows is told", async () => {
  await after(() => symlinkSync("x", join(folder, "x")));
  await after(() => replace("2"));
  expect(failures).toEqual([]);
});

test("a later folder that cannot be watched is told as a failure, and what follows is told as well", async () => {
  // With the next name a path is longer than the system takes.
  const parent = join(folder, ...Array.from({ length: 15 }, () => "d".repeat(255)));
  await after(() => mkdirSync(parent, { recursive: true }));
  const name = "f".repeat(255);
  try {
    await after(() => execFileSync("mkdir", [name], { cwd: parent }));
    expect(failures).toEqual([expect.objectContaining({ code: "ENAMETOOLONG" })]);
    await after(() => replace("2"));
  } finally {
    execFileSync("rmdir", [name], { cwd: parent });
  }
});

test("a folder that is none cannot be watched", () => {
  expect(() =>
    watchFolder(
      join(folder, "none"),
      () => {},
      () => {},
    ),
  ).toThrow("ENOENT");
});
