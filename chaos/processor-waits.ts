/**
 * Measures how long the processes of a cluster stood still for want of a processor: Linux counts for each thread the time ready to run, but
 * not running. Also measures how long the whole machine stood still. That is the time taken by the hypervisor, and the time in which
 * processes waited for the disk or for memory, as one does whose code has left the page cache.
 *
 * Ten times a second the main threads of all daemons, workers and heads, and this one, are sampled. A few of them do the work of a limited
 * time, one after the other. So the machine took the sum of their waits between two samples, and never more than the time between the
 * samples. A kernel that does not count gives zero.
 */
import { readdirSync, readFileSync } from "node:fs";
import { nowMs } from "./clock.ts";
import { hasMark } from "./processes.ts";

const LOOK_EVERY_MS = 100;
/** The unit of `/proc/stat` on every machine that Node runs on. */
const TICK_MS = 10;
/** So often is a process looked at closely before it is taken for somebody else's: between fork and exec it has what its parent had. */
const CLOSE_LOOKS = 3;
/** Stands for this thread among process ids. */
export const DRIVER = 0;

export interface Look {
  readonly atMs: number;
  /** Since the machine began. */
  readonly stalledMs: number;
  /** Since the process began, by its id. */
  readonly waitedMs: ReadonlyMap<number, number>;
}

export class ProcessorWaits {
  readonly #looks: Look[] = [];
  readonly #mark: string;
  #ours = new Set<string>();
  /** How often each process did not look like one of the cluster's. */
  #others = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(mark: string) {
    this.#mark = mark;
    this.#look();
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  /** Returns the sum of the waits of these processes in a time. */
  of(pids: readonly number[], fromMs: number, toMs: number): number {
    return waitedBetween(this.#looks, pids, { fromMs, toMs });
  }

  /** Returns the sum of the waits of all processes in a time. */
  ofAll(fromMs: number, toMs: number): number {
    const pids = new Set(this.#looks.flatMap(({ atMs, waitedMs }) => (atMs >= fromMs ? Array.from(waitedMs.keys()) : [])));
    return waitedBetween(this.#looks, Array.from(pids), { fromMs, toMs });
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const waitedMs = new Map([[DRIVER, readWaitedMs("thread-self")]]);
    const [ours, others] = [new Set<string>(), new Map<string, number>()];
    for (const name of readdirSync("/proc")) {
      if (!(Number(name) > 0)) continue;
      const looks = this.#others.get(name) ?? 0;
      if (this.#ours.has(name) || (looks < CLOSE_LOOKS && hasMark(name, this.#mark))) {
        ours.add(name);
        waitedMs.set(Number(name), readWaitedMs(name));
      } else others.set(name, looks + 1);
    }
    this.#ours = ours;
    this.#others = others;
    this.#looks.push({ atMs: nowMs(), stalledMs: readStalledMs(), waitedMs });
  }
}

/** Pure: looks are in the order of their times. Between two of them somebody may have waited at any time, but for no longer than is asked about. */
export function waitedBetween(looks: readonly Look[], pids: readonly number[], { fromMs, toMs }: { fromMs: number; toMs: number }): number {
  let sumMs = 0;
  for (const [index, { atMs, stalledMs, waitedMs }] of looks.entries()) {
    const before = looks[index - 1];
    if (before === undefined || atMs <= fromMs) continue;
    if (before.atMs >= toMs) break;
    let allMs = stalledMs - before.stalledMs;
    for (const pid of pids) allMs += Math.max(0, (waitedMs.get(pid) ?? 0) - (before.waitedMs.get(pid) ?? 0));
    sumMs += Math.min(allMs, Math.min(atMs, toMs) - Math.max(before.atMs, fromMs));
  }
  return sumMs;
}

/** The second of the three numbers there, in nanoseconds. */
function readWaitedMs(process: string): number {
  // Nothing where it has ended, or this kernel does not count.
  const [, waitedNs = "0"] = readIfThere(`/proc/${process}/schedstat`).split(" ");
  return Number(waitedNs) / 1e6;
}

/**
 * Reads the time that the hypervisor took from all processors, and the time in which some process waited for the disk or for memory. 0
 * where this kernel does not count.
 */
function readStalledMs(): number {
  const stolen = /^cpu +(?:\d+ ){7}(\d+)/.exec(readIfThere("/proc/stat"))?.[1] ?? 0;
  const waitedUs = ["io", "memory"].map((name) => /^some .*total=(\d+)/.exec(readIfThere(`/proc/pressure/${name}`))?.[1] ?? 0);
  return Number(stolen) * TICK_MS + waitedUs.reduce((sum: number, us) => sum + Number(us), 0) / 1000;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
