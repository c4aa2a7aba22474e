/**
 * The bodies and the messages of clients that code in Python reads piece by piece: it asks for the next one by a number, so a client is never read faster than the code takes it.
 *
 * Owns which numbers there are. A feed is there for as long as its request; a read of one that is over gives the end. Called by the replica for `readFeed` of `python/shoal/_serve_feed.py`.
 */

/** Bytes of a body, a message, or the code and reason of a close; null at the end. */
export type FeedItem = Uint8Array | string | readonly [code: number, reason: string] | null;

export class PythonFeeds {
  readonly #feeds = new Map<number, () => Promise<FeedItem>>();
  #last = 0;

  /** @returns the number by which Python asks for it; never 0 */
  add(next: () => Promise<FeedItem>): number {
    this.#last += 1;
    this.#feeds.set(this.#last, next);
    return this.#last;
  }

  delete(number: number): void {
    this.#feeds.delete(number);
  }

  /** @throws where the client is gone */
  async read(number: number): Promise<FeedItem> {
    return (await this.#feeds.get(number)?.()) ?? null;
  }
}
