/**
 * Only folders whose processes are certainly all dead are swept.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimDirectory, memoryRoot, sweepStaleSessions } from "./session-sweep.ts";

let root = "";

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "shoal-sweep-test-"));
});

afterEach(() => rmSync(root, { recursive: true }));

function session(name: string, claims: string[] | undefined): string {
  const directory = join(root, name);
  mkdirSync(directory);
  writeFileSync(join(directory, "arena"), "x");
  if (claims !== undefined) writeFileSync(join(directory, "owner"), claims.map((claim) => `${claim}\n`).join(""));
  return directory;
}

/** Returns this process's claim as a list of fields. */
function ownClaim(): string[] {
  const directory = session("claim", undefined);
  claimDirectory(directory);
  const claim = readFileSync(join(directory, "owner"), "utf8").trim().split(" ");
  rmSync(directory, { recursive: true });
  return claim;
}

function changed(claim: string[], at: number, value: string): string {
  return claim.with(at, value).join(" ");
}

/** A number that was just used by a process that ended. */
function deadPid(): string {
  return String(spawnSync(process.execPath, ["--version"]).pid);
}

describe("sweepStaleSessions", () => {
  test("removes folders of dead processes, in memory and on disk, and no others", () => {
    const claim = ownClaim();
    const dead = changed(claim, 0, deadPid());
    const alive = claim.join(" ");
    const stale = [
      session("shoal-000000000001", [dead]),
      session("shoal-spill-000000000002", [dead, dead]),
      session("shoal-rank-aB3456", [dead]),
      session("shoal-000000000003", [changed(claim, 2, "another-boot")]),
      ...(process.platform === "linux" ? [session("shoal-000000000004", [changed(claim, 1, "12345")])] : []),
    ];
    const kept = [
      session("shoal-00000000000a", [alive]),
      session("shoal-00000000000b", [dead, alive]),
      session("shoal-00000000000c", [dead, "junk"]),
      session("shoal-00000000000d", []),
      session("shoal-00000000000e", undefined),
      session("shoal-other", [dead]),
      session("my-shoal-000000000001", [dead]),
      ...(process.platform === "linux"
        ? [session("shoal-00000000000f", [changed(claim, 0, deadPid()).replace(/pid:\S+/, "pid:[1]")])]
        : []),
    ];
    expect(sweepStaleSessions([root, root]).toSorted()).toEqual(stale.toSorted());
    expect(stale.filter((directory) => existsSync(directory))).toEqual([]);
    expect(kept.filter((directory) => !existsSync(directory))).toEqual([]);
  });

  test("does not follow links, and survives a root that is not there", () => {
    const target = session("elsewhere", [changed(ownClaim(), 0, deadPid())]);
    symlinkSync(target, join(root, "shoal-000000000001"));
    expect(sweepStaleSessions([root, join(root, "none")])).toEqual([]);
    expect(existsSync(join(target, "arena"))).toBe(true);
  });

  test("an old empty folder that nobody claims goes", () => {
    const directory = join(root, "shoal-000000000001");
    mkdirSync(directory);
    sweepStaleSessions([root]);
    expect(existsSync(directory)).toBe(true);
    utimesSync(directory, 1, 1);
    sweepStaleSessions([root]);
    expect(existsSync(directory)).toBe(false);
  });
});

test("shared memory has a folder", () => {
  expect(existsSync(memoryRoot())).toBe(true);
});
