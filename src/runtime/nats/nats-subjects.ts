/**
 * Maps the keys of a store to NATS subjects, and defines the headers of their messages.
 *
 * Each cluster has one stream, laid out like a key-value bucket of NATS, so that `nats kv` can show a store. Beside the keys the stream has
 * two internal subjects: barriers, which prove a listing complete, and the mark of the last compaction.
 */
import type { StoredMessage } from "./stream-api.ts";

export const HEADER = {
  EXPECTED_SEQUENCE: "Nats-Expected-Last-Subject-Sequence",
  BATCH_ID: "Nats-Batch-Id",
  BATCH_SEQUENCE: "Nats-Batch-Sequence",
  BATCH_COMMIT: "Nats-Batch-Commit",
  OPERATION: "KV-Operation",
  /** Transaction that wrote the message, by which the result is found after a lost answer. */
  TRANSACTION: "Shoal-Transaction",
} as const;

export const DELETION = "DEL";

const CLUSTER_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Prefix of a cluster's bus subjects in NATS. */
export function busPrefix(cluster: string): string {
  return `shoal.${cluster}.bus.`;
}

export class NatsSubjects {
  readonly stream: string;
  readonly #keys: string;
  readonly barrier: string;
  readonly compaction: string;

  constructor(cluster: string) {
    if (!CLUSTER_NAME.test(cluster)) {
      throw new RangeError(`Cannot open a control store: a cluster's name has 1 to 64 letters, digits, "_" and "-": received ${cluster}`);
    }
    const bucket = `shoal_${cluster}`;
    this.stream = `KV_${bucket}`;
    this.#keys = `$KV.${bucket}`;
    this.barrier = `shoal.${cluster}.store.barrier`;
    this.compaction = `shoal.${cluster}.store.compaction`;
  }

  /** All subjects of the stream. */
  get all(): string[] {
    return [`${this.#keys}.>`, this.barrier, this.compaction];
  }

  ofKey(key: string): string {
    return `${this.#keys}.${key}`;
  }

  /** Two subjects: a prefix may be a key itself. */
  underPrefix(prefix: string): string[] {
    return prefix === "" ? [`${this.#keys}.>`] : [this.ofKey(prefix), `${this.ofKey(prefix)}.>`];
  }

  /** @returns undefined for the store's internal subjects */
  keyOf(subject: string): string | undefined {
    return subject.startsWith(`${this.#keys}.`) ? subject.slice(this.#keys.length + 1) : undefined;
  }
}

export function isDeletion({ headers }: Pick<StoredMessage, "headers">): boolean {
  return headers.has(HEADER.OPERATION);
}
