/**
 * Codes of the links that `shoal dashboard` prints: each logs one browser in, once, within a minute.
 *
 * Kept in memory: a restart of the server ends them. Codes are compared by their digests, so the time of a comparison tells nothing.
 */
import { createHash, randomBytes } from "node:crypto";
import { LOGIN_CODE_MS, LOGIN_CODES_MAX } from "../limits.ts";

export class LoginCodes {
  /** Digests, with when each expires. */
  readonly #open = new Map<string, number>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  create(): string {
    const code = randomBytes(24).toString("base64url");
    if (this.#open.size >= LOGIN_CODES_MAX) this.#open.delete(this.#open.keys().next().value as string);
    this.#open.set(digestOf(code), this.#nowMs() + LOGIN_CODE_MS);
    return code;
  }

  /** @returns whether the code was good; it is not any more */
  use(code: string): boolean {
    const digest = digestOf(code);
    const untilMs = this.#open.get(digest);
    this.#open.delete(digest);
    return untilMs !== undefined && untilMs > this.#nowMs();
  }
}

function digestOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
