/**
 * What a node shows to NATS: a key of its own that never leaves it, and a token of the head for it that is renewed before it ends.
 *
 * Decides when to renew (at half of the token's time, then every half minute until it works). A connection is kept until the end of the token with which it was made; the server
 * closes it then and the client connects anew with the newest, which takes a tenth of a second a day. Time is measured on this machine's clock from the moment
 * of the answer, so nodes need not agree with the head about the time of day.
 */
import { createNatsKey } from "../../platform/nats/nats-keys.ts";
import type { NatsLogin } from "../../platform/nats/nats-login-files.ts";

interface NodeCredentialsOptions {
  /** Asks a head for a token for this public key. `ttlMs`: how long it holds from now. */
  readonly renew: (publicKey: string) => Promise<{ readonly token: string; readonly ttlMs: number }>;
  /** A renewal that failed, with the milliseconds that are left of the token. */
  readonly onFailure?: (error: unknown, leftMs: number) => void;
}

const RETRY_MS = 30_000;

export class NodeCredentials implements Disposable {
  readonly publicKey: string;
  readonly #seed: string;
  readonly #options: NodeCredentialsOptions;
  #token = "";
  #endsAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(options: NodeCredentialsOptions) {
    const key = createNatsKey("user");
    this.publicKey = key.publicKey;
    this.#seed = key.seed;
    this.#options = options;
  }

  /** Resolves with the first token. @throws what `renew` throws */
  static async obtain(options: NodeCredentialsOptions): Promise<NodeCredentials> {
    const credentials = new NodeCredentials(options);
    credentials.#plan(await credentials.#renew());
    return credentials;
  }

  /** For `NatsOptions.credentials`. */
  readonly current = (): NatsLogin => ({ token: this.#token, seed: this.#seed });

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #renew(): Promise<number> {
    const { token, ttlMs } = await this.#options.renew(this.publicKey);
    this.#token = token;
    this.#endsAt = performance.now() + ttlMs;
    return ttlMs / 2;
  }

  #plan(inMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#tryAgain(), inMs);
    this.#timer.unref();
  }

  async #tryAgain(): Promise<void> {
    try {
      this.#plan(await this.#renew());
    } catch (error) {
      const leftMs = this.#endsAt - performance.now();
      this.#options.onFailure?.(error, leftMs);
      // Short-lived ones, as in tests, are tried for in their own measure.
      this.#plan(Math.min(RETRY_MS, Math.max(100, leftMs / 4)));
    }
  }
}
