/**
 * Tells whether the process that left a record in a file still runs, on the machine where it ran.
 *
 * A number of a process is used again, so its start belongs to it; machines and containers number apart. Used by records of owners and users of folders.
 */
import { readFileSync, readlinkSync } from "node:fs";

export interface ProcessIdentity {
  /** Tells machines and containers of one name apart. */
  readonly system: string;
  readonly pid: number;
  /** Tells processes of one id apart. */
  readonly started: string;
}

export function thisProcess(): ProcessIdentity {
  return processHere(process.pid);
}

/** A process of this machine. */
export function processHere(pid: number): ProcessIdentity {
  return { system: `${readText("/proc/sys/kernel/random/boot_id")} ${namespaceOfPids()}`, pid, started: startOf(pid) ?? "" };
}

/** Undefined for a process of another machine, or of another container. */
export function runsHere({ system, pid, started }: ProcessIdentity): boolean | undefined {
  return system === thisProcess().system ? startOf(pid) === started : undefined;
}

/** When a process began, in the kernel's own units; undefined for a process that is no more. Where the kernel does not tell, that there is one. */
function startOf(pid: number): string | undefined {
  const line = readText(`/proc/${pid}/stat`);
  // The name of the program, in brackets, may have spaces and brackets. Behind it the start is the 20th field, the state the first: a zombie has ended.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  if (line !== "") return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  try {
    process.kill(pid, 0);
    return process.platform === "linux" ? undefined : "";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "" : undefined;
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

function namespaceOfPids(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}
