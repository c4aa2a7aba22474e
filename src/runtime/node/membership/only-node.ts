/**
 * The cluster of a node that has no other beside it: that of `init` without an address, and of one process.
 *
 * The daemon asks it as it asks any cluster, so it has no second way for one machine.
 */
import type { StoreFolders } from "../../objects/transfer/served-object.ts";
import type { NodeCluster } from "../daemon-options.ts";

export function onlyNode(folders: StoreFolders): NodeCluster {
  return {
    linkTo: () => undefined,
    linked: () => [],
    nodesChanged: () => {},
    viewChanged: () => {},
    leave: () => {},
    openTransfer: () => Promise.reject(new Error("this node has no other beside it")),
    folders,
  };
}
