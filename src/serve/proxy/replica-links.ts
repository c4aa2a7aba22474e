/**
 * The proxy's connections to its applications' replicas: one each, opened as soon as the replica is known, closed once no request uses it.
 */
import { REQUEST_SERVICE } from "../names.ts";
import { connectToActor, outsideCalls } from "../../core/internal.ts";
import { actorOf } from "../routing/process-routers.ts";
import type { RoutedReplica } from "../routing/replica-set.ts";
import { RequestClient } from "../wire/request-client.ts";

export class ReplicaLinks {
  readonly #clients = new Map<RoutedReplica, RequestClient | Promise<RequestClient>>();
  /** The deployment does not exist any more. */
  readonly over: () => void;

  constructor(over: () => void) {
    this.over = over;
  }

  /** Connects to a new replica, so that its first request does not wait for the connection. */
  added(replica: RoutedReplica): void {
    const client = this.clientOf(replica);
    // Requests that await this connection get the failure.
    if (client instanceof Promise) client.catch(() => {});
  }

  /** The replica ends by plan: its open streams are told. */
  retired(replica: RoutedReplica): void {
    const client = this.#clients.get(replica);
    if (client instanceof RequestClient) client.retire();
  }

  released(replica: RoutedReplica): void {
    const client = this.#clients.get(replica);
    this.#clients.delete(replica);
    if (client instanceof RequestClient) client.close();
    else client?.then((connected) => connected.close()).catch(() => {});
  }

  /** @throws ActorDiedError, ActorUnavailableError by the promise */
  clientOf(replica: RoutedReplica): RequestClient | Promise<RequestClient> {
    const known = this.#clients.get(replica);
    if (known !== undefined) return known;
    const connecting = outsideCalls(() => this.#connect(replica));
    this.#clients.set(replica, connecting);
    connecting.then(
      (client) => {
        if (this.#clients.get(replica) === connecting) this.#clients.set(replica, client);
      },
      () => {
        if (this.#clients.get(replica) === connecting) this.#clients.delete(replica);
      },
    );
    return connecting;
  }

  close(): void {
    for (const replica of this.#clients.keys()) this.released(replica);
  }

  async #connect(replica: RoutedReplica): Promise<RequestClient> {
    const client = new RequestClient(await connectToActor(await actorOf(replica), REQUEST_SERVICE));
    client.onClose = () => {
      if (this.#clients.get(replica) === client) this.#clients.delete(replica);
    };
    return client;
  }
}
