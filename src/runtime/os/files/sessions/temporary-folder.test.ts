/** Tests the places of temporary files and sockets when the system's temporary folder serves for neither. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { socketRoot, temporaryRoot } from "./temporary-folder.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "test-shoal-temporary-"));
});
afterEach(() => rmSync(root, { recursive: true }));

test("a folder that can be written, or made, is taken as it is", () => {
  expect([temporaryRoot(root), socketRoot(root)]).toEqual([root, root]);
  const missing = join(root, "not", "there");
  expect(temporaryRoot(missing)).toBe(missing);
});

test("sockets lie elsewhere when their paths would be too long, in bytes; files stay", () => {
  const room = 107 - Buffer.byteLength("/shoal-0123456789ab/w9999999-fork");
  const fits = join(root, "a".repeat(room - Buffer.byteLength(root) - 1));
  expect(socketRoot(fits)).toBe(fits);
  for (const long of [`${fits}a`, join(root, "ü".repeat(30)), join(root, "a".repeat(200), "b".repeat(200))]) {
    mkdirSync(long, { recursive: true });
    expect(temporaryRoot(long)).toBe(long);
    expect(socketRoot(long)).toBe("/tmp");
  }
});

test("nothing lies where nothing can be written", () => {
  const file = join(root, "file");
  writeFileSync(file, "");
  const closed = join(root, "closed");
  mkdirSync(closed);
  chmodSync(closed, 0o500);
  // For root, modes close nothing; a file is no folder for anybody.
  for (const folder of process.getuid?.() === 0 ? [file, join(file, "below")] : [file, join(file, "below"), closed]) {
    expect([temporaryRoot(folder), socketRoot(temporaryRoot(folder))]).toEqual(["/tmp", "/tmp"]);
  }
});
