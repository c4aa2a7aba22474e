/**
 * Limits a proxy's client connections by the open files that the machine allows its process.
 *
 * Node raises the soft limit to the hard one at its start. Above the limit a proxy closes a connection at once; without free files it would accept none, or lose
 * its connections to replicas. Called when a proxy begins to listen.
 */
import { readFileSync } from "node:fs";
import { CLIENTS_MAX, OWN_FILES_PART, OWN_FILES_MAX } from "../limits.ts";

/** Files that this process may have open; undefined where that is not known. */
export function openFilesMax(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/**
 * Returns the limit on connections, and a warning if it is below the wanted number. Pure.
 *
 * @param wanted undefined: the default
 */
export function connectionsAllowed(wanted: number | undefined, filesMax: number | undefined): { count: number; warning?: string } {
  const count = wanted ?? CLIENTS_MAX;
  if (filesMax === undefined) return { count };
  const own = Math.min(OWN_FILES_MAX, Math.ceil(filesMax * OWN_FILES_PART));
  const room = filesMax - own;
  if (count <= room) return { count };
  const warning =
    `Cannot take httpOptions.maxConnections: ${count} connections: the process of this proxy may have ${filesMax} files open, of which it keeps ${own} for itself, so it takes ${room} connections. ` +
    `Raise the limit where the node is started (ulimit -n ${count + OWN_FILES_MAX}; LimitNOFILE of systemd), or ask for fewer connections.`;
  return wanted === undefined ? { count: room } : { count: room, warning };
}
