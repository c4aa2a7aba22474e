/** Tests modes, whole files, and the refusal of secrets that others can read. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makePrivateFolder, OpenSecretError, readPrivateFile, writePrivateFile } from "./private-files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-private-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("files are of mode 0600 and folders of mode 0700, and nothing else is left", () => {
  const inner = join(folder, "a", "b");
  makePrivateFolder(inner);
  makePrivateFolder(inner);
  writePrivateFile(join(inner, "key"), "one");
  writePrivateFile(join(inner, "key"), "two");
  expect(statSync(inner).mode & 0o777).toBe(0o700);
  expect(statSync(join(inner, "key")).mode & 0o777).toBe(0o600);
  expect(readPrivateFile(join(inner, "key"))).toBe("two");
  expect(readdirSync(inner)).toEqual(["key"]);
});

test("what others may read is refused with a way out, what is not there is undefined", () => {
  const file = join(folder, "key");
  expect(readPrivateFile(file)).toBeUndefined();
  writePrivateFile(file, "secret");
  chmodSync(file, 0o640);
  expect(() => readPrivateFile(file)).toThrow(OpenSecretError);
  expect(() => readPrivateFile(file)).toThrow(/mode 640/);
  const open = join(folder, "open");
  mkdirSync(open);
  chmodSync(open, 0o755);
  expect(() => makePrivateFolder(open)).toThrow(OpenSecretError);
  expect(existsSync(open)).toBe(true);
});
