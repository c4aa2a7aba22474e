/**
 * Places the missing bundles of a placement group during a plan, all or nothing, by its strategy.
 *
 * A group that cannot be placed whole adds no node. Bundles that have a node stay there. Strict strategies hold for bundles with and without
 * a node together; PACK and SPREAD prefer, as in the scheduler. Pure.
 */
import { resourceVector } from "../../../runtime/base/resources.ts";
import type { Labels } from "../../../runtime/scheduling/label-selector.ts";
import type { NewNodes, Obstacle } from "./new-nodes.ts";
import { fitsTimes, type Need, type Room, type Rooms } from "./rooms.ts";
import type { SnapshotGroup } from "./snapshot.ts";

interface Bundle {
  readonly need: Need;
  readonly labels: Labels;
}

interface GroupResult {
  readonly isPlaced: boolean;
  /** Node types that are added for it. */
  readonly added: ReadonlyMap<string, number>;
  /** Types of instances on the way that it waits for. */
  readonly coming: ReadonlySet<string>;
  readonly obstacle: Obstacle | undefined;
}

export function placeGroup(group: SnapshotGroup, rooms: Rooms, nodes: NewNodes): GroupResult {
  const missing = missingBundles(group, rooms);
  const held = new Set(group.nodeIds.filter((id) => id !== undefined));
  const added = new Map<string, number>();
  const coming = new Set<string>();
  const undo: (() => void)[] = [];
  let obstacle: Obstacle | undefined;
  const isPlaced = rooms.trial(() => {
    const used = new Set<Room>();
    for (const { need, labels } of missing) {
      const room = findRoom(rooms, { need, labels }, { used, held, strategy: group.strategy });
      let taken = room === undefined ? undefined : rooms.single(room);
      if (taken === undefined) {
        const fresh = mayAdd(group, held) ? nodes.addForTrial(need, [labels]) : undefined;
        if (fresh === undefined) {
          obstacle = nodes.obstacle(need, [labels]);
          return false;
        }
        undo.push(fresh.undo);
        taken = fresh.room;
        const type = taken.type as string;
        added.set(type, (added.get(type) ?? 0) + 1);
      }
      if (taken.kind === "coming") coming.add(taken.type as string);
      rooms.take(taken, need);
      used.add(taken);
    }
    return true;
  });
  if (!isPlaced) for (const step of undo) step();
  return { isPlaced, added: isPlaced ? added : new Map(), coming, obstacle };
}

/** The bundles without a node, the largest first; for STRICT_PACK one bundle that is the sum of them. */
function missingBundles({ strategy, bundles, labels, nodeIds }: SnapshotGroup, rooms: Rooms): Bundle[] {
  const indices = bundles.keys().filter((index) => nodeIds[index] === undefined);
  if (strategy !== "STRICT_PACK")
    return Array.from(indices, (index) => ({ need: needOf(bundles[index] ?? {}, rooms), labels: labels[index] ?? {} })).sort(
      (a, b) => sizeOf(b.need) - sizeOf(a.need),
    );
  const sum: Record<string, number> = {};
  let all: Labels = {};
  for (const index of indices) {
    for (const [name, amount] of Object.entries(bundles[index] ?? {})) sum[name] = (sum[name] ?? 0) + amount;
    all = { ...all, ...labels[index] };
  }
  return [{ need: needOf(sum, rooms), labels: all }];
}

function findRoom(
  rooms: Rooms,
  { need, labels }: Bundle,
  { used, held, strategy }: { used: ReadonlySet<Room>; held: ReadonlySet<string>; strategy: SnapshotGroup["strategy"] },
): Room | undefined {
  const fits = (room: Room): boolean => fitsTimes(room.free, need, 1) > 0 && rooms.matches(room, [labels]);
  const isHeld = (room: Room): boolean => room.members.length === 1 && held.has(room.members[0] as string);
  if (strategy === "STRICT_PACK" && held.size > 0) return rooms.rows.find((room) => isHeld(room) && fits(room));
  if (strategy === "PACK") for (const room of used) if (fits(room)) return room;
  const other = rooms.rows.find((room) => !used.has(room) && !(held.size > 0 && isHeld(room)) && fits(room));
  if (other !== undefined || strategy === "STRICT_SPREAD") return other;
  return rooms.rows.find(fits);
}

/** Bundles of a strictly packed group that has lost some go to its one node alone. */
function mayAdd({ strategy }: SnapshotGroup, held: ReadonlySet<string>): boolean {
  return strategy !== "STRICT_PACK" || held.size === 0;
}

function needOf(resources: Readonly<Record<string, number>>, rooms: Rooms): Need {
  return rooms.need(resourceVector(resources).amounts);
}

function sizeOf(need: Need): number {
  return need.reduce((sum, [, units]) => sum + units, 0);
}
