/**
 * A connection to the cluster that is made again: for a process that outlives the node through which it asks.
 *
 * The first question connects. After the node has gone, the next question looks for its successor of the same cluster. Owned by the HTTP
 * server.
 */
import type { NodeId } from "../../runtime/base/ids.ts";
import type { Reply, RequestOptions } from "../../runtime/rpc/peer-connection.ts";
import type { ReplyTo } from "../../runtime/wire/tables/replies.ts";
import { type ClusterConnection, connectToCluster } from "./cluster-connection.ts";

/** Asks the head or a daemon of a cluster. */
export interface ClusterQuestions {
  ask<N extends number>(type: N, header: unknown, options?: RequestOptions): Promise<ReplyTo<N>>;
  request<N extends number>(type: N, header: unknown, options?: RequestOptions): Promise<Reply<ReplyTo<N>>>;
}

export class ClusterLink implements ClusterQuestions, Disposable {
  readonly #address: string;
  #connection: Promise<ClusterConnection> | undefined;

  /** @param address of the cluster's head */
  constructor(address: string) {
    this.#address = address;
  }

  /** @throws ShoalError when no node of the cluster runs here, or the head does not answer */
  async ask<N extends number>(type: N, header: unknown, options?: RequestOptions): Promise<ReplyTo<N>> {
    return (await this.request(type, header, options)).header;
  }

  async request<N extends number>(type: N, header: unknown, options?: RequestOptions): Promise<Reply<ReplyTo<N>>> {
    return await (await this.#connected()).request(type, header, options);
  }

  /** The node through which it asks: that of this machine. */
  async node(): Promise<NodeId> {
    return (await this.#connected()).node.nodeId;
  }

  async #connected(): Promise<ClusterConnection> {
    const known = this.#connection;
    if (known !== undefined) {
      const connection = await known.catch(() => undefined);
      if (connection?.isOpen === true) return connection;
      if (this.#connection === known) this.#connection = undefined;
    }
    this.#connection ??= connectToCluster(this.#address);
    return await this.#connection;
  }

  [Symbol.dispose](): void {
    this.#connection?.then(
      (connection) => connection[Symbol.dispose](),
      () => {},
    );
    this.#connection = undefined;
  }
}
