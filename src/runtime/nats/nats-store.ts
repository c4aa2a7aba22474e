/**
 * The control store of a cluster: one JetStream stream, replicated by Raft, whose last message of a subject is the value of a key.
 *
 * Avoids the traps of JetStream. By default readers may ask replicas, which are stale (5.9 % of reads right after an acknowledged write),
 * so this store reads from the stream's leader only. A listing proves itself complete by a barrier written before it. Writes survive a
 * power failure only because the server syncs them to disk before it acknowledges (`sync_interval: always`, see `nats-config.ts`).
 */
import { closedError } from "../control-plane/control-plane-errors.ts";
import { TRANSACTION_TIMEOUT_MS } from "../control-plane/limits.ts";
import type { ControlStore, StoreEntry, StoreTransaction, TransactionResult } from "../control-plane/control-store.ts";
import { checkKey, checkPrefix, checkTransaction } from "../control-plane/store-keys.ts";
import { randomHex } from "../os/random.ts";
import type { StoreServer } from "../wire/cluster/cluster-messages.ts";
import type { NatsLink } from "./nats-link.ts";
import { HEADER, isDeletion, NatsSubjects } from "./nats-subjects.ts";
import { runTransaction } from "./nats-transaction.ts";
import { findStoreServers } from "./store-servers.ts";
import { type StoredMessage, StreamApi, unavailable } from "./stream-api.ts";
import { StreamFeed } from "./stream-feed.ts";
import { openStream } from "./stream-config.ts";

interface NatsStoreOptions {
  /** Names the stream; several clusters can share one NATS. Default "default". */
  readonly cluster?: string;
  /** Servers that keep each change, of which a majority has to live: 1 or 3. Default 1. */
  readonly replicas?: number;
}

const TRANSACTION_ID_BYTES = 12;
const DELETIONS_AT_ONCE = 50;

export class NatsStore implements ControlStore {
  readonly #api: StreamApi;
  readonly #subjects: NatsSubjects;
  #isClosed = false;

  private constructor(api: StreamApi, subjects: NatsSubjects) {
    this.#api = api;
    this.#subjects = subjects;
  }

  /**
   * Opens the stream, and creates it if it does not exist. The link stays the caller's. @throws ControlPlaneUnavailableError when a
   * different stream has the name
   */
  static async open(link: NatsLink, { cluster = "default", replicas = 1 }: NatsStoreOptions = {}): Promise<NatsStore> {
    const subjects = new NatsSubjects(cluster);
    const api = new StreamApi({ link, stream: subjects.stream, timeoutMs: TRANSACTION_TIMEOUT_MS });
    await openStream(api, { subjects, replicas });
    return new NatsStore(api, subjects);
  }

  async get(key: string): Promise<StoreEntry | undefined> {
    checkKey(key, "read a key");
    this.#assertOpen();
    const message = await this.#api.lastMessage(this.#subjects.ofKey(key));
    return message === undefined || isDeletion(message) ? undefined : { key, value: message.data, revision: message.sequence };
  }

  async list(prefix: string): Promise<StoreEntry[]> {
    checkPrefix(prefix, "list keys");
    this.#assertOpen();
    const entries = new Map<string, StoreEntry>();
    await this.#readAll({ subjects: this.#subjects.underPrefix(prefix) }, (message) => {
      const key = this.#subjects.keyOf(message.subject);
      if (key === undefined) return;
      if (isDeletion(message)) entries.delete(key);
      else entries.set(key, { key, value: message.data, revision: message.sequence });
    });
    return [...entries.values()];
  }

  async transaction(transaction: StoreTransaction): Promise<TransactionResult> {
    checkTransaction(transaction);
    this.#assertOpen();
    const context = { api: this.#api, subjects: this.#subjects, newId: () => randomHex(TRANSACTION_ID_BYTES) };
    // Attempts happen later, and the client sends from the given bytes.
    const writes = transaction.writes.map((write) => ({ ...write, value: write.value?.slice() }));
    return await runTransaction(context, { ...transaction, writes });
  }

  /**
   * Returns the servers that keep the store, among these and others that they report. Returns undefined if one of them is neither found nor
   * already known. @throws ControlPlaneUnavailableError when nobody answers
   */
  async servers(urls: readonly string[], known: readonly StoreServer[]): Promise<readonly StoreServer[] | undefined> {
    this.#assertOpen();
    return await findStoreServers(this.#api, { urls, known });
  }

  async compact(): Promise<void> {
    this.#assertOpen();
    const last = await this.#api.lastMessage(this.#subjects.compaction);
    const forgottenUpTo = last?.sequence ?? 0;
    // If another head compacts at the same time, its compaction serves both.
    if ((await this.#write(this.#subjects.compaction, forgottenUpTo)) === undefined) return;
    const deletions: number[] = [];
    await this.#readAll({ subjects: this.#subjects.underPrefix(""), headersOnly: true }, (message) => {
      if (isDeletion(message) && message.sequence <= forgottenUpTo) deletions.push(message.sequence);
    });
    // By sequence and not by subject: a key that was written again in between has another one.
    for (let from = 0; from < deletions.length; from += DELETIONS_AT_ONCE) {
      await Promise.all(deletions.slice(from, from + DELETIONS_AT_ONCE).map((sequence) => this.#api.deleteMessage(sequence)));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Hands over every message. A barrier is written first: once it, or a later one, arrives, so has everything that was acknowledged before
   * this call, however far the feed's replica lags behind.
   */
  async #readAll(what: { subjects: readonly string[]; headersOnly?: boolean }, onMessage: (message: StoredMessage) => void): Promise<void> {
    const barrier = await this.#write(this.#subjects.barrier);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const feed = new StreamFeed({
      api: this.#api,
      ...what,
      subjects: [...what.subjects, this.#subjects.barrier],
      onMessage: (message) => {
        if (message.subject === this.#subjects.barrier && message.sequence >= (barrier as number)) resolve();
        else onMessage(message);
      },
      onFailure: reject,
    });
    const timer = setTimeout(() => reject(unavailable("a listing did not end")), TRANSACTION_TIMEOUT_MS * 2);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      feed.close();
    }
  }

  /**
   * Writes an empty message to one of the store's internal subjects, which may safely be written twice. @returns its sequence; undefined if
   * another message is the last
   */
  async #write(subject: string, expectedLast?: number): Promise<number | undefined> {
    const { link } = this.#api;
    const headers = link.headers(expectedLast === undefined ? {} : { [HEADER.EXPECTED_SEQUENCE]: String(expectedLast) });
    return await this.#api.publish(subject, headers);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw closedError();
  }
}
