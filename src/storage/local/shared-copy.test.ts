import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { processIdentity } from "../../core/internal.ts";
import { closeSharedCopy, openSharedCopy } from "./shared-copy.ts";

const before = process.env["TMPDIR"];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shared-copy-"));
  process.env["TMPDIR"] = folder;
});
afterEach(() => {
  if (before === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = before;
  rmSync(folder, { recursive: true });
});

let fetched = 0;
const fetch = async (to: string): Promise<void> => {
  fetched += 1;
  mkdirSync(to);
  writeFileSync(join(to, "weights"), String(fetched));
};
const DEAD = processIdentity().replace(/^\d+/, String(2 ** 22));

test("those that use a copy at the same time have one, and the last one removes it", async () => {
  fetched = 0;
  const [first, second, other] = await Promise.all([
    openSharedCopy({ key: "a", fetch }),
    openSharedCopy({ key: "a", fetch }),
    openSharedCopy({ key: "b", fetch }),
  ]);
  expect(fetched).toBe(2);
  expect(second.path).toBe(first.path);
  expect(other.path).not.toBe(first.path);
  await closeSharedCopy(first);
  await closeSharedCopy(first);
  expect(existsSync(join(second.path, "weights"))).toBe(true);
  await closeSharedCopy(second);
  expect(existsSync(second.path)).toBe(false);
  await closeSharedCopy(other);
  expect(readdirSync(folder)).toEqual([]);
});

test("a fetch that fails leaves nothing, and the next one tries again", async () => {
  const fails = async (to: string): Promise<void> => {
    await fetch(to);
    throw new Error("no network");
  };
  await expect(openSharedCopy({ key: "a", fetch: fails })).rejects.toThrow("no network");
  expect(readdirSync(folder)).toEqual([]);
  const copy = await openSharedCopy({ key: "a", fetch });
  await closeSharedCopy(copy);
});

test("processes that have died hold neither a copy nor a lock", async () => {
  const left = await openSharedCopy({ key: "a", fetch });
  writeFileSync(left.user, DEAD);
  const place = left.path.slice(0, -".copy".length);
  writeFileSync(`${place}.lock`, DEAD);
  const again = await openSharedCopy({ key: "a", fetch });
  expect(again.path).toBe(left.path);
  writeFileSync(again.user, DEAD);
  mkdirSync(`${place}0.partial`);
  const other = await openSharedCopy({ key: "b", fetch });
  expect([existsSync(left.path), existsSync(`${place}0.partial`)]).toEqual([false, false]);
  await closeSharedCopy(other);
  expect(readdirSync(folder)).toEqual([]);
});

test("only users of copies are closed", async () => {
  await expect(closeSharedCopy({ user: "/etc/passwd" })).rejects.toThrow("no user of one");
});
