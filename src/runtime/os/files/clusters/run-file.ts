/**
 * Records the processes that `shoal start` started on this machine: one file for each supervisor, by which `stop`, `status` and a second
 * `start` find it.
 *
 * Readable by its user alone. A file carries the identity of the process, not only its number, since numbers are used again. Any reader
 * removes a file whose process has ended.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "../private-files.ts";
import { isProcessGone, processIdentity } from "../../processes/process-identity.ts";
import { keepFile, leaveSharedFolder, writeInSharedFolder } from "../sessions/shared-folder.ts";
import { temporaryRoot } from "../sessions/temporary-folder.ts";
import { userNumber } from "../../user.ts";

export interface RunFile {
  readonly id: string;
  /** Number of the supervisor. */
  readonly pid: number;
  readonly identity: string;
  readonly role: "head" | "node";
  /** The cluster's, where this machine has its head. */
  readonly name: string | undefined;
  /** Whether other heads may take over from it. */
  readonly hasRivals?: boolean | undefined;
  /** The head's. */
  readonly address: string;
  readonly startedMs: number;
  readonly logs: string;
  /** Folder of the history; undefined where none is kept. */
  readonly history?: string | undefined;
  /** The HTTP server of the head's machine, and the file that has its token. */
  readonly dashboard?: { readonly url: string; readonly tokenFile: string } | undefined;
  /** Processes that run now. */
  readonly processes: readonly RunProcess[];
}

interface RunProcess {
  /** `the head`, `the node 1f3…`, `the nats-server`. */
  readonly what: string;
  readonly pid: number;
  readonly identity: string;
}

function folder(): string {
  return join(temporaryRoot(), `shoal-runs-${userNumber()}`);
}

function pathOf(id: string): string {
  return join(folder(), `${id}.json`);
}

export function runProcess(what: string, pid: number): RunProcess {
  return { what, pid, identity: processIdentity(pid) };
}

/** A removed file, as by a cleaner of the temporary folder, is written again until `removeRunFile`. */
export function writeRunFile(file: Omit<RunFile, "pid" | "identity">): void {
  const text = JSON.stringify({ ...file, pid: process.pid, identity: processIdentity() });
  const write = (): void => writeInSharedFolder(folder(), () => writePrivateFile(pathOf(file.id), text));
  write();
  stopKeeping();
  stopKeeping = keepFile(pathOf(file.id), write);
}

let stopKeeping = (): void => {};

export function removeRunFile(id: string): void {
  stopKeeping();
  leaveSharedFolder(folder(), pathOf(id));
}

/** Oldest first; `ended` has those whose supervisor has ended and whose files still exist. */
export function readRunFiles(): { running: RunFile[]; ended: RunFile[] } {
  const running: RunFile[] = [];
  const ended: RunFile[] = [];
  for (const name of namesIn(folder())) {
    if (!name.endsWith(".json")) continue;
    try {
      const file = JSON.parse(readFileSync(join(folder(), name), "utf8")) as RunFile;
      (isProcessGone(file.identity) ? ended : running).push(file);
    } catch {
      // Removed meanwhile.
    }
  }
  const byAge = (a: RunFile, b: RunFile): number => a.startedMs - b.startedMs;
  return { running: running.sort(byAge), ended: ended.sort(byAge) };
}

/** Whether the very process still runs, and not another one with its number. */
export function isRunning({ identity }: { identity: string }): boolean {
  return !isProcessGone(identity);
}

/** Says nothing when it has ended already. */
export function signalProcess(target: { pid: number; identity: string }, signal: NodeJS.Signals): void {
  if (!isRunning(target)) return;
  try {
    process.kill(target.pid, signal);
  } catch {
    // The process ended just now.
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
