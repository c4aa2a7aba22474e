/**
 * Bus between parts of one process, for a machine without a cluster.
 *
 * Messages are copied and delivered in a later turn, as over a network. So code that works here relies neither on synchronous calls nor on
 * shared bytes. Several buses can share one `MemoryExchange`, as several clients share one NATS.
 */
import { messageOf } from "../base/texts/describe.ts";
import { busClosed, type BusRequestError, nobodyAnswers, refusedBy, timedOut } from "./control-plane-errors.ts";
import { type Bus, type BusOptions, type BusSubscription, throwUncaught } from "./bus.ts";
import { checkMessage, checkSubject } from "./subjects.ts";

interface Delivery {
  readonly data: Uint8Array;
  readonly reply: ((answer: Uint8Array | BusRequestError) => void) | undefined;
}

interface Subscriber {
  readonly subject: string;
  readonly deliver: (delivery: Delivery) => void;
}

/** State that the buses of one process share. */
export class MemoryExchange {
  readonly #subscribers = new Set<Subscriber>();

  add(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  /** @returns how many get it */
  send(subject: string, { data, reply }: Delivery): number {
    const receivers = [...this.#subscribers].filter((subscriber) => subscriber.subject === subject);
    for (const { deliver } of receivers) {
      const copy = data.slice();
      queueMicrotask(() => deliver({ data: copy, reply }));
    }
    return receivers.length;
  }
}

export class MemoryBus implements Bus {
  readonly #exchange: MemoryExchange;
  readonly #onError: (error: unknown) => void;
  readonly #closers = new Set<() => void>();
  #isClosed = false;

  constructor(exchange: MemoryExchange = new MemoryExchange(), { onError = throwUncaught }: BusOptions = {}) {
    this.#exchange = exchange;
    this.#onError = onError;
  }

  publish(subject: string, data: Uint8Array): void {
    checkMessage(subject, data);
    this.#assertOpen(subject);
    this.#exchange.send(subject, { data, reply: undefined });
  }

  subscribe(subject: string, handle: (data: Uint8Array) => void): BusSubscription {
    return this.#add(subject, ({ data }) => {
      try {
        handle(data);
      } catch (error) {
        this.#onError(error);
      }
    });
  }

  request(subject: string, data: Uint8Array, { timeoutMs }: { timeoutMs: number }): Promise<Uint8Array> {
    checkMessage(subject, data);
    this.#assertOpen(subject);
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const settle = (answer: Uint8Array | Error): void => {
      clearTimeout(timer);
      this.#closers.delete(close);
      if (answer instanceof Error) reject(answer);
      else resolve(answer);
    };
    const close = (): void => settle(busClosed(subject));
    const timer = setTimeout(() => settle(timedOut(subject, timeoutMs)), timeoutMs);
    this.#closers.add(close);
    if (this.#exchange.send(subject, { data, reply: settle }) === 0) settle(nobodyAnswers(subject));
    return promise;
  }

  respond(subject: string, answer: (data: Uint8Array) => Uint8Array | Promise<Uint8Array>): BusSubscription {
    return this.#add(subject, async ({ data, reply = () => {} }) => {
      try {
        reply((await answer(data)).slice());
      } catch (error) {
        reply(refusedBy(subject, messageOf(error)));
      }
    });
  }

  async flush(): Promise<void> {
    await Promise.resolve();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const close of this.#closers) close();
    this.#closers.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #add(subject: string, deliver: (delivery: Delivery) => unknown): BusSubscription {
    checkSubject(subject);
    this.#assertOpen(subject);
    let isOpen = true;
    const remove = this.#exchange.add({ subject, deliver: (delivery) => isOpen && deliver(delivery) });
    const close = (): void => {
      isOpen = false;
      remove();
      this.#closers.delete(close);
    };
    this.#closers.add(close);
    return { close };
  }

  #assertOpen(subject: string): void {
    if (this.#isClosed) throw busClosed(subject);
  }
}
