/**
 * The bus of a cluster: NATS's own messages, below a prefix that keeps clusters on one NATS apart.
 *
 * A message published while the connection is down is dropped, not queued. A late heartbeat would be false, and a queue would grow without
 * bound while the network is gone. The connection belongs to the caller and is shared with the store.
 */
import { messageOf } from "../base/texts/describe.ts";
import type { Msg, Subscription } from "@nats-io/transport-node";
import { type Bus, type BusOptions, type BusSubscription, throwUncaught } from "../control-plane/bus.ts";
import { checkMessage, checkSubject } from "../control-plane/subjects.ts";
import { busClosed, nobodyAnswers, refusedBy, timedOut } from "../control-plane/control-plane-errors.ts";
import type { NatsLink } from "./nats-link.ts";
import { busPrefix } from "./nats-subjects.ts";

interface NatsBusOptions extends BusOptions {
  /** Default "default", as of the store. */
  readonly cluster?: string;
}

/** In an answer: the responder threw, and the body says what. */
const FAILED_HEADER = "Shoal-Failed";

export class NatsBus implements Bus {
  readonly #link: NatsLink;
  readonly #prefix: string;
  readonly #onError: (error: unknown) => void;
  readonly #subscriptions = new Set<Subscription>();
  readonly #openRequests = new Set<(error: Error) => void>();
  #isClosed = false;

  constructor(link: NatsLink, { cluster = "default", onError = throwUncaught }: NatsBusOptions = {}) {
    this.#link = link;
    this.#prefix = busPrefix(cluster);
    this.#onError = onError;
  }

  publish(subject: string, data: Uint8Array): void {
    checkMessage(subject, data);
    this.#assertOpen(subject);
    // The client writes to its socket later, from the very bytes that it was given.
    if (this.#link.isConnected) this.#link.connection.publish(this.#prefix + subject, data.slice());
  }

  subscribe(subject: string, handle: (data: Uint8Array) => void): BusSubscription {
    return this.#add(subject, (message) => {
      try {
        handle(message.data);
      } catch (error) {
        this.#onError(error);
      }
    });
  }

  async request(subject: string, data: Uint8Array, { timeoutMs }: { timeoutMs: number }): Promise<Uint8Array> {
    checkMessage(subject, data);
    this.#assertOpen(subject);
    const closed = Promise.withResolvers<never>();
    this.#openRequests.add(closed.reject);
    try {
      const answer = await Promise.race([
        this.#link.connection.request(this.#prefix + subject, data.slice(), { timeout: timeoutMs }),
        closed.promise,
      ]);
      if (answer.headers?.has(FAILED_HEADER) === true) throw refusedBy(subject, answer.string());
      return answer.data;
    } catch (error) {
      throw this.#worded(error, subject, timeoutMs);
    } finally {
      this.#openRequests.delete(closed.reject);
    }
  }

  respond(subject: string, answer: (data: Uint8Array) => Uint8Array | Promise<Uint8Array>): BusSubscription {
    return this.#add(subject, (message) => void this.#answer(message, answer));
  }

  async flush(): Promise<void> {
    await this.#link.connection.flush();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    this.#subscriptions.clear();
    for (const reject of this.#openRequests) reject(busClosed("a request"));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #answer(message: Msg, answer: (data: Uint8Array) => Uint8Array | Promise<Uint8Array>): Promise<void> {
    try {
      const data = await answer(message.data);
      if (!this.#link.connection.isClosed()) message.respond(data.slice());
    } catch (error) {
      if (this.#link.connection.isClosed()) return;
      const text = messageOf(error);
      message.respond(Buffer.from(text, "utf8"), { headers: this.#link.headers({ [FAILED_HEADER]: "1" }) });
    }
  }

  #add(subject: string, deliver: (message: Msg) => void): BusSubscription {
    checkSubject(subject);
    this.#assertOpen(subject);
    const subscription = this.#link.connection.subscribe(this.#prefix + subject, {
      callback: (error, message) => {
        if (error !== null) this.#onError(error);
        else if (!subscription.isClosed()) deliver(message);
      },
    });
    this.#subscriptions.add(subscription);
    return {
      close: () => {
        subscription.unsubscribe();
        this.#subscriptions.delete(subscription);
      },
    };
  }

  #worded(error: unknown, subject: string, timeoutMs: number): unknown {
    if (this.#link.isNoResponders(error)) return nobodyAnswers(subject);
    if (this.#link.isTimeout(error)) return timedOut(subject, timeoutMs);
    return this.#link.connection.isClosed() ? busClosed(subject) : error;
  }

  #assertOpen(subject: string): void {
    if (this.#isClosed || this.#link.connection.isClosed()) throw busClosed(subject);
  }
}
