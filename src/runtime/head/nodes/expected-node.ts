/**
 * A node that an earlier head had and that has not come to this one, as the head's tables see it.
 *
 * References of actors are counted on the node of their creator, and other nodes' processes find and drop such actors while that node is on its way. What is counted there
 * waits here, in its order, and is told when the node has registered; a node that is found dead counts nothing any more. It is a place for what has to be there, and gets nothing. All else that it might be told is made good by
 * its registration (`runtime/head/tables/recovery.ts`), or concerns processes that ask again. Made by the kept head for each node of its tables.
 */
import { type NodeView, resourceVector } from "../../base/resources.ts";
import type { NodeServices } from "../../rpc/head-service.ts";
import type { NodeInfoHeader } from "../../wire/cluster-messages.ts";

type Counting = Pick<NodeServices, "hold" | "release">;

export class ExpectedNode implements NodeServices {
  readonly info: NodeInfoHeader;
  #waiting: ((node: Counting) => void)[] = [];
  #node: Counting | undefined;

  constructor(info: NodeInfoHeader) {
    this.info = info;
  }

  get nodeId(): NodeInfoHeader["nodeId"] {
    return this.info.nodeId;
  }

  get daemonId(): NodeInfoHeader["daemonId"] {
    return this.info.daemonId;
  }

  /** It has registered, and is told what waits; what is still on its way to it follows. */
  came(node: Counting): void {
    this.#node = node;
    for (const tell of this.#waiting) tell(node);
    this.#waiting = [];
  }

  hold(...told: Parameters<NodeServices["hold"]>): void {
    this.#tell((node) => node.hold(...told));
  }

  release(...told: Parameters<NodeServices["release"]>): void {
    this.#tell((node) => node.release(...told));
  }

  /** What it has is as it was. Nothing of it is free before it says so itself. */
  view(): NodeView {
    const { nodeId: id, labels, resources } = this.info;
    return { id, labels, total: resourceVector(resources).amounts, free: new Map() };
  }

  peer(): undefined {
    return undefined;
  }

  warn(): void {}
  placeActor(): void {}
  actorGone(): void {}
  drain(): void {}
  reserveGroup(): void {}
  releaseGroup(): void {}
  prepareGroup(): void {}
  commitGroup(): void {}
  abortGroup(): void {}
  leasesPlaced(): void {}
  tellAll(): void {}
  endActor(): void {}
  processGone(): void {}
  nodesChanged(): void {}

  #tell(tell: (node: Counting) => void): void {
    if (this.#node === undefined) this.#waiting.push(tell);
    else tell(this.#node);
  }
}
