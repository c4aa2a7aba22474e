/** Where a node is reached, as `nodes()` tells it: `host:port` in a cluster, the path of a socket where `init` has started the only node. */

/** The host by which other nodes reach it; undefined for a node that stays alone. */
export function hostOf(address: string): string | undefined {
  const found = /^\[?([^/\]]+)\]?:\d+$/.exec(address);
  return found?.[1];
}
