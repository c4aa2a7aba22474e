/**
 * Placement on the only node of a machine: every demand goes there, and waits there for room, where the lease manager serves it in turn.
 *
 * Part of a head that a daemon hosts, the counterpart of `cluster-placement.ts`. Only demands that the node could never hold are reported.
 * Methods about several nodes (reports, draining, waiting demands) do nothing here.
 */
import type { ActorId, NodeId } from "../../base/ids.ts";
import { resourceVector } from "../../base/resources.ts";
import type { NodeServices } from "../../rpc/head-service.ts";
import { placeBundles } from "../../scheduling/bundle-placement.ts";
import type { ActorRecord } from "../actors/actor-table.ts";
import type { Placement, PlacementEvents } from "./placement.ts";
import type { GroupRecord } from "./placement-group-table.ts";

export class OnlyNodePlacement implements Placement {
  readonly #events: PlacementEvents;
  readonly #placed = new Set<ActorId>();
  #node: NodeServices | undefined;

  constructor(events: PlacementEvents) {
    this.#events = events;
  }

  nodeJoined(node: NodeServices): void {
    this.#node = node;
  }

  place(actor: ActorRecord): void {
    const { shape, resources, interface: face } = actor.options;
    this.#placed.add(actor.id);
    this.#node?.placeActor(actor.id, { shape, resources, className: face.className });
  }

  gone(actor: ActorRecord): void {
    if (this.#placed.delete(actor.id)) this.#node?.actorGone(actor.id);
  }

  reserveGroup({ header: { id, bundles, labels, strategy } }: GroupRecord): void {
    const node = this.#node;
    if (node === undefined) return;
    const requests = bundles.map((bundle, index) => ({ resources: resourceVector(bundle), labels: labels[index] ?? {} }));
    if (placeBundles(requests, strategy, [node.view()]).kind === "infeasible") {
      this.#events.groupInfeasible(id);
      return;
    }
    const asked = bundles.map((resources, index) => ({ index, resources }));
    node.reserveGroup(id, asked);
  }

  groupReserved(group: string, nodeId: NodeId): void {
    const bundles = this.#events.group(group)?.header.bundles ?? [];
    this.#events.groupReserved(
      group,
      bundles.map(() => nodeId),
    );
  }

  // Called only in clusters.

  nodeExpected(): void {}

  unrecordedNodesExpected(): void {}

  adopt(): void {}

  releaseGroup(): void {}

  nodeReported(): void {}

  nodeHolds(): void {}

  nodeState(): void {}

  expectsUnrecordedNodes(): boolean {
    return false;
  }

  waiting(): [] {
    return [];
  }

  nodeGone(): ActorRecord[] {
    return [];
  }

  processGone(): void {}

  leasesWanted(): void {}

  actorFull(): void {}

  groupPrepared(): void {}
}
