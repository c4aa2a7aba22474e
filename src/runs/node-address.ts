/** Addresses of nodes as `nodes()` gives them: `host:port` in a cluster, the path of a socket for a node that `init` has started alone. */

/** The host by which other nodes reach it; undefined for a node that stays alone. */
export function hostOf(address: string): string | undefined {
  const found = /^\[?([^/\]]+)\]?:\d+$/.exec(address);
  return found?.[1];
}
