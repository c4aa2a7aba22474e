/**
 * The nodes that a plan adds: which type fits a demand best, and how many nodes may still be launched.
 *
 * Of types that fit, the one whose nodes the demand leaves least empty is taken; types with GPUs come last for work without. Ties go by
 * priority, then by the order in the file. Types in back-off, and those at their limit, are left out, and the reason is kept. Pure.
 */
import type { Labels } from "../../../runtime/scheduling/label-selector.ts";
import type { ClusterConfig, NodeTypeConfig } from "../config/cluster-config.ts";
import { type Instance, isComing, TYPE_LABEL } from "../instances/instance.ts";
import { fitsTimes, type Need, type Room, type Rooms } from "./rooms.ts";
import type { BackOff, Snapshot } from "./snapshot.ts";

/** Why no node is added for a demand. */
export type Obstacle =
  | { readonly kind: "noType" }
  | { readonly kind: "typeFull"; readonly type: string }
  | { readonly kind: "clusterFull" }
  | { readonly kind: "backOff"; readonly type: string; readonly backOff: BackOff };

interface Kind {
  readonly config: NodeTypeConfig;
  readonly labels: Labels;
  readonly amounts: number[];
  readonly order: number;
  /** Instances that have not ended. */
  existing: number;
  added: number;
}

export class NewNodes {
  readonly #kinds = new Map<string, Kind>();
  readonly #config: ClusterConfig;
  readonly #backOffs: Snapshot["backOffs"];
  readonly #nowMs: number;
  readonly #rooms: Rooms;
  #existing = 0;
  #added = 0;

  constructor(
    rooms: Rooms,
    { config, snapshot, nowMs }: { config: ClusterConfig; snapshot: Pick<Snapshot, "instances" | "backOffs">; nowMs: number },
  ) {
    this.#rooms = rooms;
    this.#config = config;
    this.#backOffs = snapshot.backOffs;
    this.#nowMs = nowMs;
    for (const [order, type] of config.nodeTypes.entries()) {
      const labels = { ...type.labels, [TYPE_LABEL]: type.name };
      this.#kinds.set(type.name, { config: type, labels, amounts: rooms.vector(type.resources), order, existing: 0, added: 0 });
    }
    for (const { type } of snapshot.instances) {
      this.#existing += 1;
      const kind = this.#kinds.get(type);
      if (kind !== undefined) kind.existing += 1;
    }
  }

  /** Numbers of nodes to launch, by type. */
  get added(): { type: string; count: number }[] {
    return Array.from(this.#kinds.values(), ({ config, added }) => ({ type: config.name, count: added })).filter(({ count }) => count > 0);
  }

  /** Adds the room of an instance that is on the way. @returns undefined for a type that the file has no more */
  coming({ id, type }: Instance): Room | undefined {
    const kind = this.#kinds.get(type);
    return kind === undefined ? undefined : this.#rooms.add("coming", type, { labels: kind.labels, amounts: kind.amounts, member: id });
  }

  /** Adds nodes of one type, as far as limits allow. @returns their rooms */
  addOf(type: string, count: number): Room[] {
    const kind = this.#kinds.get(type);
    if (kind === undefined || this.#backOffOf(type) !== undefined) return [];
    return Array.from({ length: Math.min(count, this.#leftOf(kind)) }, () => this.#add(kind));
  }

  /** Adds nodes for a demand, and places it there. @returns the rest, and why it has no place */
  place(
    need: Need,
    selectors: readonly (Labels | undefined)[],
    count: number,
    onType: (type: string, nodes: number) => void,
  ): { left: number; obstacle: Obstacle } {
    let left = count;
    for (;;) {
      const best = left === 0 ? undefined : this.#best(need, selectors, left);
      if (best === undefined) return { left, obstacle: this.#obstacle(need, selectors) };
      const { kind, each } = best;
      const nodes = Math.min(Math.ceil(left / each), this.#leftOf(kind));
      for (let index = 0; index < nodes; index += 1) this.#add(kind);
      onType(kind.config.name, nodes);
      const before = left;
      left = this.#rooms.place(need, selectors, left, () => {});
      if (left === before) return { left, obstacle: { kind: "noType" } };
    }
  }

  /** Adds one node for a part of a group, during a trial. */
  addForTrial(need: Need, selectors: readonly (Labels | undefined)[]): { room: Room; undo: () => void } | undefined {
    const best = this.#best(need, selectors, 1);
    if (best === undefined) return undefined;
    const { kind } = best;
    kind.added += 1;
    this.#added += 1;
    const room = this.#rooms.addForTrial("new", kind.config.name, { labels: kind.labels, amounts: kind.amounts, member: this.#name() });
    const undo = (): void => {
      kind.added -= 1;
      this.#added -= 1;
    };
    return { room, undo };
  }

  /** Why no node is added for such a demand. */
  obstacle(need: Need, selectors: readonly (Labels | undefined)[]): Obstacle {
    return this.#obstacle(need, selectors);
  }

  #add(kind: Kind): Room {
    kind.added += 1;
    this.#added += 1;
    return this.#rooms.add("new", kind.config.name, { labels: kind.labels, amounts: kind.amounts, member: this.#name() });
  }

  #name(): string {
    return `new-${this.#added}`;
  }

  #best(need: Need, selectors: readonly (Labels | undefined)[], count: number): { kind: Kind; each: number } | undefined {
    let best: { kind: Kind; each: number; score: readonly number[] } | undefined;
    const wantsGpu = this.#wantsGpu(need);
    for (const kind of this.#kinds.values()) {
      if (this.#leftOf(kind) === 0 || this.#backOffOf(kind.config.name) !== undefined || !this.#suits(kind, selectors)) continue;
      const each = fitsTimes(kind.amounts, need, count);
      if (each === 0) continue;
      const isWaste = !wantsGpu && this.#rooms.hasGpu(kind.amounts);
      const score = [isWaste ? 1 : 0, emptiness(kind.amounts, need, each), -kind.config.priority, kind.order];
      if (best === undefined || isLess(score, best.score)) best = { kind, each, score };
    }
    return best;
  }

  #obstacle(need: Need, selectors: readonly (Labels | undefined)[]): Obstacle {
    const fitting = Array.from(this.#kinds.values()).filter((kind) => this.#suits(kind, selectors) && fitsTimes(kind.amounts, need, 1) > 0);
    const [first] = fitting;
    if (first === undefined) return { kind: "noType" };
    for (const { config } of fitting) {
      const backOff = this.#backOffOf(config.name);
      if (backOff !== undefined) return { kind: "backOff", type: config.name, backOff };
    }
    const open = fitting.find(({ existing, added, config }) => existing + added < config.maxWorkers);
    return open === undefined ? { kind: "typeFull", type: first.config.name } : { kind: "clusterFull" };
  }

  #suits({ labels }: Kind, selectors: readonly (Labels | undefined)[]): boolean {
    return this.#rooms.matches(
      { labels, labelClass: JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))) },
      selectors,
    );
  }

  #wantsGpu(need: Need): boolean {
    const amounts: number[] = [];
    for (const [resource, units] of need) amounts[resource] = units;
    return this.#rooms.hasGpu(amounts);
  }

  #leftOf({ existing, added, config }: Kind): number {
    return Math.max(0, Math.min(config.maxWorkers - existing - added, this.#config.maxWorkers - this.#existing - this.#added));
  }

  #backOffOf(type: string): BackOff | undefined {
    const backOff = this.#backOffs.get(type);
    return backOff !== undefined && backOff.untilMs > this.#nowMs ? backOff : undefined;
  }
}

/** Launches that may begin now: so many for each node that runs, less those under way. */
export function launchesAllowed(snapshot: Pick<Snapshot, "instances">, speed: number, least: number): number {
  const running = snapshot.instances.filter(({ state }) => state === "RUNNING").length;
  const coming = snapshot.instances.filter(isComing).length;
  return Math.max(0, Math.max(least, Math.floor(speed * running)) - coming);
}

/** Returns the mean part of a node that a demand leaves unused, from 0 to 1. */
function emptiness(amounts: readonly number[], need: Need, times: number): number {
  const used = new Map(need);
  let sum = 0;
  let names = 0;
  for (const [resource, total] of amounts.entries()) {
    if (total === undefined || total === 0) continue;
    names += 1;
    sum += 1 - ((used.get(resource) ?? 0) * times) / total;
  }
  return names === 0 ? 0 : sum / names;
}

function isLess(a: readonly number[], b: readonly number[]): boolean {
  for (let index = 0; index < a.length; index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
