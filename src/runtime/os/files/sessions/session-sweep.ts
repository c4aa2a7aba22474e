/**
 * Removes remains of sessions whose processes were all killed at once, or whose machine went down.
 *
 * Each folder of a session carries a claim: one line for each process that will remove the folder, with the process's identity. A folder is
 * removed when all claimants are certainly dead; doubtful ones stay. Called when a session begins. Also decides where shared memory is on
 * this machine.
 */
import { accessSync, appendFileSync, constants, lstatSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isProcessGone, processIdentity } from "../../processes/process-identity.ts";
import { socketRoot, temporaryRoot } from "./temporary-folder.ts";

const SHARED_MEMORY = "/dev/shm";
const CLAIM_FILE = "owner";
/** Folders of sessions, of test clusters, and of ranks of training. */
const SESSION_FOLDER = /^shoal-((spill-)?[0-9a-f]{12}|(test|rank)-[A-Za-z0-9]{6})$/;
/** An empty folder without a claim is one whose maker died between two lines of code. */
const UNCLAIMED_FOR_MS = 3_600_000;

/** The folder for shared-memory files: a file system in memory where there is one, else the temporary folder. */
export function memoryRoot(): string {
  if (process.platform === "linux") {
    try {
      accessSync(SHARED_MEMORY, constants.W_OK | constants.X_OK);
      return SHARED_MEMORY;
    } catch {
      // A container without it: the temporary folder works, and the kernel keeps recent files in memory anyway.
    }
  }
  return temporaryRoot();
}

/** Why objects are in ordinary files, as a sentence to show once; `undefined` where there is shared memory. */
export function memoryRootNote(): string | undefined {
  const root = memoryRoot();
  if (root === SHARED_MEMORY || process.platform !== "linux") return undefined;
  return `${SHARED_MEMORY} cannot be written; objects are kept in files under ${root}, which is slower.`;
}

/** Says that this process will remove the folder, so that no other session takes it for a leftover. Several may claim one. */
export function claimDirectory(directory: string): void {
  appendFileSync(join(directory, CLAIM_FILE), `${processIdentity()}\n`, { mode: 0o600 });
}

/** Default folders of sessions. */
export function sessionRoots(): string[] {
  return [memoryRoot(), temporaryRoot(), socketRoot()];
}

/**
 * Removes the folders of sessions whose processes are all dead.
 *
 * @param roots where to look: by default the shared memory and the temporary folder
 * @returns the folders that were removed
 */
export function sweepStaleSessions(roots: readonly string[] = sessionRoots()): string[] {
  const removed: string[] = [];
  for (const root of new Set(roots)) {
    for (const name of namesIn(root)) {
      const directory = join(root, name);
      if (!SESSION_FOLDER.test(name) || !isStale(directory)) continue;
      try {
        rmSync(directory, { recursive: true, force: true });
        removed.push(directory);
      } catch {
        // A parallel sweep removes it, or may: the next session looks again.
      }
    }
  }
  return removed;
}

function namesIn(root: string): string[] {
  try {
    return readdirSync(root);
  } catch {
    return [];
  }
}

function isStale(directory: string): boolean {
  try {
    const status = lstatSync(directory);
    // Never another user's folder, and never through a link.
    if (!status.isDirectory() || status.uid !== process.getuid?.()) return false;
    const claim = readClaim(directory);
    if (claim !== undefined) return claim.length > 0 && claim.every(isProcessGone);
    if (Date.now() - status.mtimeMs > UNCLAIMED_FOR_MS) rmdirSync(directory);
    return false;
  } catch {
    return false;
  }
}

function readClaim(directory: string): string[] | undefined {
  try {
    return readFileSync(join(directory, CLAIM_FILE), "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return undefined;
  }
}
