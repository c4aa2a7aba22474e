/**
 * How the processes of a control plane talk when they do not have to remember: announcements, heartbeats, questions with an answer.
 *
 * Decides the contract that the memory bus and the NATS bus share:
 * - A message reaches the present subscribers at most once, and in order for one publisher and one subscriber. It is lost if there is no
 *   subscriber, if the connection is down, or if a subscriber is too slow; the control store is for data that must not be lost.
 * - A request fails at once when nobody subscribes to its subject, and after its `timeoutMs` in any case.
 * - A handler that throws ends neither the bus nor the subscription. The error goes to the requester, or to `onError`.
 */

export interface BusSubscription {
  /** No message is handed over after this. */
  close(): void;
}

/** Subscribers get private copies of the bytes. */
export interface Bus extends AsyncDisposable {
  publish(subject: string, data: Uint8Array): void;
  subscribe(subject: string, handle: (data: Uint8Array) => void): BusSubscription;
  /** @throws BusRequestError when nobody subscribes ("nobody answers"), in time ("timeout"), or the responder threw ("refused") */
  request(subject: string, data: Uint8Array, options: { timeoutMs: number }): Promise<Uint8Array>;
  respond(subject: string, answer: (data: Uint8Array) => Uint8Array | Promise<Uint8Array>): BusSubscription;
  /**
   * Resolves once this bus's earlier messages and subscriptions are at its server. The other servers of a cluster learn of a new
   * subscription some milliseconds later: a message or request from there may still find nobody.
   */
  flush(): Promise<void>;
  /** Ends subscriptions and open requests. */
  close(): Promise<void>;
}

/** Options of both buses. */
export interface BusOptions {
  /** Handles an error of a handler without a requester. Default: it is thrown on, as an uncaught error of the process. */
  readonly onError?: (error: unknown) => void;
}

export function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
