/**
 * The shell around the placement-group table: messages become its events, and its effects become requests to the node and answers to
 * waiters.
 *
 * Part of the head. Processes that wait for a reservation are kept here, with one open question each. The actor table handles actors in a
 * removed group; the head joins the two.
 */
import type { ActorId, NodeId, NodeTag, ProcessId } from "../../base/ids.ts";
import type { HeadHandlers, HeadPeer, NodeServices } from "../../rpc/head-service.ts";
import { type GroupStateHeader, MESSAGE } from "../../wire/messages.ts";
import { groupRow } from "../../observe/cluster-rows.ts";
import type { Reservation } from "../../extension/extension.ts";
import type { HeadHistory } from "../head-history.ts";
import { NODES_COME_WITHIN_MS } from "../limits.ts";
import type { Placement } from "./placement.ts";
import { type GroupEffect, type GroupRecord, type PlacementGroupTable } from "./placement-group-table.ts";

type GroupMessages =
  | typeof MESSAGE.GROUP_CREATE
  | typeof MESSAGE.GROUP_WATCH
  | typeof MESSAGE.GROUP_REMOVE
  | typeof MESSAGE.GROUP_LOOKUP
  | typeof MESSAGE.GROUPS;

interface PlacementGroupsOptions {
  nodes: () => Iterable<NodeServices>;
  /** Decides where bundles go. */
  placement: () => Placement;
  warn: (text: string) => void;
  /** Ends the actors that live in a group. */
  endActors: (group: string, reason: string) => void;
  table: PlacementGroupTable;
  /** The reservation of an extension has its node. */
  extensionReserved: (id: string, node: NodeId) => void;
  /** Takes the rows of groups that have changed. */
  history?: HeadHistory | undefined;
}

/** Namespaces of extensions' reservations: programs cannot name such a namespace. */
const EXTENSION_NAMESPACE = "shoal:extension:";

export class PlacementGroups {
  readonly #options: PlacementGroupsOptions;
  readonly #table: PlacementGroupTable;
  readonly #watchers = new Map<string, { peer: HeadPeer; callId: number }[]>();

  constructor(options: PlacementGroupsOptions) {
    this.#options = options;
    this.#table = options.table;
  }

  /** Handlers of processes' requests about groups. */
  get handlers(): HeadHandlers<GroupMessages> {
    return {
      [MESSAGE.GROUP_CREATE]: (header) => this.#apply(this.#table.handle({ kind: "create", header })),
      [MESSAGE.GROUP_WATCH]: (id, peer, { callId }) => this.#watch(peer, callId, id),
      [MESSAGE.GROUP_REMOVE]: (id, peer, { callId }) => {
        this.#apply(this.#table.handle({ kind: "remove", id, reason: "it was removed by remove()" }));
        peer.connection.reply(callId, undefined);
      },
      [MESSAGE.GROUP_LOOKUP]: ({ name, namespace }, peer, { callId }) =>
        peer.connection.reply(callId, this.#table.named(name, namespace)?.header),
      [MESSAGE.GROUPS]: (_nothing, peer, { callId }) => peer.connection.reply(callId, this.#table.list()),
    };
  }

  get(id: string): GroupRecord | undefined {
    return this.#table.get(id);
  }

  /** Makes the group of an extension's reservation. @returns its node, where it has one */
  reserve(id: string, { resources, labels, by }: Reservation & { by: string }): NodeId | undefined {
    const known = this.#table.get(id)?.header;
    if (known !== undefined) return known.state === "created" ? known.nodeIds[0] : undefined;
    const [bundles, selectors] = [[{ ...resources }], [{ ...labels }]];
    const named = { id, name: undefined, namespace: `${EXTENSION_NAMESPACE}${by}`, owner: undefined, isDetached: true };
    this.#apply(this.#table.handle({ kind: "create", header: { ...named, strategy: "PACK", bundles, labels: selectors } }));
    return undefined;
  }

  release(id: string): void {
    if (this.#table.get(id) !== undefined) this.#apply(this.#table.handle({ kind: "remove", id, reason: "its work has ended" }));
  }

  /** The groups that an earlier head kept are still wanted. */
  restore(): void {
    for (const group of this.#table.all()) {
      this.#observe(group);
      if (group.header.state !== "removed") this.#options.placement().reserveGroup(group, NODES_COME_WITHIN_MS);
    }
  }

  /** Handles the reservation of all the group's bundles. */
  reserved(id: string, nodeIds: readonly NodeId[]): void {
    this.#apply(this.#table.handle({ kind: "reserved", id, nodeIds }));
    const [node] = nodeIds;
    if (node !== undefined && this.#table.get(id)?.header.namespace.startsWith(EXTENSION_NAMESPACE) === true)
      this.#options.extensionReserved(id, node);
  }

  lost(id: string, indices: readonly number[]): void {
    this.#apply(this.#table.handle({ kind: "lost", id, indices }));
  }

  infeasible(id: string): void {
    const group = this.#table.get(id);
    if (group === undefined) return;
    const { name, strategy, bundles, labels } = group.header;
    this.#options.warn(
      `Placement group ${name ?? id} (${strategy}) waits for bundles that no set of the cluster's nodes can hold: ${bundlesText(bundles, labels)}. ` +
        "It stays pending; ask for less, or start Shoal with more.",
    );
  }

  processGone(process: ProcessId): void {
    for (const [id, watchers] of this.#watchers) {
      const left = watchers.filter(({ peer }) => peer.id !== process);
      if (left.length > 0) this.#watchers.set(id, left);
      else this.#watchers.delete(id);
    }
    this.ownerGone(process);
  }

  /** The processes of a node that made a group which is still there. */
  ownersOf(tag: NodeTag): Set<ProcessId> {
    return this.#table.ownersOf(tag);
  }

  ownerGone(owner: ProcessId | ActorId): void {
    this.#apply(this.#table.handle({ kind: "ownerGone", owner }));
  }

  #watch(peer: HeadPeer, callId: number, id: string): void {
    const group = this.#table.get(id);
    if (group !== undefined && group.header.state !== "pending" && group.header.state !== "rescheduling") {
      peer.connection.reply(callId, stateOf(group));
      return;
    }
    // A handle may travel faster than the creation: a group that is not known yet is waited for like one that is pending.
    const watchers = this.#watchers.get(id);
    if (watchers === undefined) this.#watchers.set(id, [{ peer, callId }]);
    else watchers.push({ peer, callId });
  }

  #observe(group: GroupRecord): void {
    this.#options.history?.changed("placement_groups", group.header.id, () => groupRow(group.header));
  }

  #apply(effects: readonly GroupEffect[]): void {
    const { nodes, placement, endActors } = this.#options;
    for (const { kind, group } of effects) {
      const { id } = group.header;
      this.#observe(group);
      switch (kind) {
        case "reserve":
          placement().reserveGroup(group);
          break;
        case "settled":
          for (const { peer, callId } of this.#watchers.get(id) ?? []) peer.connection.reply(callId, stateOf(group));
          this.#watchers.delete(id);
          break;
        case "release":
          for (const node of nodes()) node.tellAll(MESSAGE.GROUP_STATE, stateOf(group));
          endActors(id, group.reason ?? "");
          for (const node of nodes()) node.releaseGroup(id);
          placement().releaseGroup(group);
          break;
      }
    }
  }
}

function stateOf(group: GroupRecord): GroupStateHeader {
  return { id: group.header.id, state: group.header.state === "removed" ? "removed" : "created", reason: group.reason };
}

function bundlesText(bundles: readonly Record<string, number>[], labels: readonly Readonly<Record<string, string>>[]): string {
  const shown = bundles.slice(0, 5).map((bundle, index) => {
    const selector = labels[index] ?? {};
    return `${JSON.stringify(bundle)}${Object.keys(selector).length === 0 ? "" : ` on a node of ${JSON.stringify(selector)}`}`;
  });
  return bundles.length > shown.length ? `${shown.join(", ")}, and ${bundles.length - shown.length} more` : shown.join(", ");
}
