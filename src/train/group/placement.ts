/**
 * Finds room for the ranks of an attempt: their number, and a placement group for them.
 *
 * Decides the size of an elastic group by the free resources. While a group waits, prints its needs and the present resources. If the cluster is too small and no
 * node can join, the group is an error.
 */
import {
  availableResources,
  clusterResources,
  GetTimeoutError,
  nodes,
  type PlacementGroup,
  placementGroup,
  type Resources,
} from "../../core/index.ts";
import { NODE_ID_LABEL } from "../../core/internal.ts";
import { ELASTIC_PLACEMENT_MS, GIVEN_BACK_MS, ROOM_FOR_MORE_MS, ROOM_WARN_MS } from "../limits.ts";
import { hostOf } from "../../runs/node-address.ts";
import { type ScalingConfig, scalingText } from "../scaling-config.ts";

export interface Placement {
  /** Undefined in local mode. */
  readonly group: PlacementGroup | undefined;
  /** How many ranks there are. */
  readonly size: number;
  remove(): Promise<void>;
}

interface PlacementRequest {
  readonly scaling: ScalingConfig;
  /** The ranks that an elastic group has had room for. Infinity before its first attempt. */
  readonly expected: number;
  readonly warn: (text: string) => void;
  readonly signal: AbortSignal;
}

/** The cluster has no room for the ranks, and will not get any. */
export class NoRoomError extends Error {}

/** Resolves when the room is there. @throws NoRoomError, and the signal's reason */
export async function place({ scaling, expected, warn, signal }: PlacementRequest): Promise<Placement> {
  if (scaling.max === 0) return { group: undefined, size: 1, remove: async () => {} };
  for (let size = await firstSize(scaling, expected); ; size = Math.min(size - 1, await firstSize(scaling, 0))) {
    const isLast = size <= scaling.min;
    if (isLast) await refuseHopeless(size, scaling);
    const group = groupOf(size, scaling);
    let isPlaced = false;
    try {
      isPlaced = await (isLast ? waitForRoom(group, size, { scaling, warn, signal }) : isReady(group, ELASTIC_PLACEMENT_MS, signal));
    } finally {
      if (!isPlaced) await group.remove();
    }
    if (isPlaced) return { group, size, remove: () => group.remove() };
  }
}

/**
 * Returns the number of further ranks for which there is room beside a group on `nodeIds`.
 *
 * Requests places and gives them back, because sums of free resources do not show whether a single node has enough, and the wanted labels.
 */
export async function roomForMore(nodeIds: readonly string[], scaling: ScalingConfig, signal: AbortSignal): Promise<number> {
  const most = Math.min(scaling.max - nodeIds.length, fitting(scaling.resourcesPerWorker, await availableResources()));
  for (let more = most; more > 0; more -= 1) {
    const group = groupOf(more, { ...scaling, labelSelector: { ...scaling.labelSelector, ...besides(nodeIds, scaling) } });
    try {
      if (await isReady(group, ROOM_FOR_MORE_MS, signal)) return more;
    } finally {
      await group.remove();
    }
  }
  return 0;
}

/** The nodes on which more ranks may be. */
function besides(nodeIds: readonly string[], { placementStrategy }: ScalingConfig): Record<string, string> {
  if (placementStrategy === "STRICT_PACK") return { [NODE_ID_LABEL]: nodeIds[0] as string };
  if (placementStrategy === "STRICT_SPREAD") return { [NODE_ID_LABEL]: `!in(${nodeIds.join(",")})` };
  return {};
}

function groupOf(size: number, { resourcesPerWorker, placementStrategy: strategy, labelSelector }: ScalingConfig): PlacementGroup {
  const selectors = labelSelector === undefined ? {} : { bundleLabelSelector: Array(size).fill(labelSelector) };
  return placementGroup(
    Array.from({ length: size }, () => resourcesPerWorker),
    { strategy, ...selectors },
  );
}

/**
 * The number of workers that the free resources hold, as far as sums can tell. Nodes report late what this or another group has just given back, so the
 * expected number is tried, too, where the cluster has that much in all.
 */
async function firstSize({ min, max, resourcesPerWorker }: ScalingConfig, expected: number): Promise<number> {
  if (min === max) return max;
  const free = fitting(resourcesPerWorker, await availableResources());
  const hoped = expected > free ? Math.min(expected, fitting(resourcesPerWorker, await clusterResources())) : free;
  return Math.min(max, Math.max(min, hoped, free));
}

/** The number of ranks that fit into an amount of resources. */
export function fitting(perWorker: Resources, available: Resources): number {
  const counts = Object.entries(perWorker).flatMap(([name, amount]) =>
    amount > 0 ? [Math.floor((available[name] ?? 0) / amount + ROUNDING)] : [],
  );
  return counts.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...counts);
}

/** Amounts are multiples of 0.0001 that doubles do not hold exactly. */
const ROUNDING = 1e-6;

async function waitForRoom(
  group: PlacementGroup,
  size: number,
  { scaling, warn, signal }: Pick<PlacementRequest, "scaling" | "warn" | "signal">,
): Promise<true> {
  let hasWarned = false;
  while (!(await isReady(group, ROOM_WARN_MS, signal))) {
    await refuseHopeless(size, scaling);
    if (!hasWarned) warn(`a training run waits for room for its ${size} ranks: ${await shortage(size, scaling)}`);
    hasWarned = true;
  }
  return true;
}

async function isReady(group: PlacementGroup, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await group.ready({ timeoutMs, signal });
    return true;
  } catch (error) {
    if (error instanceof GetTimeoutError) return false;
    throw signal.aborted ? signal.reason : error;
  }
}

/** A cluster may get other nodes, also in place of those that a run has lost; `startTimeoutMs` limits how long the group waits for them. */
async function refuseHopeless(size: number, scaling: ScalingConfig): Promise<void> {
  if (fitting(scaling.resourcesPerWorker, await clusterResources()) >= size) return;
  const all = await nodes();
  // A node that `init` has started stays alone.
  const mayGrow = all.length !== 1 || hostOf(all[0]?.address ?? "") !== undefined;
  if (mayGrow) return;
  throw new NoRoomError(`there is no room for ${size === 1 ? "a rank" : `${size} ranks`}: ${await shortage(size, scaling)}`);
}

interface ShortageOptions {
  /** Whether the loops of the ranks have begun. */
  readonly haveBegun: () => boolean;
  readonly cluster?: { clusterResources(): Promise<Resources>; availableResources(): Promise<Resources> };
  readonly givenBackMs?: number;
}

/**
 * Returns a warning if the ranks hold all CPUs, so that the tasks that read their datasets wait, and the ranks with them. Undefined if a CPU is free or soon will
 * be. Reports of freed CPUs arrive late, so CPUs that other work holds are checked twice. The second check says nothing once the loops have begun, because the
 * datasets' own tasks may hold the CPUs then.
 */
export async function shortageOfData(
  ranks: number,
  { resourcesPerWorker }: ScalingConfig,
  { haveBegun, cluster = { clusterResources, availableResources }, givenBackMs = GIVEN_BACK_MS }: ShortageOptions,
): Promise<string | undefined> {
  const held = ranks * (resourcesPerWorker["CPU"] ?? 0);
  for (let looks = 1; ; looks += 1) {
    const [total, available] = await Promise.all([cluster.clusterResources(), cluster.availableResources()]);
    const [all, free] = [total["CPU"] ?? 0, available["CPU"] ?? 0];
    if (free >= 1 || (looks === 2 && haveBegun())) return undefined;
    const text = `the ranks hold ${held} of the cluster's ${all} CPUs, and ${free} are free: tasks that read the datasets wait for one, and the ranks for their rows`;
    if (all - held < 1 || looks === 2)
      return `${text}; leave some for them with fewer numWorkers, or with scalingConfig: { resourcesPerWorker: { CPU: 0.5 } }`;
    await new Promise((resolve) => setTimeout(resolve, givenBackMs));
  }
}

/** Describes the needed, total and free resources, with advice. */
async function shortage(size: number, { resourcesPerWorker, min, max }: ScalingConfig): Promise<string> {
  const [total, available] = await Promise.all([clusterResources(), availableResources()]);
  const names = Object.keys(resourcesPerWorker);
  const amounts = (of: Resources): string => names.map((name) => `${name}: ${of[name] ?? 0}`).join(", ");
  const fits = fitting(resourcesPerWorker, total);
  const advice =
    fits >= size
      ? "the ranks wait until others have given theirs back"
      : fits === 0
        ? "not one fits: lower resourcesPerWorker, or add a node that has as much"
        : `at most ${fits} fit: ask for fewer${min === max ? `, be elastic with numWorkers: { min: ${Math.max(1, Math.min(fits, max))}, max: ${max} }` : ""}, or lower resourcesPerWorker`;
  return `they need ${scalingText(size, resourcesPerWorker)}; the cluster has ${amounts(total)} in all, of which ${amounts(available)} are free; ${advice}`;
}
