/**
 * The replicas of one deployment as one router sees them: how many requests it has under way at each, which have room, and which one is next.
 *
 * Pure: no clock, no socket. Power of two choices: of two replicas with room, drawn at random, the one with fewer requests; so routers that do not
 * know of each other still spread evenly. Choosing costs the same with one replica and with a thousand, as those with room are kept apart. A model goes to replicas
 * that have loaded it where one of them has room, and a session to its own replica (`sessions.ts`). A router that prefers a node chooses among the replicas there as long as
 * one of them has room. A replica that answered BUSY counts as full until it has answered something else or the router tries it again.
 */

import type { RequestRouter, RequestToRoute } from "./request-router.ts";
import { hashOf, replicaOfSession } from "./sessions.ts";

/** A replica, as the controller describes it to routers. */
export interface ReplicaInfo {
  readonly id: string;
  /** The actor's name. */
  readonly actorName: string;
  readonly nodeId: string;
  /** Models that it has loaded. */
  readonly models: readonly string[];
}

/** A replica in the set. */
export class RoutedReplica {
  readonly id: string;
  /** For sessions. */
  readonly hash: number;
  info: ReplicaInfo;
  /** Requests of this router that are under way there. */
  ongoing = 0;
  /** Requests of others, as last heard. */
  others = 0;
  /** The replica answered BUSY. */
  isBusy = false;
  /** The replica runs on the node that the router prefers. */
  readonly isNear: boolean;
  /** The place in the list of replicas with room, near or far; -1 where it has none. */
  freeIndex = -1;
  /** Nothing more is sent there. */
  isRetired = false;

  constructor(info: ReplicaInfo, isNear: boolean) {
    this.isNear = isNear;
    this.id = info.id;
    this.hash = hashOf(info.id);
    this.info = info;
  }

  get load(): number {
    return this.ongoing + this.others;
  }
}

export class ReplicaSet {
  readonly #random: () => number;
  readonly #replicas = new Map<string, RoutedReplica>();
  /** Replicas with room, on the preferred node and elsewhere. */
  readonly #near: RoutedReplica[] = [];
  readonly #far: RoutedReplica[] = [];
  /** By model, those that have loaded it. */
  readonly #byModel = new Map<string, Set<RoutedReplica>>();
  #ongoingMax: number;

  /** A router of the user's, which goes before the choice between two. */
  router: RequestRouter | undefined;
  /** Set before replicas come. */
  preferredNodeId: string | undefined;

  constructor(ongoingMax: number, random: () => number = Math.random) {
    this.#ongoingMax = ongoingMax;
    this.#random = random;
  }

  get size(): number {
    return this.#replicas.size;
  }

  get all(): IterableIterator<RoutedReplica> {
    return this.#replicas.values();
  }

  get hasRoom(): boolean {
    return this.#near.length > 0 || this.#far.length > 0;
  }

  find(id: string): RoutedReplica | undefined {
    return this.#replicas.get(id);
  }

  /** Takes over the controller's list of replicas. @returns the new and the retired replicas */
  update(infos: readonly ReplicaInfo[], ongoingMax: number): { added: RoutedReplica[]; retired: RoutedReplica[] } {
    this.#ongoingMax = ongoingMax;
    const named = new Set(infos.map((info) => info.id));
    const retired: RoutedReplica[] = [];
    for (const replica of this.#replicas.values()) if (!named.has(replica.id)) retired.push(replica);
    for (const replica of retired) this.remove(replica);
    const added: RoutedReplica[] = [];
    for (const info of infos) {
      let replica = this.#replicas.get(info.id);
      if (replica === undefined) {
        replica = new RoutedReplica(info, info.nodeId === this.preferredNodeId);
        this.#replicas.set(info.id, replica);
        added.push(replica);
      }
      replica.info = info;
      this.#place(replica);
    }
    this.#indexModels();
    return { added, retired };
  }

  remove(replica: RoutedReplica): void {
    replica.isRetired = true;
    this.#replicas.delete(replica.id);
    this.#place(replica);
    for (const holders of this.#byModel.values()) holders.delete(replica);
  }

  /** The next replica for a request, or undefined where none has room. */
  choose({ modelId, sessionId, method }: RequestToRoute): RoutedReplica | undefined {
    const free = this.#near.length > 0 ? this.#near : this.#far;
    if (free.length === 0) return undefined;
    if (this.router !== undefined) return this.#ranked(this.router, { modelId, sessionId, method });
    if (modelId !== "") {
      const holders = this.#holdersWithRoom(modelId);
      const holder = sessionId === "" ? leastOf(holders) : replicaOfSession(sessionId, holders);
      if (holder !== undefined) return holder;
    }
    if (sessionId !== "") return replicaOfSession(sessionId, this.#free);
    if (free.length === 1) return free[0];
    const first = Math.floor(this.#random() * free.length);
    const second = (first + 1 + Math.floor(this.#random() * (free.length - 1))) % free.length;
    const [a, b] = [free[first] as RoutedReplica, free[second] as RoutedReplica];
    return b.load < a.load ? b : a;
  }

  begin(replica: RoutedReplica): void {
    replica.ongoing += 1;
    this.#place(replica);
  }

  /** A request of this router is over there. @param reported all that are under way there, where it said so */
  end(replica: RoutedReplica, reported?: number): void {
    replica.ongoing -= 1;
    replica.isBusy = false;
    if (reported !== undefined) replica.others = Math.max(0, reported - 1 - replica.ongoing);
    this.#place(replica);
  }

  /** The replica was full and has not begun a request. @param reported requests under way there, by its own count */
  refused(replica: RoutedReplica, reported: number): void {
    replica.ongoing -= 1;
    replica.others = Math.max(0, reported - replica.ongoing);
    replica.isBusy = true;
    this.#place(replica);
  }

  /** Drops outdated reports: replicas that answered BUSY are tried again. */
  forgetBusy(): void {
    for (const replica of this.#replicas.values()) {
      if (!replica.isBusy) continue;
      replica.isBusy = false;
      replica.others = 0;
      this.#place(replica);
    }
  }

  loaded(replica: RoutedReplica, modelId: string): void {
    const holders = this.#byModel.get(modelId) ?? new Set<RoutedReplica>();
    this.#byModel.set(modelId, holders);
    holders.add(replica);
  }

  get #free(): RoutedReplica[] {
    return this.#near.length === 0 ? this.#far : [...this.#near, ...this.#far];
  }

  #ranked(router: RequestRouter, request: RequestToRoute): RoutedReplica | undefined {
    const candidates = this.#free.map(({ id, info, load }) => ({ id, nodeId: info.nodeId, models: info.models, ongoing: load }));
    for (const { id } of router.chooseReplicas(request, candidates)) {
      const replica = this.#replicas.get(id);
      if (replica !== undefined && replica.freeIndex >= 0) return replica;
    }
    return undefined;
  }

  #holdersWithRoom(modelId: string): RoutedReplica[] {
    return [...(this.#byModel.get(modelId) ?? [])].filter((holder) => holder.freeIndex >= 0);
  }

  #indexModels(): void {
    this.#byModel.clear();
    for (const replica of this.#replicas.values()) for (const model of replica.info.models) this.loaded(replica, model);
  }

  /** Keeps the list of those with room. */
  #place(replica: RoutedReplica): void {
    const hasRoom = !replica.isRetired && !replica.isBusy && replica.ongoing < this.#ongoingMax;
    const free = replica.isNear ? this.#near : this.#far;
    if (hasRoom === replica.freeIndex >= 0) return;
    if (hasRoom) {
      replica.freeIndex = free.length;
      free.push(replica);
      return;
    }
    const last = free.pop() as RoutedReplica;
    if (last !== replica) {
      free[replica.freeIndex] = last;
      last.freeIndex = replica.freeIndex;
    }
    replica.freeIndex = -1;
  }
}

function leastOf(replicas: readonly RoutedReplica[]): RoutedReplica | undefined {
  let [least] = replicas;
  for (const replica of replicas) if (replica.load < (least as RoutedReplica).load) least = replica;
  return least;
}
