/**
 * Limits on requests and tokens in a minute: a bucket that fills evenly, from which each request takes before it is sent.
 *
 * Requests go in their order: one that waits for many tokens is not overtaken by small ones. Tokens of an answer are known afterwards, so a request takes
 * an estimate, and `settle` takes or gives back the difference. The bucket may then be in debt, and later requests wait for that. Time is given, so that
 * tests need no clock.
 */

/** A limit, and its remaining amount. */
interface Bucket {
  readonly perMinute: number;
  level: number;
}

export class RateLimit {
  readonly #requests: Bucket | undefined;
  readonly #tokens: Bucket | undefined;
  #filledMs: number;
  #pausedUntilMs = 0;

  constructor(limits: { readonly requestsPerMinute?: number | undefined; readonly tokensPerMinute?: number | undefined }, nowMs: number) {
    this.#requests = bucketOf(limits.requestsPerMinute);
    this.#tokens = bucketOf(limits.tokensPerMinute);
    this.#filledMs = nowMs;
  }

  /**
   * Takes a request of so many tokens.
   *
   * @returns 0 if it may be sent; else the wait until the next try, in milliseconds, and nothing was taken
   */
  take(tokens: number, nowMs: number): number {
    this.#fill(nowMs);
    const waitMs = Math.max(
      this.#pausedUntilMs - nowMs,
      waitFor(this.#requests, 1),
      // A request beyond the whole bucket goes when that is full.
      waitFor(this.#tokens, Math.min(tokens, this.#tokens?.perMinute ?? 0)),
    );
    if (waitMs > 0) return Math.ceil(waitMs - ROUNDING * MINUTE_MS);
    if (this.#requests !== undefined) this.#requests.level -= 1;
    if (this.#tokens !== undefined) this.#tokens.level -= tokens;
    return 0;
  }

  /** Corrects an estimate. @param more - tokens beyond it, below 0 if there were fewer */
  settle(more: number): void {
    if (this.#tokens !== undefined) this.#tokens.level = Math.min(this.#tokens.perMinute, this.#tokens.level - more);
  }

  /** Holds all requests back, as the server asked. */
  pauseUntil(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, ms);
  }

  #fill(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - this.#filledMs);
    this.#filledMs = nowMs;
    for (const bucket of [this.#requests, this.#tokens])
      if (bucket !== undefined) bucket.level = Math.min(bucket.perMinute, bucket.level + (bucket.perMinute * passedMs) / MINUTE_MS);
  }
}

const MINUTE_MS = 60_000;
/** Parts of a minute sum up to a little less than a whole request. */
const ROUNDING = 1e-9;

function bucketOf(perMinute: number | undefined): Bucket | undefined {
  return perMinute === undefined ? undefined : { perMinute, level: perMinute };
}

function waitFor(bucket: Bucket | undefined, amount: number): number {
  if (bucket === undefined || bucket.level >= amount - ROUNDING) return 0;
  return ((amount - bucket.level) * MINUTE_MS) / bucket.perMinute;
}
