/**
 * Tests that a file of the store is written and read in full, or the caller gets an error.
 */
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { storeFiles } from "./store-file.ts";

const directory = mkdtempSync(join(tmpdir(), "shoal-file-test-"));

afterAll(() => rmSync(directory, { recursive: true }));

test("pieces are written one after another, thousands of them and empty ones too", () => {
  const path = join(directory, "pieces");
  const file = storeFiles.create(path);
  const pieces = Array.from({ length: 5000 }, (_, index) => Buffer.alloc(index % 7, index & 255));
  file.write(3, pieces);
  expect(readFileSync(path).equals(Buffer.concat([Buffer.alloc(3), ...pieces]))).toBe(true);
  file.write(0, []);
  file.close();
  file.close();
});

test("a new file is for this user only, and takes nobody's place", () => {
  const path = join(directory, "new");
  storeFiles.create(path).close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(() => storeFiles.create(path)).toThrow(/EEXIST/);
});

test("reading beyond the end is told, reading within it is exact", () => {
  const path = join(directory, "short");
  const file = storeFiles.create(path);
  file.write(0, [Buffer.from("0123456789")]);
  const target = Buffer.alloc(4);
  expect(file.read(6, target)).toBe(true);
  expect(target.toString()).toBe("6789");
  expect(file.read(7, target)).toBe(false);
  file.truncate(0);
  expect(file.read(0, target)).toBe(false);
  file.close();
});

test("a file that is not there is undefined, and removing it is done already", () => {
  expect(storeFiles.openToRead(join(directory, "none"))).toBeUndefined();
  storeFiles.remove(join(directory, "none"));
});

test("what is free is known", () => {
  expect(storeFiles.freeBytes(directory)).toBeGreaterThan(0);
});
