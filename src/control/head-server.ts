/**
 * The head's side of its links: which nodes there are, and what becomes of what they say.
 *
 * A node registers and is told the others, and they of it; from then on its processes' questions go to the head (`head.ts`) and its events, too. What is asked of
 * the whole cluster (its nodes, its resources) is answered here. A node whose link ends is dead: it is told to all, and its place in the head's tables ends.
 */
import { type ActorId, type NodeId, type NodeTag, nodeTagOf, type ProcessId } from "../base/ids.ts";
import { RESOURCE_UNIT } from "../base/resources.ts";
import type { Transport } from "../platform/transport.ts";
import { acceptPeer } from "../rpc/handshake.ts";
import { mustHold } from "../rpc/link-abuse.ts";
import { NodeLink } from "../rpc/node-link.ts";
import type { PeerConnection } from "../rpc/peer-connection.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import type {
  ClusterStatusHeader,
  HeadEventHeader,
  JoinTokensHeader,
  NodeInfoHeader,
  NodeRegisterHeader,
  NodeReportHeader,
  RoutedHeader,
} from "../wire/cluster-messages.ts";
import type { Frame } from "../wire/frame.ts";
import { decodeHeader } from "../wire/header.ts";
import { type LinkHelloHeader, MESSAGE } from "../wire/messages.ts";
import type { Head } from "./head.ts";
import type { HeadSecurity } from "./head-security.ts";
import { clusterStatus } from "./cluster-status.ts";
import { checkRegistration, checkWord, type NodeWord } from "./node-speech.ts";
import { RemoteNode } from "./remote-node.ts";

/** Dead nodes are remembered for whoever lists them; the oldest are forgotten. */
const DEAD_MAX = 1000;

export interface HeadServerOptions {
  head: Head;
  self: { nodeId: NodeId; processId: ProcessId; incarnation: string };
  token: string;
  /** Undefined for a head that only its own machine reaches. */
  security?: HeadSecurity | undefined;
}

/** How long a node whose connection broke may take to come back. */
const CLOSED_AFTER_MS = 2000;

export class HeadServer {
  readonly #head: Head;
  readonly #options: HeadServerOptions;
  readonly #links = new Map<NodeTag, NodeLink>();
  readonly #nodes = new Map<NodeTag, RemoteNode>();
  readonly #dead: NodeInfoHeader[] = [];
  readonly #startedMs = Date.now();

  constructor(options: HeadServerOptions) {
    this.#options = options;
    this.#head = options.head;
  }

  /** Somebody connects to the head. */
  accept(transport: Transport): void {
    const { token, self } = this.#options;
    acceptPeer(transport, {
      token,
      nodeId: self.nodeId,
      processId: self.processId,
      isDead: (tag) => this.isDead(tag),
      onPeer: (connection) => connection.drop("nodes speak to the head over links"),
      onLink: (arrived, hello) => this.#acceptLink(arrived, hello),
    });
  }

  #acceptLink(transport: Transport, hello: LinkHelloHeader): void {
    const tag = nodeTagOf(hello.nodeId);
    let link = this.#links.get(tag);
    if (link === undefined) {
      link = this.#newLink(hello.nodeId);
      this.#links.set(tag, link);
    }
    link.accept(transport, hello);
  }

  #newLink(nodeId: NodeId): NodeLink {
    const { self, token } = this.#options;
    let node: RemoteNode | undefined;
    let timer: NodeJS.Timeout | undefined;
    const link: NodeLink = new NodeLink({
      self: { ...self, kind: "head" },
      token,
      peerNodeId: nodeId,
      onFrame: (frame) => {
        if (frame.type === MESSAGE.NODE_REGISTER) {
          const [facts, report] = checkRegistration(nodeId, headerOf(frame));
          link.reply(frame.callId, undefined);
          node = this.#register(link, facts, report);
        } else if (frame.type === MESSAGE.CERTIFICATE_RENEW) {
          this.#renew(link, frame, nodeId);
        } else if (node !== undefined) {
          const word = checkWord(nodeId, frame.type, headerOf(frame));
          if (word.kind === "event") this.#mustCount(nodeId, word.event);
          this.#receive(node, word, frame.body);
        }
      },
      onUp: () => clearTimeout(timer),
      onDown: (reason) => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          link.close(reason);
          if (node !== undefined) this.#gone(node, `its connection to the head ended: ${reason}`);
        }, CLOSED_AFTER_MS);
      },
    });
    return link;
  }

  #register(link: PeerConnection, facts: NodeRegisterHeader, report: NodeReportHeader): RemoteNode {
    const node = new RemoteNode(link, facts, report);
    this.#nodes.set(nodeTagOf(facts.nodeId), node);
    node.nodesChanged(this.list());
    for (const other of this.#nodes.values()) if (other !== node) other.nodesChanged([infoOf(node)]);
    this.#head.addNode(node);
    return node;
  }

  #receive(node: RemoteNode, word: NodeWord, body: Uint8Array): void {
    switch (word.kind) {
      case "report":
        node.reported(word.report);
        this.#head.nodeReported(node.nodeId, word.report);
        return;
      case "event": {
        const [name, ...args] = word.event;
        (this.#head[name] as (...given: unknown[]) => void)(...args);
        return;
      }
      case "routed":
        this.#routed(node, word.routed, body);
        return;
    }
  }

  /** The link of a node has ended for good. */
  #gone(node: RemoteNode, reason: string): void {
    if (!this.#nodes.delete(nodeTagOf(node.nodeId))) return;
    const info: NodeInfoHeader = { ...infoOf(node), alive: false, reason, goneMs: Date.now() };
    this.#dead.push(info);
    if (this.#dead.length > DEAD_MAX) this.#dead.shift();
    for (const other of this.#nodes.values()) other.nodesChanged([info]);
    this.#head.nodeGone(node.nodeId, reason);
  }

  *livingNodes(): Iterable<NodeId> {
    for (const node of this.#nodes.values()) yield node.nodeId;
  }

  /** It ended, or was said to be dead: it does not come back under its id. */
  isDead(node: NodeId | NodeTag): boolean {
    return this.#dead.some(({ nodeId }) => nodeTagOf(nodeId) === nodeTagOf(node));
  }

  /** All nodes, the dead among them. */
  list(): NodeInfoHeader[] {
    return [...Array.from(this.#nodes.values(), infoOf), ...this.#dead];
  }

  /** Only where an actor's handles are counted is known that nobody has one. */
  #mustCount(node: NodeId, [name, actor]: HeadEventHeader): void {
    const creator = name === "unheld" ? this.#head.creatorOf(actor as ActorId) : undefined;
    const isThere = creator === undefined || nodeTagOf(creator) === nodeTagOf(node);
    mustHold(isThere, `it tells unheld of ${String(actor)}, whose handles another node counts`);
  }

  #renew(link: PeerConnection, frame: Frame, nodeId: NodeId): void {
    try {
      const { security } = this.#options;
      if (security === undefined) throw new Error("this cluster has no certificates");
      link.reply(frame.callId, security.renew(nodeId, headerOf(frame)));
    } catch (error) {
      link.replyError(frame.callId, (error as Error).message);
    }
  }

  #joinTokens(peer: HeadPeer, callId: number, asked: JoinTokensHeader): void {
    const { security } = this.#options;
    const answer =
      security === undefined
        ? Promise.reject(new Error("this head has no join tokens: only its own machine reaches it, and it keeps nothing in a folder"))
        : security.joinTokens(asked);
    answer.then(
      (reply) => peer.connection.reply(callId, reply),
      (error: unknown) => peer.connection.replyError(callId, (error as Error).message),
    );
  }

  #routed(node: RemoteNode, [from, , type, callId, flags, header]: RoutedHeader, body: Uint8Array): void {
    const peer = node.peer(from);
    switch (type) {
      case MESSAGE.NODES:
        peer.connection.reply(callId, this.list());
        return;
      case MESSAGE.RESOURCES:
        peer.connection.reply(callId, { ...this.#resources(), store: (header as { store: unknown }).store });
        return;
      case MESSAGE.CLUSTER_STATUS:
        peer.connection.reply(callId, this.#status());
        return;
      case MESSAGE.JOIN_TOKENS:
        this.#joinTokens(peer, callId, header as JoinTokensHeader);
        return;
      default:
        this.#head.receive(peer, { type, callId, flags, body }, header);
    }
  }

  #status(): ClusterStatusHeader {
    return clusterStatus({
      nodes: this.#nodes.values(),
      stateOf: () => "alive",
      gone: this.#dead,
      waiting: [],
      startedMs: this.#startedMs,
    });
  }

  #resources(): { total: Record<string, number>; available: Record<string, number> } {
    const total: Record<string, number> = {};
    const available: Record<string, number> = {};
    for (const node of this.#nodes.values()) {
      const view = node.view();
      for (const [name, units] of view.total) total[name] = (total[name] ?? 0) + units / RESOURCE_UNIT;
      for (const [name, units] of view.free) available[name] = (available[name] ?? 0) + units / RESOURCE_UNIT;
    }
    return { total, available };
  }
}

function headerOf(frame: Frame): unknown {
  return frame.header.length === 0 ? undefined : decodeHeader(frame.header);
}

function infoOf({ facts }: RemoteNode): NodeInfoHeader {
  const { version: _version, pid: _pid, incarnation: _incarnation, ...info } = facts;
  return { ...info, alive: true };
}
