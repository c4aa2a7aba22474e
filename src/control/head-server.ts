/**
 * The head's side of its links: which nodes there are, and what becomes of what they say.
 *
 * A node registers and is told the others, and they of it; from then on its processes' questions go to the head (`head.ts`) and its events, too. What is asked of
 * the whole cluster (its nodes, its resources) is answered here. A node whose link ends is dead: it is told to all, and its place in the head's tables ends.
 */
import { type NodeTag, nodeTagOf } from "../base/ids.ts";
import { RESOURCE_UNIT } from "../base/resources.ts";
import type { PeerConnection } from "../rpc/peer-connection.ts";
import type { HeadEventHeader, NodeInfoHeader, NodeRegisterHeader, NodeReportHeader, RoutedHeader } from "../wire/cluster-messages.ts";
import type { Frame } from "../wire/frame.ts";
import { decodeHeader } from "../wire/header.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { Head } from "./head.ts";
import { RemoteNode } from "./remote-node.ts";

/** Dead nodes are remembered for whoever lists them; the oldest are forgotten. */
const DEAD_MAX = 1000;

export class HeadServer {
  readonly #head: Head;
  readonly #nodes = new Map<NodeTag, RemoteNode>();
  readonly #dead: NodeInfoHeader[] = [];

  constructor(head: Head) {
    this.#head = head;
  }

  /** A node has joined. @returns the node, by which its frames are told apart */
  register(link: PeerConnection, facts: NodeRegisterHeader, report: NodeReportHeader): RemoteNode {
    const node = new RemoteNode(link, facts, report);
    this.#nodes.set(nodeTagOf(facts.nodeId), node);
    node.nodesChanged(this.list());
    for (const other of this.#nodes.values()) if (other !== node) other.nodesChanged([infoOf(node)]);
    this.#head.addNode(node);
    return node;
  }

  receive(node: RemoteNode, frame: Frame): void {
    const header = frame.header.length === 0 ? undefined : decodeHeader(frame.header);
    switch (frame.type) {
      case MESSAGE.NODE_REPORT:
        node.reported(header as NodeReportHeader);
        this.#head.viewChanged();
        return;
      case MESSAGE.HEAD_EVENT: {
        const [name, ...args] = header as HeadEventHeader;
        (this.#head[name] as (...given: unknown[]) => void)(...args);
        return;
      }
      case MESSAGE.ROUTED:
        this.#routed(node, header as RoutedHeader, frame.body);
        return;
    }
  }

  /** The link of a node has ended for good. */
  gone(node: RemoteNode, reason: string): void {
    if (!this.#nodes.delete(nodeTagOf(node.nodeId))) return;
    const info: NodeInfoHeader = { ...infoOf(node), alive: false, reason };
    this.#dead.push(info);
    if (this.#dead.length > DEAD_MAX) this.#dead.shift();
    for (const other of this.#nodes.values()) other.nodesChanged([info]);
    this.#head.nodeGone(node.nodeId, reason);
  }

  /** All nodes, the dead among them. */
  list(): NodeInfoHeader[] {
    return [...Array.from(this.#nodes.values(), infoOf), ...this.#dead];
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
      default:
        this.#head.receive(peer, { type, callId, flags, body }, header);
    }
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

function infoOf({ facts }: RemoteNode): NodeInfoHeader {
  const { version: _version, pid: _pid, ...info } = facts;
  return { ...info, alive: true };
}
