/**
 * What it means that the servers of the heads' store are not there for this node: nothing, or that no head can have begun to lead.
 *
 * Pure. Without most of its servers the store keeps nothing, so nobody begins to lead and no node's death is kept; and who proves again afterwards that it leads gives all nodes the time of a new head (`ProofClock`). That
 * is a proof as of each look, once the absence has lasted for `STORE_AWAY_MS` in which no look found it otherwise: a head that has not noticed a shorter one counts on. Fed by `store-watch.ts`; why it is safe is in
 * decision 0032. Invariants: a server that has never greeted this node is not away, as a firewall may refuse in its place; a stand-still of this process ends what was seen.
 */
import { STORE_AWAY_MS } from "./limits.ts";

/** What a server's address says: it refuses connections, takes them and is silent, lives; undefined when nothing is heard from there. */
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
