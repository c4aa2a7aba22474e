/**
 * Places a session's sockets and files, and removes them all again.
 *
 * A session has one folder for sockets (mode 0700, below the temporary folder), one for shared memory and one for spilled objects. The node
 * daemon removes them at its end; a driver whose daemon was killed does it instead. The next session sweeps up folders that both left
 * behind.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "../../../base/texts/describe.ts";
import { ShoalError } from "../../../base/errors.ts";
import { endProcessGroup } from "../../processes/programs/process-group.ts";
import { claimDirectory, memoryRoot } from "./session-sweep.ts";
import { socketRoot, temporaryRoot } from "./temporary-folder.ts";

export interface SessionDirectories {
  /** Sockets; short, as the path of a Unix socket may have no more than about 100 bytes. */
  sockets: string;
  memory: string;
  spill: string;
}

const WORKER_PIDS = "workers";
const REMOVE_TRIES_MAX = 4;
const REMOVE_AGAIN_MS = 20;

export function createSessionDirectories(sessionId: string, spillRoot: string | undefined): SessionDirectories {
  const directories = {
    sockets: join(socketRoot(), `shoal-${sessionId}`),
    memory: join(memoryRoot(), `shoal-${sessionId}`),
    spill: join(spillRoot ?? temporaryRoot(), `shoal-spill-${sessionId}`),
  };
  try {
    // Without shared memory two of them are one.
    for (const directory of new Set(Object.values(directories))) makeDirectory(directory);
    claimSessionDirectories(directories);
  } catch (error) {
    removeSessionDirectories(directories);
    throw new ShoalError(`Cannot start Shoal: a folder of the session cannot be made: ${messageOf(error)}`, {
      reason: "a folder of the session cannot be made",
      hint: "Name a folder that can be written with spillDirectory, or another temporary folder with TMPDIR.",
      cause: error,
    });
  }
  return directories;
}

/**
 * Makes a new directory with its parents. An existing folder of this name is not ours, and others may read its contents. Does not use
 * Node's `recursive`: that retries for ever if a file system reports an existing folder as missing, as `/proc` does of one that takes no
 * entries.
 */
function makeDirectory(directory: string): void {
  const parent = dirname(directory);
  if (parent !== directory && !existsSync(parent)) makeParent(parent);
  mkdirSync(directory, { mode: 0o700 });
}

function makeParent(directory: string): void {
  try {
    makeDirectory(directory);
  } catch (error) {
    // A parallel process has made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Driver and daemon both do: a later session leaves the folders alone while either lives. */
export function claimSessionDirectories(directories: SessionDirectories): void {
  for (const directory of new Set(Object.values(directories))) claimDirectory(directory);
}

/** Repeats a failed removal: a worker that is ending may still write a file, and descriptors may be short for a moment. */
export function removeSessionDirectories(directories: SessionDirectories): void {
  for (const directory of Object.values(directories))
    rmSync(directory, { recursive: true, force: true, maxRetries: REMOVE_TRIES_MAX, retryDelay: REMOVE_AGAIN_MS });
}

/** Cleaners of the temporary folder go by age, so the sockets and files of a session are touched. */
export function touchSessionDirectories({ sockets, spill }: SessionDirectories): void {
  const now = new Date();
  for (const directory of [sockets, spill]) {
    try {
      for (const name of readdirSync(directory)) utimesSync(join(directory, name), now, now);
      utimesSync(directory, now, now);
    } catch {
      // A part has disappeared meanwhile; the rest is tried again.
    }
  }
}

/** Kept up to date by the daemon, so that its workers can be ended after it was killed. */
export function writeWorkerPids(directories: SessionDirectories, pids: readonly number[]): void {
  try {
    writeFileSync(join(directories.sockets, WORKER_PIDS), pids.join("\n"), { mode: 0o600 });
  } catch {
    // No descriptor or no room is free. Workers end with the line to their daemon, too.
  }
}

/** Ends the workers of a daemon that was killed, with their process groups. */
export function killLeftWorkers(directories: SessionDirectories): void {
  let pids: string;
  try {
    pids = readFileSync(join(directories.sockets, WORKER_PIDS), "utf8");
  } catch {
    return;
  }
  for (const pid of pids.split("\n").map(Number)) {
    if (!(pid > 1)) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process ended by itself, as a worker does after its daemon.
    }
    endProcessGroup(pid);
  }
}

/** Deletes one file of the store. The name may come from another machine, so paths are refused. */
export function removeArenaFile(directories: SessionDirectories, arena: string, kind: "memory" | "disk"): void {
  if (!/^[\w.-]+$/.test(arena) || arena.startsWith(".")) return;
  rmSync(join(kind === "memory" ? directories.memory : directories.spill, arena), { force: true });
}
