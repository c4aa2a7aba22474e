/** Reads how many files and sockets a process may have open at once, and explains a small limit. */
import { readFileSync } from "node:fs";

/** A daemon's descriptors for a worker: three pipes, a socket and a shared file. */
const FILES_PER_WORKER = 5;
/** A daemon's other descriptors, with links to some other nodes. */
const FILES_BESIDE = 40;

/** Undefined if the system does not tell, or sets no limit. Node raises the soft limit to the hard one, so the hard one counts. */
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

/** Explains a process that could not be started or a file that could not be opened, with the limit if it was reached. */
export function describeSystemFailure(error: NodeJS.ErrnoException): string {
  return error.code === "EMFILE" && LIMIT_HERE !== undefined
    ? `${error.message}: the node has as many files open as it may, ${LIMIT_HERE}. Raise the limit (\`ulimit -n\`, LimitNOFILE= of a unit)`
    : error.message;
}
