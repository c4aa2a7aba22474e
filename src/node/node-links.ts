/**
 * The links of a daemon to the daemons of other nodes: opened when there is something to say, kept until the other node is dead.
 *
 * Each side opens one for what it has to say, so two daemons that begin at once are not in each other's way. Which nodes there are is told by the head.
 */
import { type NodeTag, nodeTagOf } from "../base/ids.ts";
import { DeferredTransport } from "../platform/deferred-transport.ts";
import type { Transport } from "../platform/transport.ts";
import { Connection } from "../rpc/connection.ts";
import type { PeerConnection } from "../rpc/peer-connection.ts";
import type { NodeInfoHeader } from "../wire/cluster-messages.ts";
import { type HelloHeader, MESSAGE } from "../wire/messages.ts";

export interface NodeLinksOptions {
  hello: () => HelloHeader;
  connect: (address: string) => Promise<Transport>;
}

export class NodeLinks {
  readonly #options: NodeLinksOptions;
  readonly #nodes = new Map<NodeTag, NodeInfoHeader>();
  readonly #links = new Map<NodeTag, Connection>();

  constructor(options: NodeLinksOptions) {
    this.#options = options;
  }

  linkTo(tag: NodeTag): PeerConnection | undefined {
    const known = this.#links.get(tag);
    if (known !== undefined) return known;
    const node = this.#nodes.get(tag);
    if (node === undefined || !node.alive) return undefined;
    const link = this.#open(node);
    this.#links.set(tag, link);
    return link;
  }

  linked(): Iterable<NodeTag> {
    return this.#links.keys();
  }

  nodesChanged(nodes: readonly NodeInfoHeader[]): void {
    for (const node of nodes) {
      const tag = nodeTagOf(node.nodeId);
      this.#nodes.set(tag, node);
      if (node.alive) continue;
      this.#links.get(tag)?.drop(node.reason ?? "the node is dead");
      this.#links.delete(tag);
    }
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
  }

  #open({ address }: NodeInfoHeader): Connection {
    const transport = new DeferredTransport(() => {});
    const link = new Connection(transport, { trusted: true });
    void link.request(MESSAGE.HELLO, this.#options.hello()).catch((error: unknown) => link.drop((error as Error).message));
    this.#options.connect(address).then(
      (connected) => transport.connected(connected),
      (error: unknown) => transport.failed((error as Error).message),
    );
    return link;
  }
}
