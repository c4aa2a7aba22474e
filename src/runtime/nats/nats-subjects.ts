/**
 * Where the keys of a store lie in NATS, and what the messages there mean.
 *
 * One stream for each cluster, laid out as NATS's own key-value buckets are, so that `nats kv` shows what a store holds. Beside the keys it has two
 * subjects of its own: barriers (a listing's proof that it is complete) and the mark of the last compaction.
 */
import type { StoredMessage } from "./stream-api.ts";

export const HEADER = {
  EXPECTED_SEQUENCE: "Nats-Expected-Last-Subject-Sequence",
  BATCH_ID: "Nats-Batch-Id",
  BATCH_SEQUENCE: "Nats-Batch-Sequence",
  BATCH_COMMIT: "Nats-Batch-Commit",
  OPERATION: "KV-Operation",
  /** Which transaction wrote the message: how a lost answer is found again. */
  TRANSACTION: "Shoal-Transaction",
} as const;

export const DELETION = "DEL";

const CLUSTER_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** What the subjects of a cluster's bus begin with in NATS. */
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

  /** @returns undefined for the store's own subjects */
  keyOf(subject: string): string | undefined {
    return subject.startsWith(`${this.#keys}.`) ? subject.slice(this.#keys.length + 1) : undefined;
  }
}

export function isDeletion({ headers }: Pick<StoredMessage, "headers">): boolean {
  return headers.has(HEADER.OPERATION);
}
