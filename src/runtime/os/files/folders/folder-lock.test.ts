/** Tests the holder of a folder's lock after deaths and simultaneous attempts. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { processIdentity } from "../../processes/process-identity.ts";
import { lockFolder } from "./folder-lock.ts";

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "shoal-lock-")), "locked");
});
afterEach(() => {
  rmSync(join(folder, ".."), { recursive: true });
});

const what = "a head";
const dead = `${2 ** 22 + 1} 1 ${processIdentity().split(" ").slice(2).join(" ")}\n`;
const elsewhere = "1 1 another-machine pid:[1]\n";

test("a second one is refused until the first releases it", async () => {
  const lock = await lockFolder(folder, what);
  await expect(lockFolder(folder, what)).rejects.toMatchObject({ code: "FOLDER_LOCKED", details: { pid: process.pid } });
  lock.release();
  lock.release();
  (await lockFolder(folder, what)).release();
});

test("of many at one moment one holds it", async () => {
  const tries = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder, what)));
  expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

test("the lock of a process that died is taken over, and its file removed", async () => {
  const first = await lockFolder(folder, what);
  first.release();
  writeFileSync(join(folder, "lock.7"), dead);
  await lockFolder(folder, what);
  expect(readdirSync(folder)).toEqual(["lock.8"]);
  expect(readFileSync(join(folder, "lock.8"), "utf8")).toBe(`${processIdentity()}\n`);
});

test("one of another machine counts while it is touched, and no longer", async () => {
  (await lockFolder(folder, what)).release();
  const file = join(folder, "lock.7");
  writeFileSync(file, elsewhere);
  const touching = setInterval(() => utimesSync(file, new Date(), new Date()), 20);
  await expect(lockFolder(folder, what, { watchMs: 10_000 })).rejects.toThrow(
    /^Cannot start a head: a process of another machine or container runs one/,
  );
  clearInterval(touching);
  await lockFolder(folder, what, { watchMs: 60 });
  expect(readdirSync(folder)).toEqual(["lock.8"]);
});

test("a number that comes too late is given up", async () => {
  (await lockFolder(folder, what)).release();
  // A process that has read number 1 would take number 2, and number 3 has been taken since.
  writeFileSync(join(folder, "lock.3"), `${processIdentity()}\n`);
  await expect(lockFolder(folder, what)).rejects.toMatchObject({ code: "FOLDER_LOCKED" });
  expect(readdirSync(folder)).not.toContain("lock.2");
});
