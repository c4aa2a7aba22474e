/**
 * Measures the memory of the machine or container: total, used, and by process.
 *
 * Reads `/proc` and the memory controller of cgroups v2 and v1; on other systems every answer is `undefined`. Memory that the kernel can
 * take back at once (file cache) does not count as used. Called by the node daemon a few times a second: each answer costs a few small
 * reads.
 */
import { readdirSync, readFileSync } from "node:fs";

interface MachineMemory {
  usedBytes: number;
  totalBytes: number;
  /** Names the owner of that total: the machine, or the control group. */
  what: string;
}

interface ProcessMemory {
  pid: number;
  name: string;
  usedBytes: number;
}

/** Measures the memory of this machine; tests replace the machine. */
export interface MemoryProbe {
  machine(): MachineMemory | undefined;
  /** Memory that would be freed if this process ended: its own pages, without files and shared memory. */
  processBytes(pid: number): number | undefined;
  /** The largest processes of the machine, this user's or not. */
  largest(count: number): ProcessMemory[];
}

const CGROUP_ROOT = "/sys/fs/cgroup";
/** v1 reports a number near 2^63 without a limit. */
const UNLIMITED = 2 ** 60;

/** Makes a probe of this machine's memory and processes. @param root - folder with `/proc` and `/sys`, replaced in tests */
export function createMemoryProbe(root = ""): MemoryProbe {
  return {
    machine: () => tighter(hostMemory(root), cgroupMemory(root)),
    processBytes: (pid) => statusOf(root, pid)?.usedBytes,
    largest: (count) => largestProcesses(root, count),
  };
}

/** Memory that would be freed if this process ended, as in {@link MemoryProbe.processBytes}. */
export function ownMemoryBytes(): number | undefined {
  return statusOf("", process.pid)?.usedBytes;
}

/**
 * For tests of low memory: `SHOAL_TEST_MEMORY_BYTES` makes the node believe that its machine has that much, and that only its workers use
 * it.
 */
export function pretendedMemoryBytes(): number | undefined {
  const text = process.env["SHOAL_TEST_MEMORY_BYTES"];
  return text === undefined ? undefined : Number(text);
}

/** The one that is nearer to its end. */
function tighter(host: MachineMemory | undefined, group: MachineMemory | undefined): MachineMemory | undefined {
  if (host === undefined || group === undefined) return host ?? group;
  return group.usedBytes / group.totalBytes > host.usedBytes / host.totalBytes ? group : host;
}

function hostMemory(root: string): MachineMemory | undefined {
  const text = textOf(`${root}/proc/meminfo`);
  const totalBytes = kilobytes(text, "MemTotal");
  const availableBytes = kilobytes(text, "MemAvailable");
  if (totalBytes === undefined || availableBytes === undefined) return undefined;
  return { usedBytes: totalBytes - availableBytes, totalBytes, what: "the machine" };
}

function cgroupMemory(root: string): MachineMemory | undefined {
  const groups = textOf(`${root}/proc/self/cgroup`);
  const v2 = /^0::(.*)$/m.exec(groups)?.[1];
  const v1 = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1];
  let tightest: MachineMemory | undefined;
  const look = (path: string, names: { limit: string; used: string; cache: RegExp }): void => {
    // A limit of any group above applies, too; the root group of a container is the container's own.
    for (let group = path; ; group = group.slice(0, Math.max(0, group.lastIndexOf("/")))) {
      tightest = tighter(tightest, groupMemory(`${root}${CGROUP_ROOT}${group}`, names));
      if (group === "" || group === "/") return;
    }
  };
  if (v1 !== undefined)
    look(`/memory${v1}`, { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", cache: /^total_inactive_file (\d+)/m });
  if (v2 !== undefined) look(v2, { limit: "memory.max", used: "memory.current", cache: /^inactive_file (\d+)/m });
  return tightest;
}

function groupMemory(folder: string, names: { limit: string; used: string; cache: RegExp }): MachineMemory | undefined {
  const totalBytes = Number.parseInt(textOf(`${folder}/${names.limit}`), 10);
  const usedBytes = Number.parseInt(textOf(`${folder}/${names.used}`), 10);
  if (!(totalBytes > 0 && totalBytes < UNLIMITED) || !(usedBytes >= 0)) return undefined;
  const cacheBytes = Number(names.cache.exec(textOf(`${folder}/memory.stat`))?.[1] ?? 0);
  return { usedBytes: Math.max(0, usedBytes - cacheBytes), totalBytes, what: "the control group" };
}

function statusOf(root: string, pid: number): ProcessMemory | undefined {
  const text = textOf(`${root}/proc/${pid}/status`);
  const usedBytes = kilobytes(text, "RssAnon");
  return usedBytes === undefined ? undefined : { pid, name: /^Name:\s*(.*)$/m.exec(text)?.[1] ?? "", usedBytes };
}

function largestProcesses(root: string, count: number): ProcessMemory[] {
  let names: string[];
  try {
    names = readdirSync(`${root}/proc`);
  } catch {
    return [];
  }
  const processes = names.filter((name) => /^\d+$/.test(name)).map((name) => statusOf(root, Number(name)));
  return processes
    .filter((status) => status !== undefined)
    .sort((a, b) => b.usedBytes - a.usedBytes)
    .slice(0, count);
}

function kilobytes(text: string, name: string): number | undefined {
  const value = new RegExp(`^${name}:\\s*(\\d+) kB`, "m").exec(text)?.[1];
  return value === undefined ? undefined : Number(value) * 1024;
}

/** Empty where there is no such file: on another system, or for a process that has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
