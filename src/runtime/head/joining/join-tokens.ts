/**
 * Makes, ages and revokes join tokens, and limits attempts to use one. Pure: time comes with each call.
 *
 * Only the hash of a token's secret is stored, so readers of the tables cannot join. Attempts are counted in a bucket for each address. A
 * secret of 256 bits cannot be guessed, so the limit only has to keep attempts cheap for the head.
 */
import { sha256Hex } from "../../os/digest.ts";
import { tokensEqual } from "../../os/random.ts";

/** As it is stored in the cluster's tables. */
export interface JoinTokenRecord {
  /** SHA-256 of the secret. */
  id: string;
  createdAtMs: number;
  /** Undefined: good until it is revoked. */
  expiresAtMs: number | undefined;
  revokedAtMs: number | undefined;
}

const TRIES_PER_SECOND = 5;
/** Addresses whose tries are remembered; the one that tried the longest ago is forgotten. */
const ADDRESSES_MAX = 1024;

export class JoinTokens {
  readonly #records = new Map<string, JoinTokenRecord>();
  readonly #tries = new Map<string, { left: number; atMs: number }>();

  /** Takes over stored records. */
  constructor(records: Iterable<JoinTokenRecord> = []) {
    for (const record of records) this.#records.set(record.id, record);
  }

  get records(): JoinTokenRecord[] {
    return [...this.#records.values()];
  }

  add(secret: string, options: { nowMs: number; ageMaxMs?: number | undefined }): JoinTokenRecord {
    const { nowMs, ageMaxMs } = options;
    const expiresAtMs = ageMaxMs === undefined ? undefined : nowMs + ageMaxMs;
    const record: JoinTokenRecord = { id: sha256Hex(secret), createdAtMs: nowMs, expiresAtMs, revokedAtMs: undefined };
    this.#records.set(record.id, record);
    return record;
  }

  /** Prevents further joins with a token; joined nodes stay. Returns the record to store, or undefined for an unknown id. */
  revoke(id: string, nowMs: number): JoinTokenRecord | undefined {
    const record = this.#records.get(id);
    if (record === undefined) return undefined;
    const revoked = { ...record, revokedAtMs: record.revokedAtMs ?? nowMs };
    this.#records.set(id, revoked);
    return revoked;
  }

  /** Whether a secret is valid; does not count as an attempt. */
  isGood(secret: string, nowMs: number): boolean {
    const record = this.#records.get(sha256Hex(secret));
    if (record === undefined || record.revokedAtMs !== undefined) return false;
    return record.expiresAtMs === undefined || nowMs < record.expiresAtMs;
  }

  /** Returns the reason to refuse a secret from an address, or undefined to accept it. */
  refusalOf(secret: string, options: { from: string; nowMs: number }): string | undefined {
    const { from, nowMs } = options;
    if (!this.#mayTry(from, nowMs)) return `more than ${TRIES_PER_SECOND} tries a second came from ${from}`;
    const id = sha256Hex(secret);
    let found: JoinTokenRecord | undefined;
    // All are compared, each in constant time, so that the duration reveals nothing.
    for (const record of this.#records.values()) if (tokensEqual(id, record.id)) found = record;
    if (found === undefined) return "it is not one of this cluster";
    if (found.revokedAtMs !== undefined) return `it was revoked at ${new Date(found.revokedAtMs).toISOString()}`;
    if (found.expiresAtMs !== undefined && nowMs >= found.expiresAtMs)
      return `it was good until ${new Date(found.expiresAtMs).toISOString()}`;
    return undefined;
  }

  #mayTry(from: string, nowMs: number): boolean {
    const before = this.#tries.get(from);
    const refilled = before === undefined ? TRIES_PER_SECOND : before.left + ((nowMs - before.atMs) * TRIES_PER_SECOND) / 1000;
    const left = Math.min(TRIES_PER_SECOND, refilled) - 1;
    // Moves the address to the end: the map's first entry has the oldest attempt.
    this.#tries.delete(from);
    this.#tries.set(from, { left: Math.max(0, left), atMs: nowMs });
    if (this.#tries.size > ADDRESSES_MAX) this.#tries.delete(this.#tries.keys().next().value as string);
    return left >= 0;
  }
}
