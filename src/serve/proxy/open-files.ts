/**
 * How many connections of clients a proxy can have: each is an open file of its process, and the machine allows a process so many.
 *
 * Node raises the soft limit to the hard one at its start. Above its own number a proxy closes a connection at once; without files it would take none, or lose those to its replicas.
 * Called when a proxy begins to listen.
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
 * The number of connections that is held to, and a warning where that is less than what was asked for. Pure.
 *
 * @param wanted undefined: as many as there may be by default
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
