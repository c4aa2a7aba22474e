/**
 * Stands in for a node of an earlier head that has not registered with this one.
 *
 * The scheduler counts the node's resources and places nothing there. Until the node registers, other nodes still act on its actors: they
 * find and drop them, and end actors that live there. The node also counts the references of actors that were created there. Such messages
 * wait here in order; they are dropped if the node is found dead. Its registration makes up for all other messages
 * (`runtime/head/tables/recovery.ts`), or their processes ask again. The kept head makes one for each node in the tables.
 */
import { type NodeView, resourceVector } from "../../base/resources.ts";
import type { NodeServices } from "../../rpc/head-service.ts";
import type { NodeInfoHeader } from "../../wire/cluster/cluster-messages.ts";

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

  /** The node has registered: messages that wait are sent, and later ones go straight to it. */
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

  /** No table records a requested restart, so the message has to wait. */
  endActor(...told: Parameters<NodeServices["endActor"]>): void {
    this.#tell((node) => node.endActor(...told));
  }

  /** The node's total resources, none of them free until the node reports. */
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
  tellExtension(): void {}

  #tell(tell: (node: Told) => void): void {
    if (this.#node === undefined) this.#waiting.push(tell);
    else tell(this.#node);
  }
}
