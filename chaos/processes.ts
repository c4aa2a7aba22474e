/**
 * The processes of a chaos run's cluster, by what each of them has in its environment: also those whose parents are dead. Linux, by /proc.
 */
import { readdirSync, readFileSync } from "node:fs";

type Kind = "daemon" | "worker" | "head" | "other";

interface ClusterProcess {
  readonly pid: number;
  readonly parent: number;
  readonly kind: Kind;
}

/** @param mark a variable that only the processes of this run have, as `name=value` */
export function clusterProcesses(mark: string): ClusterProcess[] {
  const found: ClusterProcess[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!(pid > 0) || !hasMark(name, mark)) continue;
    const status = read(`/proc/${name}/status`);
    // The one that has ended is nobody's leftover: its parent has not looked yet.
    if (/^State:\s*Z/m.test(status)) continue;
    const line = read(`/proc/${name}/cmdline`);
    const kind = /entry\/(daemon|worker|head)\.[jt]s|^shoal (daemon|worker|head)/.exec(line);
    found.push({
      pid,
      parent: Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]),
      kind: ((kind?.[1] ?? kind?.[2]) as Kind | undefined) ?? "other",
    });
  }
  return found;
}

/** Whether a process of that number is one of the run's, other than this one. */
export function hasMark(name: string, mark: string): boolean {
  return Number(name) !== process.pid && read(`/proc/${name}/environ`).split("\0").includes(mark);
}

/** @returns false where it has ended by itself */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // The process ended between the listing and the reading.
    return "";
  }
}
