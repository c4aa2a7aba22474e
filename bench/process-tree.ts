/**
 * Finds and weighs every process that a measured program has brought about, from the kernel's own accounts (/proc).
 * A process belongs to the program when it carries the program's mark in its environment, which daemons inherit also
 * when they leave the process group, or when it descends from one that does.
 * Called by `child.ts` to clean up and by the figures of the idle runtime. Linux only: elsewhere it finds nothing.
 */
import { readdir, readFile, statfs } from "node:fs/promises";

interface TreeWeight {
  readonly processesCount: number;
  /** Proportional set sizes without shared memory: a page shared by n processes counts 1/n in each. */
  readonly privateMegabytes: number;
  /** Shared memory in the processes' maps, as a proportional size. */
  readonly mappedSharedMegabytes: number;
}

export async function markedProcesses(mark: string): Promise<number[]> {
  const parents = new Map<number, number>();
  const marked = new Set<number>();
  for (const entry of await readdir("/proc").catch(() => [])) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    // The command name may hold spaces and parentheses; the fields after its last ")" are plain: state, parent, ...
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === undefined || parent === undefined || state === "Z") continue;
    parents.set(pid, Number(parent));
    const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
    if (environment.split("\0").includes(mark)) marked.add(pid);
  }
  const belongs = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at)) {
      if (marked.has(at)) return true;
    }
    return false;
  };
  return [...parents.keys()].filter(belongs);
}

export async function weighProcesses(pids: readonly number[]): Promise<TreeWeight> {
  let processesCount = 0;
  let privateKilobytes = 0;
  let sharedKilobytes = 0;
  for (const pid of pids) {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
    const pssKilobytes = kilobytesOf(rollup, "Pss");
    if (pssKilobytes === 0) continue;
    const shmemKilobytes = kilobytesOf(rollup, "Pss_Shmem");
    processesCount++;
    privateKilobytes += pssKilobytes - shmemKilobytes;
    sharedKilobytes += shmemKilobytes;
  }
  return {
    processesCount,
    privateMegabytes: (privateKilobytes * 1024) / 1e6,
    mappedSharedMegabytes: (sharedKilobytes * 1024) / 1e6,
  };
}

/** Processor time so far of these processes, their threads that have ended aside, and of this one; 0 where the system does not tell. */
export async function processorMicroseconds(pids: readonly number[]): Promise<number> {
  const times = await Promise.all([process.pid, ...pids].map(threadsMicroseconds));
  return times.reduce((sum, time) => sum + time, 0);
}

async function threadsMicroseconds(pid: number): Promise<number> {
  let sum = 0;
  for (const thread of await readdir(`/proc/${pid}/task`).catch(() => [])) {
    // Nanoseconds on a processor, then waiting for one: to the microsecond, where /proc/PID/stat counts hundredths of a second.
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8").catch(() => "0");
    sum += Number.parseInt(text, 10) / 1000;
  }
  return sum;
}

/** The kernel's unit of processor time, in ticks a second: the same on all of Linux. */
const TICKS_PER_SECOND = 100;

/**
 * Returns the processor time so far of each of these processes, without their children's. A caller that samples keeps the last value of a
 * process that ends: a parent that does not wait for its children, as Ray does not, has no account of their time.
 */
export async function processorSeconds(pids: readonly number[]): Promise<Map<number, number>> {
  const seconds = new Map<number, number>();
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
    if (stat === undefined) continue;
    // After the name: state is field 3, utime and stime are fields 14 and 15.
    const [user, system] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 13);
    seconds.set(pid, (Number(user) + Number(system)) / TICKS_PER_SECOND);
  }
  return seconds;
}

/** Memory in use by files of the shared-memory file system, whoever made them. */
export async function sharedMemoryInUseMegabytes(): Promise<number> {
  const status = await statfs("/dev/shm");
  return ((status.blocks - status.bfree) * status.bsize) / 1e6;
}

function kilobytesOf(rollup: string, field: string): number {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(rollup);
  return match?.[1] === undefined ? 0 : Number(match[1]);
}
