/** Tests how the system's files about memory are read: with control groups of either version, and without. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createMemoryProbe } from "./memory-usage.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "test-shoal-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function hostOf(totalKilobytes: number, availableKilobytes: number): void {
  write("proc/meminfo", `MemTotal:  ${totalKilobytes} kB\nMemFree:  1 kB\nMemAvailable:  ${availableKilobytes} kB\n`);
}

test("nothing is known where there is no /proc", () => {
  const probe = createMemoryProbe(root);
  expect([probe.machine(), probe.processBytes(1), probe.largest(3)]).toEqual([undefined, undefined, []]);
});

test("a machine's memory is what is not available", () => {
  hostOf(1000, 400);
  expect(createMemoryProbe(root).machine()).toEqual({ usedBytes: 600 * 1024, totalBytes: 1000 * 1024, what: "the machine" });
});

test("a control group of version 2 counts when it is nearer to its limit, without its file cache, and so does a group above it", () => {
  hostOf(1000, 900);
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  write("sys/fs/cgroup/a/b/memory.current", "5000\n");
  write("sys/fs/cgroup/a/memory.max", "10000\n");
  write("sys/fs/cgroup/a/memory.current", "9000\n");
  write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 2000\nactive_file 3\n");
  expect(createMemoryProbe(root).machine()).toEqual({ usedBytes: 7000, totalBytes: 10_000, what: "the control group" });
  hostOf(1000, 1);
  expect(createMemoryProbe(root).machine()?.what).toBe("the machine");
});

test("a control group of version 1 as well; one without a limit says nothing", () => {
  hostOf(1000, 900);
  write("proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/docker/c\n");
  write("sys/fs/cgroup/memory/docker/c/memory.limit_in_bytes", "20000\n");
  write("sys/fs/cgroup/memory/docker/c/memory.usage_in_bytes", "15000\n");
  write("sys/fs/cgroup/memory/docker/c/memory.stat", "cache 1\ntotal_inactive_file 1000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100\n");
  expect(createMemoryProbe(root).machine()).toEqual({ usedBytes: 14_000, totalBytes: 20_000, what: "the control group" });
});

test("a process' memory is its own pages, and the largest come first", () => {
  for (const [pid, kilobytes] of [
    [5, 10],
    [6, 30],
    [7, 20],
  ]) {
    write(`proc/${pid}/status`, `Name:\tp${pid}\nVmRSS:\t 999 kB\nRssAnon:\t ${kilobytes} kB\nRssShmem:\t 500 kB\n`);
  }
  write("proc/8/status", "Name:\tkthread\n");
  const probe = createMemoryProbe(root);
  expect(probe.processBytes(6)).toBe(30 * 1024);
  expect(probe.largest(2)).toEqual([
    { pid: 6, name: "p6", usedBytes: 30 * 1024 },
    { pid: 7, name: "p7", usedBytes: 20 * 1024 },
  ]);
});
