/**
 * Looks at the servers of the heads' store once no head has proven for a while that it leads, and tells the node's fence when most of them are away.
 *
 * The shell around `store-absence.ts`: a timer and the asking. Before that it asks each of them until it has greeted once, since only then its refusal says something.
 * Made by `fence-watch.ts`, which hears what heads prove and tells it. Looks do not overlap.
 */
import type { StoreServer } from "../../../wire/cluster/cluster-messages.ts";
import { UNPROVEN_AFTER_MS } from "../limits.ts";
import { StoreAbsence, type StoreWord } from "./store-absence.ts";

export interface StoreWatchOptions {
  readonly nowMs: () => number;
  readonly wordOf: (server: StoreServer) => Promise<StoreWord>;
  readonly isNobodyAnswered: () => boolean;
  /** Each of the servers, so many, has greeted this node by now, which sees from then on when they are away. */
  readonly onMet: (serverCount: number) => void;
  /** Most of the servers are away, so that no head can have begun to lead as of then. */
  readonly onAway: (provenMs: number) => void;
}

const TICK_MS = 500;
const LOOK_EVERY_MS = 1_000;
/** Servers that stand still keep each connection in a queue of the system that has an end. */
const LOOK_AT_SILENT_MS = 3_000;
/** To make their acquaintance. */
const MEET_EVERY_MS = 15_000;

export class StoreWatch {
  readonly #options: StoreWatchOptions;
  readonly #absence = new StoreAbsence();
  readonly #timer: NodeJS.Timeout;
  #servers: readonly StoreServer[] = [];
  #provenMs = Number.POSITIVE_INFINITY;
  #nextMs = 0;
  #isLooking = false;

  constructor(options: StoreWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** A head has answered: when it was proven last that no later one had begun, and which servers keep what heads write. */
  heard(provenMs: number, servers: readonly StoreServer[]): void {
    this.#provenMs = this.#provenMs === Number.POSITIVE_INFINITY ? provenMs : Math.max(this.#provenMs, provenMs);
    const before = this.#absence.servers;
    this.#servers = servers;
    this.#absence.know(servers.map(({ address }) => address));
    if (before !== this.#absence.servers) this.#nextMs = 0;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const nowMs = this.#options.nowMs();
    const isUnproven = nowMs - this.#provenMs > UNPROVEN_AFTER_MS;
    if (isUnproven) this.#nextMs = Math.min(this.#nextMs, nowMs + LOOK_AT_SILENT_MS);
    if (this.#isLooking || this.#servers.length === 0 || nowMs < this.#nextMs || (!isUnproven && this.#absence.hasSeenAll)) return;
    this.#isLooking = true;
    void this.#look(nowMs).finally(() => {
      this.#isLooking = false;
    });
  }

  async #look(sentMs: number): Promise<void> {
    const { wordOf, isNobodyAnswered, onMet, onAway } = this.#options;
    const servers = this.#servers;
    const words = await Promise.all(servers.map((server) => wordOf(server).catch(() => undefined)));
    // A head has told of others meanwhile.
    if (servers !== this.#servers && !isSame(servers, this.#servers)) return;
    const isUnproven = sentMs - this.#provenMs > UNPROVEN_AFTER_MS;
    const everyMs = words.includes("silent") ? LOOK_AT_SILENT_MS : LOOK_EVERY_MS;
    this.#nextMs = sentMs + (isUnproven ? everyMs : MEET_EVERY_MS);
    const hadSeenAll = this.#absence.hasSeenAll;
    const provenMs = this.#absence.looked({ sentMs, words, isNobodyAnswered: isNobodyAnswered() });
    if (!hadSeenAll && this.#absence.hasSeenAll) onMet(servers.length);
    if (provenMs !== undefined) onAway(provenMs);
  }
}

function isSame(some: readonly StoreServer[], others: readonly StoreServer[]): boolean {
  return some.length === others.length && some.every(({ address }, index) => address === others[index]?.address);
}
