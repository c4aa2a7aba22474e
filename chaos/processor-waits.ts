/**
 * How long the processes of a cluster stood still for want of a processor, as Linux counts it for each thread: ready to run, and not running. And how long the whole machine did:
 * what its hypervisor took from its processors, and what processes waited for the disk or for memory, as one whose code has fallen out of the page cache does.
 *
 * Ten times a second the main threads of all daemons, workers and heads, and this one, are asked. What has to be done within a time is done by a few of them, one after the other,
 * so what they all waited between two looks, and never more than the time between the looks, is what the machine took from it. A kernel that does not count gives zero.
 */
import { readdirSync, readFileSync } from "node:fs";
import { nowMs } from "./clock.ts";
import { hasMark } from "./processes.ts";

const LOOK_EVERY_MS = 100;
/** The unit of `/proc/stat` on every machine that Node runs on. */
const TICK_MS = 10;
/** So often is a process looked at closely before it is taken for somebody else's: between fork and exec it has what its parent had. */
const CLOSE_LOOKS = 3;
/** This thread, among process ids. */
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
  /** Of each process that did not look like the cluster's, how often. */
  #others = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(mark: string) {
    this.#mark = mark;
    this.#look();
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  /** What these waited in that time, all in all. */
  of(pids: readonly number[], fromMs: number, toMs: number): number {
    return waitedBetween(this.#looks, pids, { fromMs, toMs });
  }

  /** What all of them waited. */
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

/** What the hypervisor took from all processors, and the time in which some process waited for the disk or for memory; 0 where this kernel does not count. */
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
