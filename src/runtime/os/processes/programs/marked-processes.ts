/**
 * Finds processes by a variable of their environment. All processes of a job carry its mark, also in other groups and sessions.
 *
 * Known on Linux only, for processes of this user. The list of processes is read in small steps, so the caller's event loop goes on.
 */
import { readdirSync, readFileSync } from "node:fs";
import { PROCESSES_LOOKED_AT_ONCE } from "../../limits.ts";

/** The value of a variable in the environment with which a process was started; undefined where it has none or has ended. */
export function variableOfProcess(pid: number, name: string): string | undefined {
  if (!(pid > 1)) return undefined;
  try {
    const text = readFileSync(`/proc/${pid}/environ`, "latin1");
    const begin = `\0${text}`.indexOf(`\0${name}=`);
    if (begin < 0) return undefined;
    const from = begin + name.length + 1;
    const end = text.indexOf("\0", from);
    return text.slice(from, end < 0 ? undefined : end);
  } catch {
    return undefined;
  }
}

/** The process group of a process; undefined where it has ended. */
export function groupOfProcess(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in parentheses may itself contain spaces and parentheses.
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[2]);
  } catch {
    return undefined;
  }
}

/** Returns all processes with that variable, and its value in each; never this process. */
export async function markedProcesses(name: string): Promise<{ pid: number; value: string }[]> {
  const found: { pid: number; value: string }[] = [];
  let pids: string[] = [];
  try {
    pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  } catch {
    // Only Linux has this folder.
  }
  for (const [at, text] of pids.entries()) {
    if (at % PROCESSES_LOOKED_AT_ONCE === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    const pid = Number(text);
    const value = pid === process.pid ? undefined : variableOfProcess(pid, name);
    if (value !== undefined) found.push({ pid, value });
  }
  return found;
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
