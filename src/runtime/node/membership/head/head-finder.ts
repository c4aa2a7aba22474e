/**
 * Finds the leading head: tries in turn the configured addresses and those that a head has named.
 *
 * Pure. The last known head is tried last, because it has just gone. A standby head names the leader, which is tried next. The node's membership asks for the next
 * address before each attempt to connect, and reports the outcome. With one address the answer is always that address.
 */
import { isWireError } from "../../../wire/wire-error.ts";

export class HeadFinder {
  #addresses: readonly string[];
  #at = 0;
  #tried: string;
  #said: string | undefined;
  #leader: string;
  #term = 0;

  /** @param addresses at least one */
  constructor(addresses: readonly string[]) {
    this.#addresses = addresses;
    this.#tried = this.#leader = addresses[0] as string;
  }

  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Where the head is that has led last, as far as this node has met it. */
  get leader(): string {
    return this.#leader;
  }

  /** Where the next attempt goes. */
  next(): string {
    if (this.#said === undefined) {
      this.#tried = this.#addresses[this.#at % this.#addresses.length] as string;
      this.#at = (this.#at + 1) % this.#addresses.length;
    } else {
      this.#tried = this.#said;
      this.#said = undefined;
    }
    return this.#tried;
  }

  /** Why a head that lets this node in is not to be listened to. */
  refuses(term: number | undefined): string | undefined {
    if (term === undefined || term >= this.#term) return undefined;
    return `the head there is one of term ${term}, and term ${this.#term} has begun`;
  }

  /** The last attempt has reached a head that leads. */
  met(term: number | undefined): void {
    this.#term = Math.max(this.#term, term ?? 0);
    this.#leader = this.#tried;
    this.#at = this.#addresses.indexOf(this.#tried) + 1;
  }

  /** The last attempt failed, or its connection ended. */
  failed(error: unknown): void {
    const leader = isWireError(error, "notLeader") ? error.details["leader"] : undefined;
    if (typeof leader === "string" && leader !== this.#tried) this.#said = leader;
  }

  /** @returns whether it is news */
  told(addresses: readonly string[]): boolean {
    const all = Array.from(new Set([...this.#addresses, ...addresses])).sort();
    const isNews = all.length > this.#addresses.length;
    if (isNews) {
      this.#addresses = all;
      this.#at = all.indexOf(this.#leader) + 1;
    }
    return isNews;
  }
}
