/**
 * The clients' bodies and messages that Python code reads piece by piece. The code asks for the next piece by a number, so a client is never read faster than the
 * code takes it.
 *
 * Owns the numbers. A feed lives as long as its request; later reads give the end. The replica calls it for `readFeed` of `python/shoal/_serve_feed.py`.
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
