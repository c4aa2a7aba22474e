/**
 * Reads the memory and the processor time of a process of this machine from the kernel's accounts. Linux only: elsewhere all figures are
 * NaN.
 */
import { readFileSync } from "node:fs";

/** The kernel counts processor time in these, on every machine that Node runs on. */
const TICKS_PER_SECOND = 100;

export interface ProcessWeight {
  readonly megabytes: number;
  readonly peakMegabytes: number;
  readonly cpuSeconds: number;
}

export function weigh(pid: number): ProcessWeight {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the name, which may hold anything: state is the third field, user and system time the 14th and 15th.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      megabytes: kilobytesOf(status, "VmRSS") / 1000,
      peakMegabytes: kilobytesOf(status, "VmHWM") / 1000,
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    };
  } catch {
    return { megabytes: Number.NaN, peakMegabytes: Number.NaN, cpuSeconds: Number.NaN };
  }
}

/** How many files and sockets a process may have open at once; undefined where the system does not tell. */
export function openFilesMax(pid: number): number | undefined {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"));
    return found === null ? undefined : Number(found[1]);
  } catch {
    return undefined;
  }
}

function kilobytesOf(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? Number.NaN);
}
