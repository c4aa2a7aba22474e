/** How many files and sockets a process of this machine may have open at once, and what to say of it where that is few. */
import { readFileSync } from "node:fs";

/** Of a daemon: three pipes, a socket and a file shared with the worker. */
const FILES_PER_WORKER = 5;
/** Of a daemon without any worker, and with links to some other nodes. */
const FILES_BESIDE = 40;

/** Undefined where the system does not tell, or sets no limit. Node raises its own limit to what the system allows, so that counts. */
export function openFilesMax(): number | undefined {
  try {
    return readOpenFilesMax(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return undefined;
  }
}

export function readOpenFilesMax(limits: string): number | undefined {
  const hard = /^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1];
  return hard === undefined ? undefined : Number(hard);
}

/** How many workers a node with this limit can have. */
export function workersWithin(openFiles: number): number {
  return Math.max(0, Math.floor((openFiles - FILES_BESIDE) / FILES_PER_WORKER));
}

/** Read when the process starts: it could not be once nothing more can be opened. */
const LIMIT_HERE = openFilesMax();

/** What to say of a process that could not be started or a file that could not be opened: the limit, where it was reached. */
export function describeSystemFailure(error: NodeJS.ErrnoException): string {
  return error.code === "EMFILE" && LIMIT_HERE !== undefined
    ? `${error.message}: the node has as many files open as it may, ${LIMIT_HERE}. Raise the limit (\`ulimit -n\`, LimitNOFILE= of a unit)`
    : error.message;
}
