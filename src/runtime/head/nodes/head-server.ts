/**
 * The head's side of the links to nodes: registers nodes, and routes their messages.
 *
 * A node registers and learns of the others, which learn of the new node. From then on its processes' questions and events go to the head
 * (`head.ts`). Questions about the whole cluster, such as its nodes and resources, are answered here. When a node is found dead
 * (`node-watch.ts`), all are told, and its place in the head's tables ends.
 */
import { asError } from "../../base/texts/describe.ts";
import { type NodeId, type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import { CLOSED_AFTER_MS, DEAD_AFTER_MS } from "../../base/limits.ts";
import { RESOURCE_UNIT } from "../../base/resources.ts";
import { refusesConnections } from "../../os/network/reach.ts";
import type { Transport } from "../../os/network/transport.ts";
import { acceptPeer } from "../../rpc/handshake.ts";
import { NodeLink } from "../../rpc/node-link.ts";
import type { PeerConnection } from "../../rpc/peer-connection.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import type {
  ClusterDemandHeader,
  ClusterStatusHeader,
  DeathTimesHeader,
  HeadEventHeader,
  HeadEvents,
  HeartbeatReply,
  JoinTokensHeader,
  NodeDrainHeader,
  NodeHoldsHeader,
  NodeInfoHeader,
  NodeReportHeader,
  RoutedHeader,
} from "../../wire/cluster/cluster-messages.ts";
import { type Frame, wholeFrame } from "../../wire/frame.ts";
import { encodeHeader, headerOf } from "../../wire/header.ts";
import { type LinkHelloHeader, MESSAGE } from "../../wire/messages.ts";
import type { PlaceReportHeader } from "../../wire/calls/why-messages.ts";
import { parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { Head } from "../head.ts";
import type { HeadSecurity } from "../joining/head-security.ts";
import { MembershipBroadcast } from "./membership-broadcast.ts";
import { DrainAnswers } from "./drain-answers.ts";
import { clusterDemand } from "./cluster-demand.ts";
import { clusterStatus } from "./cluster-status.ts";
import { placeReport } from "../placement/place-report.ts";
import type { NodeState } from "../placement/cluster-view.ts";
import type { NodeRecord } from "../tables/head-records.ts";
import type { KeptHead } from "../tables/kept-head.ts";
import { checkNewNode, checkNode } from "./message-validation.ts";
import { NodeWatch } from "./node-watch.ts";
import { RemoteNode } from "./remote-node.ts";
import { type Stall, stallText, StallWatch } from "./stall-watch.ts";
import { WireError } from "../../wire/wire-error.ts";
import { handle, type Handlers, makeCall } from "../../wire/tables/message-table.ts";
import { MESSAGES_OF_NEW_NODE, type MessagesOfNewNode, type MessagesOfNode } from "../../wire/tables/messages-of-nodes.ts";
import type { MessagesToCluster, MessagesToHead } from "../../wire/tables/messages-to-head.ts";

/** Dead nodes are remembered for listings; the oldest are forgotten. */
const DEAD_MAX = 1000;
/** Bounds the tags of dead nodes, which are kept longer, as a node that was cut off may ask to come back under its id. */
const DEAD_TAGS_MAX = 100_000;

/** A node has to know after which silence it is taken for dead. */
const DEATH_TIMES: DeathTimesHeader = { deadAfterMs: DEAD_AFTER_MS, closedAfterMs: CLOSED_AFTER_MS };

type Registration = MessagesOfNewNode[typeof MESSAGE.NODE_REGISTER];

/** The origin of a node's message. The frame's call id counts the heads that the node had registered with, if that matters. */
interface Said {
  readonly link: NodeLink;
  readonly frame: Frame;
  /** With how many it has registered now. */
  readonly heads: number;
  readonly acknowledge: () => void;
}

interface HeadServerOptions {
  kept: KeptHead;
  self: { nodeId: NodeId; processId: ProcessId; incarnation: string; term?: number };
  token: string;
  /** Undefined for a head that only its own machine reaches. */
  security?: HeadSecurity | undefined;
  /** Whether another head may have led before this one. Default: false. */
  hasRivals?: boolean;
  /** Whether the head's connection to the bus is up. */
  isConnected: () => boolean;
  /** With standbys: whether the head has lately proven its leadership, and how many proofs came late. */
  proofs?: () => { isFresh: boolean; lapses: number };
  /** Whether it may tell a node that it is alive: no other head can have found it dead. */
  mayAnswer: () => boolean;
  /** Facts about other heads for nodes. Default: nothing, as there are none. */
  heartbeatReply?: () => HeartbeatReply;
  /** Whether a process refuses connections at an address. Default: asks there. */
  refuses?: (address: string) => Promise<boolean | undefined>;
  nowMs: () => number;
  /** Why the store may take no changes, such as a full disk. Asked while it takes none. */
  storeProblem?: (() => string | undefined) | undefined;
}

/** Bounds the autoscaler's verdicts on waiting shapes. */
const VERDICTS_KEPT_MAX = 4096;

/** Fewer digits of a node's id are refused: they may be a typing mistake. */
const NODE_NAME_MIN = 4;
/** Time that a link without a registration is kept without a connection. */
const UNUSED_LINK_MS = 2000;

/** Questions of an operator, which wait for no change to be kept: while none is, their answers say so. */
const LOOKS: ReadonlySet<number> = new Set([MESSAGE.CLUSTER_STATUS, MESSAGE.WHY_PLACE]);
const LOOKS_AT_STORE_EVERY_MS = 1000;

/** Answers of a node to a head's commands. An answer to an earlier head is in the registration, or no longer matters. */
const ANSWERS: ReadonlySet<HeadEventHeader[0]> = new Set(["placed", "actorFull", "groupPrepared"]);

export class HeadServer {
  readonly #head: Head;
  readonly #kept: KeptHead;
  readonly #options: HeadServerOptions;
  readonly #links = new Map<NodeTag, NodeLink>();
  readonly #nodes = new Map<NodeTag, RemoteNode>();
  readonly #dead: NodeInfoHeader[] = [];
  readonly #deadTags = new Set<NodeTag>();
  readonly #broadcast: MembershipBroadcast<RemoteNode>;
  readonly #drainAnswers = new DrainAnswers();
  readonly #startedMs = Date.now();
  readonly #draining = new Set<NodeId>();
  readonly #watch: NodeWatch;
  readonly #stallWatch = new StallWatch();
  readonly #stallTimer: NodeJS.Timeout;
  #isClosed = false;
  /** The autoscaler's last verdicts on waiting shapes and groups. */
  #verdicts: ReadonlyMap<string, string> = new Map();

  constructor(options: HeadServerOptions) {
    this.#options = options;
    this.#kept = options.kept;
    this.#head = options.kept.head;
    const { kept, nowMs, hasRivals = false, isConnected, refuses = refusesConnections } = options;
    this.#watch = new NodeWatch({
      hasRivals,
      nowMs,
      isConnected,
      proofs: options.proofs,
      refuses,
      keep: (nodeId, state, then) => {
        // A draining node gets nothing new either way, and a node of an earlier head nothing before it has registered.
        if (!this.#draining.has(nodeId) && this.#nodes.has(nodeTagOf(nodeId)))
          kept.run(() => this.#head.suspect(nodeId, state === "suspect"));
        kept.nodeState(nodeId, state, then);
      },
      dead: (nodeId, reason) => this.#foundDead(nodeId, reason),
      say: (text) => console.error(`shoal: ${text}`),
    });
    this.#broadcast = new MembershipBroadcast({
      readers: () => this.#nodes.values(),
      count: () => this.#nodes.size,
      list: () => this.list(),
      frameOf: (command) => wholeFrame({ type: MESSAGE.NODE_COMMAND, flags: 0, callId: 0 }, encodeHeader(command), []),
    });
    this.#stallTimer = setInterval(() => this.#tellStall(), LOOKS_AT_STORE_EVERY_MS).unref();
    kept.onProcessGone = (process) => this.#broadcast.processGone(process);
    for (const record of kept.kept.nodes) if (record.state === "dead") this.#restoreDead(record);
    for (const { nodeId, incarnation, info, isDraining } of kept.missing) {
      this.#watch.expected({ nodeId, incarnation, address: info?.address });
      if (isDraining === true) this.#draining.add(nodeId);
    }
  }

  /** Accepts a connection to the head. */
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
    let heads = 0;
    let timer: NodeJS.Timeout | undefined;
    const link: NodeLink = new NodeLink({
      self: { ...self, kind: "head" },
      token,
      peerNodeId: nodeId,
      // A node keeps its messages until their effects are committed, and repeats them to the next head.
      acknowledgesLater: true,
      onFrame: (frame, acknowledge) => {
        if (frame.type in MESSAGES_OF_NEW_NODE) {
          const message = checkNewNode(nodeId, frame.type, headerOf(frame));
          if (message.type === MESSAGE.CERTIFICATE_RENEW) this.#renew(link, frame.callId, { nodeId, publicKey: message.header });
          else {
            link.reply(frame.callId, { ...DEATH_TIMES, later: this.#options.heartbeatReply?.() } satisfies DeathTimesHeader);
            // A registration that an earlier head had not acknowledged comes again, behind the one for this head. It was true when it was
            // sent.
            const [facts, , digest] = message.header;
            if (node?.facts.incarnation !== facts.incarnation || digest.heads >= heads) {
              heads = digest.heads;
              node = this.#register(link, message.header);
            }
          }
          acknowledge();
        } else if (node === undefined) {
          acknowledge();
        } else {
          const { type, header } = checkNode(nodeId, frame.type, headerOf(frame));
          handle(this.#ofNodes, type, header, node, { link, frame, heads, acknowledge });
        }
      },
      onUp: () => {
        clearTimeout(timer);
        if (node !== undefined) this.#watch.linkUp(nodeId);
      },
      onDown: ({ message: reason }) => {
        clearTimeout(timer);
        if (this.#isClosed) return;
        if (node !== undefined && this.#nodes.get(nodeTagOf(nodeId)) === node) this.#watch.linkDown(nodeId);
        else timer = setTimeout(() => this.#forget(link, nodeId, reason), UNUSED_LINK_MS);
      },
    });
    return link;
  }

  /** The node's link is down: the node may come back, but nothing starts there until then. */
  #stateOf(nodeId: NodeId): NodeState {
    if (this.#watch.isSuspect(nodeId)) return "suspect";
    return this.#draining.has(nodeId) ? "draining" : "alive";
  }

  #register(link: NodeLink, [facts, report, digest]: Registration): RemoteNode {
    const node = new RemoteNode(link, facts, report);
    // From here on the node's own report counts: an earlier head may have died before it told the node to leave.
    if (!this.#nodes.has(nodeTagOf(facts.nodeId))) this.#draining.delete(facts.nodeId);
    this.#nodes.set(nodeTagOf(facts.nodeId), node);
    node.beforeSend = () => this.#broadcast.catchUp(node);
    this.#broadcast.joined(node, node.info);
    this.#kept.addNode(node, digest, { incarnation: facts.incarnation, info: node.info });
    this.#watch.registered(facts);
    node.reported(report, this.#options.nowMs());
    this.#kept.run(() => {
      // The settled placements were an earlier head's.
      this.#head.nodeReported(facts.nodeId, { ...report, settled: [] });
      this.#saysItDrains(facts.nodeId, report);
    });
    return node;
  }

  readonly #ofNodes: Handlers<MessagesOfNode, [node: RemoteNode, said: Said]> = {
    [MESSAGE.HEARTBEAT]: (_nothing, { nodeId }, { link, frame, acknowledge }) => {
      this.#watch.heard(nodeId);
      if (this.#options.mayAnswer()) link.reply(frame.callId, this.#options.heartbeatReply?.());
      acknowledge();
    },
    [MESSAGE.NODE_REPORT]: (report, node, { acknowledge }) => {
      this.#kept.run(() => {
        node.reported(report, this.#options.nowMs());
        this.#head.nodeReported(node.nodeId, report);
        this.#saysItDrains(node.nodeId, report);
      }, acknowledge);
    },
    [MESSAGE.HEAD_EVENT]: (event, node, { frame, heads, acknowledge }) => {
      const isOfBefore = frame.callId < heads && ANSWERS.has(event[0]);
      if (!this.#mayTell(node.nodeId, event) || isOfBefore) acknowledge();
      else if (event[0] === "left") this.#gone(node, event[1], acknowledge);
      else this.#kept.run(() => makeCall<Omit<HeadEvents, "left">>(this.#head, event), acknowledge);
    },
    [MESSAGE.ROUTED]: (routed, node, { frame, acknowledge }) => {
      const [from, , type, callId, , header] = routed;
      if (LOOKS.has(type)) {
        handle(this.#handlers, type, header, node.peer(from), callId);
        acknowledge();
        return;
      }
      this.#kept.run(() => this.#routed(node, routed, frame.body), acknowledge);
    },
  };

  /** Handles a node that left by its own decision. */
  #gone(node: RemoteNode, reason: string, then?: () => void): void {
    if (!this.#nodes.delete(nodeTagOf(node.nodeId))) return;
    this.#watch.left(node.nodeId);
    this.#draining.delete(node.nodeId);
    this.#died(node.info, reason, then);
  }

  #forget(link: NodeLink, nodeId: NodeId, reason: string): void {
    link.close(reason);
    const tag = nodeTagOf(nodeId);
    if (this.#links.get(tag) === link) this.#links.delete(tag);
  }

  #foundDead(nodeId: NodeId, reason: string): void {
    const tag = nodeTagOf(nodeId);
    const link = this.#links.get(tag);
    if (link !== undefined) this.#forget(link, nodeId, reason);
    const node = this.#nodes.get(tag);
    const info = node === undefined ? this.#kept.missing.find((record) => record.nodeId === nodeId)?.info : node.info;
    this.#nodes.delete(tag);
    this.#draining.delete(nodeId);
    if (info === undefined) this.#kept.nodeGone(nodeId, { reason, goneMs: Date.now() });
    else this.#died(info, reason);
  }

  #restoreDead({ nodeId, incarnation, info, reason, goneMs }: NodeRecord): void {
    this.#watch.restoreDead({ nodeId, incarnation, address: undefined });
    if (info === undefined) return;
    this.#isGone({ ...info, alive: false, reason, goneMs });
  }

  #died(alive: NodeInfoHeader, reason: string, then?: () => void): void {
    this.#drainAnswers.gone(alive.nodeId);
    const goneMs = Date.now();
    const info: NodeInfoHeader = { ...alive, alive: false, reason, goneMs };
    this.#isGone(info);
    this.#kept.nodeGone(info.nodeId, { reason, goneMs }, () => {
      this.#broadcast.nodeGone(info);
      then?.();
    });
  }

  #isGone(info: NodeInfoHeader): void {
    this.#dead.push(info);
    if (this.#dead.length > DEAD_MAX) this.#dead.shift();
    this.#deadTags.add(nodeTagOf(info.nodeId));
    if (this.#deadTags.size > DEAD_TAGS_MAX) this.#deadTags.delete(this.#deadTags.values().next().value as NodeTag);
  }

  /** Closes the links when this head stops leading: nodes look for another. */
  close(reason: string): void {
    this.#isClosed = true;
    clearInterval(this.#stallTimer);
    this.#watch.close();
    this.#broadcast.close();
    for (const link of this.#links.values()) link.close(reason);
    this.#links.clear();
    this.#nodes.clear();
  }

  /** Includes nodes of an earlier head that have not registered yet, so that nobody else gets their ids. */
  *livingNodes(): Iterable<NodeId> {
    for (const node of this.#nodes.values()) yield node.nodeId;
    for (const { nodeId } of this.#kept.missing) yield nodeId;
  }

  /** Whether the node ended or was declared dead: it does not come back under its id. */
  isDead(node: NodeId | NodeTag): boolean {
    return this.#deadTags.has(nodeTagOf(node));
  }

  /**
   * All nodes, including dead ones and those of an earlier head that are still to register: a node that is missing from the list counts as
   * gone, with all its data.
   */
  list(): NodeInfoHeader[] {
    const missing = this.#kept.missing.flatMap(({ info }) => info ?? []);
    return [...Array.from(this.#nodes.values(), ({ info }) => info), ...missing, ...this.#dead];
  }

  /**
   * Only the node that counts an actor's handles knows that there are none left. Other nodes are not believed, but keep their link: the
   * fault is in the program that told the node of such a handle.
   */
  #mayTell(node: NodeId, event: HeadEventHeader): boolean {
    const creator = event[0] === "unheld" ? this.#head.creatorOf(event[1]) : undefined;
    return creator === undefined || nodeTagOf(creator) === nodeTagOf(node);
  }

  #renew(link: PeerConnection, callId: number, asked: { nodeId: NodeId; publicKey: string }): void {
    try {
      const { security } = this.#options;
      if (security === undefined) throw new Error("this cluster has no certificates");
      link.reply(callId, security.renew(asked.nodeId, asked.publicKey));
    } catch (error) {
      link.replyError(callId, asError(error));
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
      (error: Error) => peer.connection.replyError(callId, error),
    );
  }

  #routed(node: RemoteNode, [from, , type, callId, flags, header]: RoutedHeader, body: Uint8Array): void {
    const peer = this.#kept.peer(node.nodeId, from) ?? node.peer(from);
    if (!handle(this.#handlers, type, header, peer, callId)) this.#head.receive(peer, { type, callId, flags, body }, header);
  }

  readonly #handlers: Handlers<MessagesToCluster, [peer: HeadPeer, callId: number]> = {
    [MESSAGE.NODES]: (_nothing, peer, callId) =>
      peer.connection.reply(
        callId,
        this.list().map((info) => ({ ...info, draining: this.#draining.has(info.nodeId) })),
      ),
    [MESSAGE.RESOURCES]: ({ store }, peer, callId) => peer.connection.reply(callId, { ...this.#resources(), store }),
    [MESSAGE.NODE_DRAIN]: (asked, peer, callId) => this.#drain(peer, callId, asked),
    [MESSAGE.CLUSTER_STATUS]: (_nothing, peer, callId) => peer.connection.reply(callId, this.#status()),
    [MESSAGE.CLUSTER_DEMAND]: (_nothing, peer, callId) => peer.connection.reply(callId, this.#demand()),
    [MESSAGE.DEMAND_VERDICTS]: (verdicts, peer, callId) => {
      this.#verdicts = new Map(verdicts.slice(0, VERDICTS_KEPT_MAX));
      peer.connection.reply(callId, undefined);
    },
    [MESSAGE.WHY_PLACE]: (asked, peer, callId) => peer.connection.reply(callId, this.#whyPlace(asked)),
    [MESSAGE.JOIN_TOKENS]: (asked, peer, callId) => this.#joinTokens(peer, callId, asked),
  };

  /** Answered with the node's id once it takes nothing new. The list of nodes shows when it has gone. */
  #drain(peer: HeadPeer, callId: number, { node: name, deadlineMs, reason: kind = "preemption" }: NodeDrainHeader): void {
    const isNamed = ({ nodeId }: { nodeId: NodeId }): boolean => name.length >= NODE_NAME_MIN && nodeId.startsWith(name);
    const found = Array.from(this.#nodes.values()).filter(isNamed);
    const [node] = found;
    const expected = found.length === 0 ? this.#kept.missing.find(isNamed) : undefined;
    if (expected !== undefined) {
      const text = `node ${expected.nodeId} has not come yet to the head that has just taken over; drain it again in a moment`;
      peer.connection.replyError(callId, new WireError("failed", text));
      return;
    }
    if (node === undefined || found.length > 1) {
      const which = found.length === 0 ? "no node" : "more than one node";
      peer.connection.replyError(callId, new WireError("notFound", `${which} of the cluster has an id that begins with "${name}"`));
      return;
    }
    if (kind === "idle" && (!this.#head.isIdle(node.nodeId) || node.idleMs(this.#options.nowMs()) === undefined)) {
      peer.connection.replyError(callId, new WireError("failed", `node ${node.nodeId} is not idle: ${heldText(node.holds)} there`));
      return;
    }
    this.#beginDrain(node.nodeId);
    node.drain(deadlineMs, kind);
    this.#drainAnswers.wait(node.nodeId, () => peer.connection.reply(callId, node.nodeId));
  }

  /** The node reports that it drains: this head may have taken over, and an actor may have been on its way there. */
  #saysItDrains(nodeId: NodeId, { isDraining }: NodeReportHeader): void {
    if (isDraining !== true) return;
    this.#beginDrain(nodeId);
    this.#drainAnswers.knows(nodeId);
  }

  #beginDrain(nodeId: NodeId): void {
    this.#draining.add(nodeId);
    this.#kept.nodeDrains(nodeId);
    this.#head.drain(nodeId);
  }

  /** Past the gate, behind which all changes wait. */
  #tellStall(): void {
    const text = this.#stallWatch.look(this.#stall, this.#options.nowMs());
    if (text !== undefined) for (const node of this.#nodes.values()) node.warn(text);
  }

  get #stall(): Stall | undefined {
    const { stall } = this.#kept;
    const reason = stall === undefined ? undefined : this.#options.storeProblem?.();
    return stall === undefined || reason === undefined ? stall : { ...stall, reason };
  }

  #stalled(): string | undefined {
    const stall = this.#stall;
    return stall === undefined ? undefined : stallText(stall, this.#options.nowMs());
  }

  #whyPlace({ shape, actor }: MessagesToHead[typeof MESSAGE.WHY_PLACE]): PlaceReportHeader | undefined {
    const wanted = shape ?? (actor === undefined ? undefined : this.#head.shapeOf(actor));
    if (wanted === undefined) return undefined;
    const here = Array.from(this.#nodes.values(), (node) => ({
      view: node.view(),
      hostname: node.facts.hostname,
      state: this.#stateOf(node.nodeId),
    }));
    const expected = this.#kept.expected.map((node) => ({ view: node.view(), hostname: node.info.hostname, state: "suspect" as const }));
    const report = placeReport(parseLeaseSpec(wanted), {
      nodes: [...here, ...expected],
      group: (id) => this.#kept.tables.groups.get(id)?.header,
    });
    const stalled = this.#stalled();
    const { bundle } = parseLeaseSpec(wanted);
    const autoscaler = this.#verdicts.get(bundle?.group ?? wanted);
    return { ...report, ...(stalled !== undefined && { stalled }), ...(autoscaler !== undefined && { autoscaler }) };
  }

  #demand(): ClusterDemandHeader {
    return clusterDemand({
      nodes: this.#nodes.values(),
      stateOf: ({ nodeId }) => this.#stateOf(nodeId),
      isIdle: ({ nodeId }) => this.#head.isIdle(nodeId),
      waiting: this.#head.waiting(),
      groups: this.#kept.tables.groups.all(),
      isComplete: this.#kept.missing.length === 0 && !this.#head.expectsUnrecordedNodes(),
      nowMs: this.#options.nowMs(),
    });
  }

  #status(): ClusterStatusHeader {
    return clusterStatus({
      heads: this.#options.heartbeatReply?.().heads,
      nodes: this.#nodes.values(),
      stateOf: ({ nodeId }) => this.#stateOf(nodeId),
      gone: this.#dead,
      waiting: this.#head.waiting(),
      verdicts: this.#verdicts,
      startedMs: this.#startedMs,
      stalled: this.#stalled(),
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

/** "2 tasks, 1 object are", to be read before "there". */
function heldText(holds: NodeHoldsHeader | undefined): string {
  const { leases = 0, actors = 0, bundles = 0, drivers = 0, objects = 0 } = holds ?? {};
  const parts = [
    [leases, "tasks"],
    [actors, "actors"],
    [bundles, "bundles of placement groups"],
    [drivers, "programs"],
    [objects, "objects"],
  ] as const;
  const held = parts.filter(([count]) => count > 0).map(([count, name]) => `${count} ${name}`);
  return held.length === 0 ? "tasks, actors or placement groups are" : `${held.join(", ")} are`;
}
