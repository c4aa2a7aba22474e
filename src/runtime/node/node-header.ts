/** What the daemon tells of its node to whoever asks which nodes there are. */
import type { NodeHeader } from "../wire/messages.ts";

export function nodeHeader(node: Omit<NodeHeader, "alive">): NodeHeader {
  const { nodeId, hostname, address, resources, labels, objectStoreMemoryBytes } = node;
  return { nodeId, alive: true, hostname, address, resources, labels, objectStoreMemoryBytes };
}
