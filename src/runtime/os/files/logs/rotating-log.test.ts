/** Tests that lines keep their order over several files, and that the oldest file is dropped. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RotatingLog } from "./rotating-log.ts";

const AT = new Date(0);
let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-log-test-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("beyond its size it is renamed, and the oldest goes", () => {
  const file = join(folder, "head.log");
  const log = new RotatingLog(file, { sizeBytesMax: 60 });
  for (let number = 0; number < 14; number += 1) log.write(`line ${number}`, AT);
  expect(readdirSync(folder).toSorted()).toEqual(["head.log", "head.log.1", "head.log.2", "head.log.3", "head.log.4"]);
  expect(readFileSync(file, "utf8")).toBe("1970-01-01T00:00:00.000Z line 13\n");
  expect(readFileSync(`${file}.4`, "utf8")).toContain("line 9\n");
});

test("one that is opened again goes on where it was", () => {
  const file = join(folder, "head.log");
  new RotatingLog(file, { sizeBytesMax: 60 }).write("before", AT);
  new RotatingLog(file, { sizeBytesMax: 60 }).write("after", AT);
  expect(readdirSync(folder).toSorted()).toEqual(["head.log", "head.log.1"]);
});

test("a folder that is gone disturbs nobody", () => {
  const log = new RotatingLog(join(folder, "gone", "head.log"));
  expect(() => log.write("lost", AT)).not.toThrow();
});
