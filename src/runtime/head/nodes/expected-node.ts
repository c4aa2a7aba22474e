/**
 * A node that an earlier head had and that has not come to this one, as the head's tables see it.
 *
 * It is a place for what has to be there, and gets nothing. References of actors are counted on the node of their creator, and processes of other nodes find and drop such actors,
 * and end actors that live there, while the node is on its way: what it is told of that waits here, in its order, until it has registered, and is forgotten with a node that is
 * found dead. All else that it might be told is made good by its registration (`runtime/head/tables/recovery.ts`), or concerns processes that ask again. Made by the kept head for each
 * node of its tables.
 */
import { type NodeView, resourceVector } from "../../base/resources.ts";
import type { NodeServices } from "../../rpc/head-service.ts";
import type { NodeInfoHeader } from "../../wire/cluster-messages.ts";

type Told = Pick<NodeServices, "hold" | "release" | "endActor">;

export class ExpectedNode implements NodeServices {
  readonly info: NodeInfoHeader;
  #waiting: ((node: Told) => void)[] = [];
  #node: Told | undefined;

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
  came(node: Told): void {
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

  /** A restart that somebody has asked for is in no table. */
  endActor(...told: Parameters<NodeServices["endActor"]>): void {
    this.#tell((node) => node.endActor(...told));
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
  processGone(): void {}
  nodesChanged(): void {}

  #tell(tell: (node: Told) => void): void {
    if (this.#node === undefined) this.#waiting.push(tell);
    else tell(this.#node);
  }
}
