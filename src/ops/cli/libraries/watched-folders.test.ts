import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WatchedFolders } from "./watched-folders.ts";

let folder = "";
let watched: WatchedFolders;
let noticed = Promise.withResolvers<void>();
const told: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "watched-folders-"));
  told.length = 0;
  noticed = Promise.withResolvers();
  watched = new WatchedFolders({ changed: () => noticed.resolve(), tell: (line) => told.push(line) });
});
afterEach(() => {
  watched[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

test("a folder that cannot be watched is told and does not count: it is watched once it is there", async () => {
  const later = join(folder, "later");
  expect(() => watched.addOrThrow(later)).toThrow("ENOENT");
  watched.add(later);
  expect(told).toEqual([expect.stringContaining(`shoal serve: changes in ${later} may not be seen: ENOENT`)]);
  mkdirSync(later);
  watched.add(later);
  writeFileSync(join(later, "a.ts"), "1");
  await noticed.promise;
  expect(told).toHaveLength(1);
});

test("a folder that lies in another one goes with that, and one whose name only begins alike does not", async () => {
  mkdirSync(join(folder, "app", "lib"), { recursive: true });
  mkdirSync(join(folder, "app2"));
  watched.add(join(folder, "app"));
  watched.add(join(folder, "app", "lib"));
  watched.add(join(folder, "app2"));
  writeFileSync(join(folder, "app2", "a.ts"), "1");
  await noticed.promise;
  expect(told).toEqual([]);
});
