/**
 * The shell around the placement-group table: messages become its events, its effects become requests to the node and answers to those who wait.
 *
 * Part of the head. Who waits for a group to be reserved is kept here, as one open question a process. What the removal of a group means for the actors in
 * it is the actor table's matter, which the head joins to this.
 */
import type { ActorId, NodeId, ProcessId } from "../base/ids.ts";
import type { NodeView } from "../base/resources.ts";
import type { HeadPeer, NodeServices } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import { type GroupCreateHeader, type GroupStateHeader, MESSAGE } from "../wire/messages.ts";
import { type GroupEffect, type GroupRecord, type PlacementGroupTable } from "./placement-group-table.ts";

export interface PlacementGroupsOptions {
  nodes: () => Iterable<NodeServices>;
  warn: (text: string) => void;
  /** Ends the actors that live in a group. */
  endActors: (group: string, reason: string) => void;
  table: PlacementGroupTable;
}

export class PlacementGroups {
  readonly #options: PlacementGroupsOptions;
  readonly #table: PlacementGroupTable;
  /** Groups of which these nodes have not reserved their part yet. */
  readonly #reserving = new Map<string, Set<NodeId>>();
  readonly #watchers = new Map<string, { peer: HeadPeer; callId: number }[]>();

  constructor(options: PlacementGroupsOptions) {
    this.#options = options;
    this.#table = options.table;
  }

  receive(peer: HeadPeer, frame: Message, header: unknown): void {
    const { callId } = frame;
    switch (frame.type) {
      case MESSAGE.GROUP_CREATE:
        this.#apply(this.#table.handle({ kind: "create", header: header as GroupCreateHeader, nodes: this.#views() }));
        return;
      case MESSAGE.GROUP_WATCH:
        this.#watch(peer, callId, header as string);
        return;
      case MESSAGE.GROUP_REMOVE:
        this.#apply(this.#table.handle({ kind: "remove", id: header as string, reason: "it was removed by remove()" }));
        peer.connection.reply(callId, undefined);
        return;
      case MESSAGE.GROUP_LOOKUP: {
        const { name, namespace } = header as { name: string; namespace: string };
        peer.connection.reply(callId, this.#table.named(name, namespace)?.header);
        return;
      }
      case MESSAGE.GROUPS:
        peer.connection.reply(callId, this.#table.list());
        return;
    }
  }

  /** One of its nodes has reserved what was asked of it. */
  reserved(id: string, nodeId: NodeId): void {
    const waiting = this.#reserving.get(id);
    waiting?.delete(nodeId);
    if (waiting !== undefined && waiting.size > 0) return;
    this.#reserving.delete(id);
    this.#apply(this.#table.handle({ kind: "reserved", id }));
  }

  viewChanged(): void {
    this.#apply(this.#table.handle({ kind: "viewChanged", nodes: this.#views() }));
  }

  nodeGone(nodeId: NodeId): void {
    for (const waiting of this.#reserving.values()) waiting.delete(nodeId);
  }

  #views(): NodeView[] {
    return Array.from(this.#options.nodes(), (node) => node.view());
  }

  #nodesOf(group: GroupRecord): Map<NodeServices, number[]> {
    const found = new Map<NodeServices, number[]>();
    for (const node of this.#options.nodes()) {
      const indices = (group.chosen ?? []).flatMap((nodeId, index) => (nodeId === node.nodeId ? [index] : []));
      if (indices.length > 0) found.set(node, indices);
    }
    return found;
  }

  processGone(process: ProcessId): void {
    for (const [id, watchers] of this.#watchers) {
      const left = watchers.filter(({ peer }) => peer.id !== process);
      if (left.length > 0) this.#watchers.set(id, left);
      else this.#watchers.delete(id);
    }
    this.ownerGone(process);
  }

  ownerGone(owner: ProcessId | ActorId): void {
    this.#apply(this.#table.handle({ kind: "ownerGone", owner }));
  }

  #watch(peer: HeadPeer, callId: number, id: string): void {
    const group = this.#table.get(id);
    if (group !== undefined && group.header.state !== "pending") {
      peer.connection.reply(callId, stateOf(group));
      return;
    }
    // A handle may travel faster than the creation: a group that is not known yet is waited for like one that is pending.
    const watchers = this.#watchers.get(id);
    if (watchers === undefined) this.#watchers.set(id, [{ peer, callId }]);
    else watchers.push({ peer, callId });
  }

  #apply(effects: readonly GroupEffect[]): void {
    const { nodes, warn, endActors } = this.#options;
    for (const { kind, group } of effects) {
      const { id, bundles, strategy } = group.header;
      switch (kind) {
        case "reserve":
          this.#reserving.set(id, new Set(Array.from(this.#nodesOf(group).keys(), (node) => node.nodeId)));
          for (const [node, indices] of this.#nodesOf(group)) {
            const asked = indices.map((index) => ({ index, resources: bundles[index] ?? {} }));
            node.reserveGroup(id, asked);
          }
          break;
        case "infeasible":
          warn(
            `Placement group ${group.header.name ?? id} (${strategy}) waits for bundles that no set of the cluster's nodes can hold: ${bundlesText(bundles)}. ` +
              "It stays pending; ask for less, or start Shoal with more.",
          );
          break;
        case "settled":
          for (const { peer, callId } of this.#watchers.get(id) ?? []) peer.connection.reply(callId, stateOf(group));
          this.#watchers.delete(id);
          break;
        case "release":
          this.#reserving.delete(id);
          for (const node of nodes()) node.tellAll(MESSAGE.GROUP_STATE, stateOf(group));
          endActors(id, group.reason ?? "");
          for (const node of nodes()) node.releaseGroup(id);
          break;
      }
    }
  }
}

function stateOf(group: GroupRecord): GroupStateHeader {
  return { id: group.header.id, state: group.header.state === "removed" ? "removed" : "created", reason: group.reason };
}

function bundlesText(bundles: readonly Record<string, number>[]): string {
  const shown = bundles.slice(0, 5).map((bundle) => JSON.stringify(bundle));
  return bundles.length > shown.length ? `${shown.join(", ")}, and ${bundles.length - shown.length} more` : shown.join(", ");
}
