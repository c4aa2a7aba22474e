/**
 * Judges the absence of the heads' store: either it means nothing, or no head can have begun to lead.
 *
 * Pure. Without most of its servers the store keeps nothing. So no head begins to lead and no node's death is kept. A head that later proves its lead again gives all
 * nodes the time of a new head (`ProofClock`). Each look is a proof once the absence has lasted for `STORE_AWAY_MS` without a contrary look: a head that has not
 * noticed a shorter absence counts on. `store-watch.ts` feeds it; decision 0032 explains the safety. Invariants: a server that has never greeted this node is not away,
 * because a firewall may refuse in its place. A stand-still of this process discards the looks.
 */
import { STORE_AWAY_MS } from "../limits.ts";

/** A server's answer: refuses connections, accepts them and is silent, or lives; undefined without an answer. */
export type StoreWord = "refuses" | "silent" | "lives" | undefined;

interface StoreLook {
  /** When it was asked. */
  readonly sentMs: number;
  /** In the order of the servers, all of them. */
  readonly words: readonly StoreWord[];
  /** Whether no head answers this node, nor at least half of the others that have not ended: only then silence is taken for a stand-still, as something else may take connections in a server's place. */
  readonly isNobodyAnswered: boolean;
}

/** Between two looks further apart anything may have been. */
const LOOKS_APART_MAX_MS = 5_000;

export class StoreAbsence {
  #servers: readonly string[] = [];
  readonly #seen = new Set<string>();
  #sinceMs: number | undefined;
  #lookedMs = Number.NEGATIVE_INFINITY;

  /** Addresses of all that keep the store; none where they are not known. */
  know(servers: readonly string[]): void {
    if (servers.length === this.#servers.length && servers.every((server, index) => server === this.#servers[index])) return;
    this.#servers = servers;
    this.#sinceMs = undefined;
    for (const server of this.#seen) if (!servers.includes(server)) this.#seen.delete(server);
  }

  get servers(): readonly string[] {
    return this.#servers;
  }

  /** Whether all have greeted this node at some time. */
  get hasSeenAll(): boolean {
    return this.#servers.every((server) => this.#seen.has(server));
  }

  /** @returns as of when no head can have begun; undefined when that is not known */
  looked({ sentMs, words, isNobodyAnswered }: StoreLook): number | undefined {
    const apartMs = sentMs - this.#lookedMs;
    this.#lookedMs = sentMs;
    const isAway = (isSilenceGood: boolean): boolean => {
      const away = this.#servers.filter((server, index) => {
        const word = words[index];
        return this.#seen.has(server) && (word === "refuses" || (word === "silent" && isSilenceGood));
      });
      return this.#servers.length > 0 && this.#servers.length - away.length <= Math.floor(this.#servers.length / 2);
    };
    const wasAway = isAway(true);
    for (const [index, server] of this.#servers.entries()) if (words[index] === "lives") this.#seen.add(server);
    if (!wasAway) this.#sinceMs = undefined;
    else if (this.#sinceMs === undefined || apartMs > LOOKS_APART_MAX_MS) this.#sinceMs = sentMs;
    if (this.#sinceMs === undefined || sentMs - this.#sinceMs < STORE_AWAY_MS) return undefined;
    return isAway(isNobodyAnswered) ? sentMs : undefined;
  }
}
