/**
 * Tells a process from any other that ever has its number: the identity of a process is one line, which files keep for as long as they belong to the process.
 *
 * An identity is `pid start boot namespace`. A number is used again, after a restart of the machine even with the same start, and
 * containers number apart. Claims on folders of sessions, records of nodes and clusters, and records of the libraries' owners consist of
 * identities. Every doubtful case counts as a process that runs.
 */
import { readFileSync, readlinkSync } from "node:fs";

/** Stands for a part that the system does not tell. */
const UNKNOWN = "-";

/** The identity of a process of this machine that runs. */
export function processIdentity(pid: number = process.pid): string {
  return [pid, startOf(pid) ?? UNKNOWN, bootId(), pidNamespace()].join(" ");
}

/** Whether the process of an identity that was written on this machine has ended. */
export function isProcessGone(identity: string): boolean {
  const parts = partsOf(identity);
  if (parts === undefined) return false;
  if (parts.boot !== bootId()) return true;
  return parts.namespace === pidNamespace() && hasEnded(parts);
}

/** Whether the process of an identity still runs; undefined for an identity of another machine or container. */
export function runsHere(identity: string): boolean | undefined {
  const parts = partsOf(identity);
  if (parts === undefined || parts.boot !== bootId() || parts.namespace !== pidNamespace()) return undefined;
  return !hasEnded(parts);
}

interface Parts {
  readonly pid: number;
  readonly start: string;
  readonly boot: string;
  readonly namespace: string;
}

/** Undefined for a line that is no identity. */
function partsOf(identity: string): Parts | undefined {
  const [pidText, start, boot, namespace] = identity.split(" ");
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0 || start === undefined || boot === undefined || namespace === undefined) return undefined;
  return { pid, start, boot, namespace };
}

function hasEnded({ pid, start }: Parts): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: a process of another user has the number now, and its start time tells them apart.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return true;
  }
  const startNow = startOf(pid);
  return start !== UNKNOWN && startNow !== undefined && startNow !== start;
}

/** When a process began, in ticks since the machine did; a zombie counts as ended. Known on Linux only. */
function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses, and may itself contain spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? "ended" : fields[19];
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return UNKNOWN;
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return UNKNOWN;
  }
}
