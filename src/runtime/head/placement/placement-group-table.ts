/**
 * The placement groups of the cluster: their names, the nodes of their bundles, and their ends.
 *
 * A pure state machine: events in, effects out. A group is pending until the nodes have reserved all bundles, then created until it is
 * removed. Anybody with a handle can remove it; a group that is not detached ends with the driver or actor that made it. While bundles of a
 * dead node are placed again, the group is rescheduling, and the others stay in use. `placement.ts` picks the nodes.
 */
import { type ActorId, type NodeId, type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import type { GroupCreateHeader, GroupHeader } from "../../wire/messages.ts";

export interface GroupRecord {
  readonly header: GroupHeader;
  /** With whose end it ends; undefined for one that lives as long as the session. */
  readonly owner: ProcessId | ActorId | undefined;
  reason: string | undefined;
}

export type GroupEvent =
  | { kind: "create"; header: GroupCreateHeader }
  | { kind: "reserved"; id: string; nodeIds: readonly NodeId[] }
  /** The node of these bundles is dead, and they are being placed again. */
  | { kind: "lost"; id: string; indices: readonly number[] }
  | { kind: "remove"; id: string; reason: string }
  | { kind: "ownerGone"; owner: ProcessId | ActorId };

export type GroupEffect =
  /** The nodes reserve the bundles when they have room. */
  | { kind: "reserve"; group: GroupRecord }
  /** The group is no longer pending: waiters are told. */
  | { kind: "settled"; group: GroupRecord }
  /** Tasks and actors in the group end, and the resources return. */
  | { kind: "release"; group: GroupRecord };

/** The removed are remembered so that late questions are answered; the oldest are forgotten. */
const REMOVED_MAX = 1000;

export class PlacementGroupTable {
  readonly #groups = new Map<string, GroupRecord>();
  readonly #removed: string[] = [];
  /**
   * Groups removed before they were known, with the reason: by a handle that arrived before the creation, or under a head without tables,
   * before the nodes reported them.
   */
  readonly #removedAhead = new Map<string, string>();

  get(id: string): GroupRecord | undefined {
    return this.#groups.get(id);
  }

  /** Whether a group was removed, known or not. */
  isRemoved(id: string): boolean {
    return this.#removedAhead.has(id) || this.#groups.get(id)?.header.state === "removed";
  }

  named(name: string, namespace: string): GroupRecord | undefined {
    for (const group of this.#groups.values()) {
      const { header } = group;
      if (header.state !== "removed" && header.name === name && header.namespace === namespace) return group;
    }
    return undefined;
  }

  /** Restores the groups that an earlier head kept. */
  restore(groups: readonly GroupRecord[]): void {
    for (const group of groups) {
      this.#groups.set(group.header.id, group);
      if (group.header.state === "removed") this.#removed.push(group.header.id);
    }
  }

  all(): Iterable<GroupRecord> {
    return this.#groups.values();
  }

  list(): GroupHeader[] {
    return Array.from(this.#groups.values(), (group) => group.header);
  }

  /** Processes of a node that own a remaining group. Actors end with their own process, which the actor table knows. */
  ownersOf(tag: NodeTag): Set<ProcessId> {
    const owners = new Set<ProcessId>();
    for (const { owner, header } of this.#groups.values())
      if (owner !== undefined && header.state !== "removed" && nodeTagOf(owner) === tag) owners.add(owner as ProcessId);
    return owners;
  }

  handle(event: GroupEvent): GroupEffect[] {
    switch (event.kind) {
      case "create":
        return this.#create(event);
      case "reserved": {
        const group = this.#groups.get(event.id);
        if (group === undefined || group.header.state === "created" || group.header.state === "removed") return [];
        group.header.state = "created";
        group.header.nodeIds = Array.from(event.nodeIds);
        return [{ kind: "settled", group }];
      }
      case "lost": {
        const group = this.#groups.get(event.id);
        if (group === undefined || group.header.state === "removed") return [];
        if (group.header.state === "created") group.header.state = "rescheduling";
        for (const index of event.indices) group.header.nodeIds[index] = undefined;
        return [];
      }
      case "remove": {
        const group = this.#groups.get(event.id);
        if (group === undefined) this.#removeAhead(event);
        return group === undefined || group.header.state === "removed" ? [] : this.#remove(group, event.reason);
      }
      case "ownerGone": {
        const effects: GroupEffect[] = [];
        for (const group of Array.from(this.#groups.values())) {
          if (group.owner === event.owner && group.header.state !== "removed" && !group.header.isDetached)
            effects.push(...this.#remove(group, "the program or actor that had made it ended"));
        }
        return effects;
      }
    }
  }

  #create({ header: asked }: Extract<GroupEvent, { kind: "create" }>): GroupEffect[] {
    const { owner, ...header } = asked;
    if (this.#groups.has(header.id)) return [];
    const { name, namespace } = header;
    const taken = name === undefined ? undefined : this.named(name, namespace);
    const group: GroupRecord = { header: { ...header, state: "pending", nodeIds: [] }, owner, reason: undefined };
    this.#groups.set(header.id, group);
    const removedAs = this.#removedAhead.get(header.id);
    if (removedAs !== undefined) return this.#remove(group, removedAs);
    if (taken !== undefined) return this.#remove(group, `a placement group named ${JSON.stringify(name)} exists already`);
    return [{ kind: "reserve", group }];
  }

  #removeAhead({ id, reason }: { id: string; reason: string }): void {
    this.#removedAhead.set(id, reason);
    if (this.#removedAhead.size > REMOVED_MAX) this.#removedAhead.delete(this.#removedAhead.keys().next().value as string);
  }

  #remove(group: GroupRecord, reason: string): GroupEffect[] {
    group.header.state = "removed";
    group.reason = reason;
    this.#removed.push(group.header.id);
    if (this.#removed.length > REMOVED_MAX) this.#groups.delete(this.#removed.shift() as string);
    return [
      { kind: "settled", group },
      { kind: "release", group },
    ];
  }
}
