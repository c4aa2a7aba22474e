/** Lines are read once each, also across renames of the log. */
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LogFollower } from "./log-follower.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-log-"));
  file = join(folder, "log");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("whole lines that came after it began, each once", () => {
  writeFileSync(file, "old\n");
  const follower = new LogFollower(file);
  expect(follower.read()).toEqual([]);
  appendFileSync(file, "one\r\ntwo\nth");
  expect(follower.read()).toEqual(["one", "two"]);
  appendFileSync(file, "ree\n");
  expect(follower.read()).toEqual(["three"]);
  expect(follower.read()).toEqual([]);
});

test("a file that comes later, is renamed, or is begun anew", () => {
  const follower = new LogFollower(file);
  expect(follower.read()).toEqual([]);
  writeFileSync(file, "first\n");
  expect(follower.read()).toEqual(["first"]);
  renameSync(file, `${file}.1`);
  writeFileSync(file, "second, which is longer\n");
  expect(follower.read()).toEqual(["second, which is longer"]);
  writeFileSync(file, "short\n");
  expect(follower.read()).toEqual(["short"]);
});
