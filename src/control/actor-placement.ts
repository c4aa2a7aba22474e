/**
 * Which node an actor is started on, and where it was asked to be.
 *
 * Part of the head. The only node of a machine gets every actor: what it cannot hold now waits there. Among several, the one that has room now is chosen
 * (`scheduling/node-choice.ts`), and an actor for which none has is kept here until a node's report shows room.
 */
import type { ActorId, NodeId } from "../base/ids.ts";
import type { NodeServices } from "../rpc/head-service.ts";
import { chooseNode } from "../scheduling/node-choice.ts";
import { parseLeaseSpec } from "../scheduling/lease-spec.ts";
import { resourceVector } from "../base/resources.ts";
import type { ActorRecord } from "./actor-table.ts";

export interface ActorPlacementOptions {
  nodes: () => Iterable<NodeServices>;
  warn: (text: string) => void;
}

export class ActorPlacement {
  readonly #options: ActorPlacementOptions;
  readonly #placedOn = new Map<ActorId, { node: NodeServices; actor: ActorRecord }>();
  readonly #waiting = new Map<ActorId, ActorRecord>();
  readonly #warned = new Set<ActorId>();
  #turn = 0;

  constructor(options: ActorPlacementOptions) {
    this.#options = options;
  }

  place(actor: ActorRecord): void {
    const node = this.#choose(actor);
    if (node === undefined) {
      this.#waiting.set(actor.id, actor);
      return;
    }
    this.#waiting.delete(actor.id);
    this.#placedOn.set(actor.id, { node, actor });
    const { shape, resources, interface: face } = actor.options;
    node.placeActor(actor.id, { shape, resources, className: face.className });
  }

  /** A node has it already, which an earlier head chose. */
  adopt(actor: ActorRecord, node: NodeServices): void {
    this.#waiting.delete(actor.id);
    this.#placedOn.set(actor.id, { node, actor });
  }

  /** It needs its place no more. */
  gone(actor: ActorRecord): void {
    this.#waiting.delete(actor.id);
    this.#warned.delete(actor.id);
    const placed = this.#placedOn.get(actor.id);
    this.#placedOn.delete(actor.id);
    placed?.node.actorGone(actor.id);
  }

  viewChanged(): void {
    for (const actor of Array.from(this.#waiting.values())) this.place(actor);
  }

  /** @returns the actors that were to be placed there and have no process yet */
  nodeGone(nodeId: NodeId): ActorRecord[] {
    const left = Array.from(this.#placedOn.values()).filter(({ node }) => node.nodeId === nodeId);
    for (const { actor } of left) this.#placedOn.delete(actor.id);
    return left.map(({ actor }) => actor).filter(({ worker }) => worker === undefined);
  }

  #choose(actor: ActorRecord): NodeServices | undefined {
    const nodes = Array.from(this.#options.nodes());
    if (nodes.length === 1) return nodes[0];
    const { shape, resources, interface: face } = actor.options;
    const spec = parseLeaseSpec(shape);
    const placed =
      "CPU" in resources || spec.bundle !== undefined ? spec : { ...spec, resources: resourceVector({ ...resources, CPU: 1 }) };
    this.#turn += 1;
    const views = nodes.map((node) => node.view());
    const choice = chooseNode(placed, views, { turn: this.#turn });
    if (choice.kind === "node") return nodes.find((node) => node.nodeId === choice.nodeId);
    if (choice.kind !== "wait" && !this.#warned.has(actor.id)) {
      this.#warned.add(actor.id);
      this.#options.warn(
        `Actor ${face.className} waits for resources that no node of the cluster has: ${shape}. It starts when such a node joins.`,
      );
    }
    return undefined;
  }
}
