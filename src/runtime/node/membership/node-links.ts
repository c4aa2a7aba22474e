/**
 * The links of a daemon: to the head, and to other nodes' daemons, opened on the first message.
 *
 * The head reports the nodes. A link outlives its connections (`runtime/rpc/node-link.ts`) and ends for good when the head declares the node dead; its kept messages are
 * dropped then.
 */
import { type NodeId, type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import type { Transport } from "../../os/network/transport.ts";
import { NodeLink } from "../../rpc/node-link.ts";
import type { PeerConnection } from "../../rpc/peer-connection.ts";
import type { NodeInfoHeader } from "../../wire/cluster/cluster-messages.ts";
import type { Frame } from "../../wire/frame.ts";
import type { LinkHelloHeader } from "../../wire/messages.ts";
import { isWireError } from "../../wire/wire-error.ts";
import { ANSWERS_WITHIN_MS } from "./limits.ts";

const HEAD_BACK_OFF_MS = 250;

interface NodeLinksOptions {
  self: { nodeId: NodeId; processId: ProcessId; incarnation: string };
  token: string;
  connect: (node: NodeInfoHeader) => Promise<Transport>;
  /** Connects to the next place where the head may be. */
  connectHead: () => Promise<Transport>;
  /** Why a head is not to be listened to, which is one that was replaced. */
  refusesHead: (term: number | undefined) => string | undefined;
  /** Whether the head may be at one of several places, which are then tried faster. */
  hasHeads: () => boolean;
  /** Called for each frame. `source`: the proven identity of the other end. */
  onFrame: (frame: Frame, source: NodeTag | "head") => void;
  /** The head answers; `isNew`: it knows nothing of this node yet, and what is sent now goes before all else. */
  onHeadUp: (head: { isNew: boolean; term: number | undefined }) => void;
  onHeadDown: (error: Error) => void;
  /** The head has declared this node dead: its place was given to others. */
  onDeclaredDead: (reason: string) => void;
}

export class NodeLinks {
  readonly head: NodeLink;
  readonly #options: NodeLinksOptions;
  readonly #nodes = new Map<NodeTag, NodeInfoHeader>();
  readonly #links = new Map<NodeTag, NodeLink>();

  constructor(options: NodeLinksOptions) {
    this.#options = options;
    const { self, token, connectHead, refusesHead, hasHeads, onHeadUp, onHeadDown } = options;
    this.head = new NodeLink({
      self,
      token,
      connect: connectHead,
      refusesPeer: ({ term }) => refusesHead(term),
      openWithinMs: () => (hasHeads() ? ANSWERS_WITHIN_MS : undefined),
      backOffMaxMs: () => (hasHeads() ? HEAD_BACK_OFF_MS : undefined),
      onFrame: (frame) => options.onFrame(frame, "head"),
      onUp: onHeadUp,
      onDown: (error) => {
        if (isWireError(error, "deadNode")) options.onDeclaredDead(error.message);
        onHeadDown(error);
      },
    });
  }

  /** A connection of another node's daemon. */
  accept(transport: Transport, hello: LinkHelloHeader): void {
    this.#link(hello.nodeId).accept(transport, hello);
  }

  /** The head has said that the node is dead. */
  isDead(tag: NodeTag): boolean {
    return this.#nodes.get(tag)?.alive === false;
  }

  linkTo(tag: NodeTag): PeerConnection | undefined {
    const known = this.#links.get(tag);
    if (known !== undefined) return known;
    const node = this.#nodes.get(tag);
    return node?.alive === true ? this.#link(node.nodeId) : undefined;
  }

  /** The other nodes that are alive, as far as the head has told. */
  others(): NodeInfoHeader[] {
    return Array.from(this.#nodes.values()).filter(({ nodeId, alive }) => alive && nodeId !== this.#options.self.nodeId);
  }

  linked(): Iterable<NodeTag> {
    return this.#links.keys();
  }

  nodesChanged(nodes: readonly NodeInfoHeader[]): void {
    for (const node of nodes) {
      const tag = nodeTagOf(node.nodeId);
      this.#nodes.set(tag, node);
      if (node.alive) continue;
      this.#links.get(tag)?.close(node.reason ?? "the node is dead");
      this.#links.delete(tag);
    }
  }

  /** Where the daemon of a node listens. @throws for one that is not known, or dead */
  addressOf(tag: NodeTag): { address: string; nodeId: NodeId } {
    const node = this.#nodes.get(tag);
    if (node === undefined || !node.alive) throw new Error(`node ${tag} is not of the cluster any more`);
    return node;
  }

  close(): void {
    this.head.close("the node ends");
    for (const link of this.#links.values()) link.close("the node ends");
    this.#links.clear();
  }

  #link(nodeId: NodeId): NodeLink {
    const tag = nodeTagOf(nodeId);
    let link = this.#links.get(tag);
    if (link === undefined) {
      const { self, token, onFrame } = this.#options;
      link = new NodeLink({ self, token, peerNodeId: nodeId, connect: () => this.#connect(tag), onFrame: (frame) => onFrame(frame, tag) });
      this.#links.set(tag, link);
    }
    return link;
  }

  #connect(tag: NodeTag): Promise<Transport> {
    const node = this.#nodes.get(tag);
    // The node has spoken before the head's report, which follows in a moment.
    if (node === undefined) return Promise.reject(new Error("the head has not told of that node yet"));
    return this.#options.connect(node);
  }
}
