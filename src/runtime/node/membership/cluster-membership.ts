/**
 * A daemon's membership in its cluster: listens for other nodes, registers with the head, and passes their frames to the daemon.
 *
 * The daemon's entry point makes it; on one machine there is none. For every new head the node registers again, before any other message. The node has joined once a
 * head has admitted it.
 */
import { type JobId, type NodeTag, nodeTagOf } from "../../base/ids.ts";
import type { StoreFolders } from "../../objects/transfer/served-object.ts";
import { connect, listen } from "../../os/network/endpoint.ts";
import { randomHex } from "../../os/random.ts";
import { natsWordAt } from "../../nats/server/nats-greeting.ts";
import { refusesConnections } from "../../os/network/reach.ts";
import type { Listener, Transport } from "../../os/network/transport.ts";
import type { TlsIdentity } from "../../os/network/tls-identity.ts";
import { acceptPeer } from "../../rpc/handshake.ts";
import { readMessage } from "../../rpc/protocol-violation.ts";
import type { NodeServices } from "../../rpc/head-service.ts";
import { listenForJoin } from "../../rpc/join-listener.ts";
import type {
  DeathTimesHeader,
  HeadEventHeader,
  HeartbeatReply,
  NodeDigestHeader,
  NodeRegisterHeader,
  NodeReportHeader,
  RoutedHeader,
} from "../../wire/cluster/cluster-messages.ts";
import type { Frame } from "../../wire/frame.ts";
import { handle, type Handlers } from "../../wire/tables/message-table.ts";
import {
  MESSAGES_OF_HEAD,
  MESSAGES_OF_NEIGHBOUR,
  type MessagesOfHead,
  type MessagesOfNeighbour,
} from "../../wire/tables/messages-of-nodes.ts";
import { type HelloHeader, MESSAGE } from "../../wire/messages.ts";
import { CertificateRenewal } from "./joining/certificate-renewal.ts";
import { FenceWatch, type Neighbour } from "./fencing/fence-watch.ts";
import { HeadFinder } from "./head/head-finder.ts";
import { Heartbeat } from "./head/heartbeat.ts";
import { ANSWERS_WITHIN_MS } from "./limits.ts";
import { checkRouted } from "./message-validation.ts";
import { NodeLinks } from "./node-links.ts";
import type { NodeCluster } from "../daemon-options.ts";
import { RemoteHead } from "./head/remote-head.ts";
import type { FenceEffect } from "./fencing/self-fence.ts";
import { openTransferStream } from "../objects/transfer-streams.ts";
import { WireError } from "../../wire/wire-error.ts";

/** How the node is reached, as the daemon's configuration has it. */
export interface ClusterConfiguration {
  /** Where the head may be. */
  headAddresses: readonly string[];
  /** Where the daemon listens for other nodes; each worker does at an address of the same kind. */
  listenAddress: string;
  /** Where certificates are needed, with which the node gets its own and the cluster's token. */
  joinToken?: string | undefined;
}

interface ClusterMembershipOptions {
  configuration: ClusterConfiguration;
  token: string;
  facts: Omit<NodeRegisterHeader, "address" | "incarnation">;
  report: () => NodeReportHeader | undefined;
  /** Returns the running work for a head that does not know this node. Places that only an earlier head had asked for are forgotten. */
  digest: () => NodeDigestHeader;
  onRouted: (header: RoutedHeader, body: Uint8Array) => void;
  /** Called when another node connects to fetch objects. */
  onTransfer: (tag: NodeTag, transport: Transport) => void;
  /** Where the store's files are. */
  folders: StoreFolders;
  /** Called once a head that did not know this node has registered it. */
  onRegistered: () => void;
  /** Called, perhaps repeatedly, when the node is about to leave the cluster, so that no program begins on it. */
  onDraining: () => void;
  /** There are heads that this node did not know. */
  onHeads: (addresses: readonly string[]) => void;
  /** Called when the node has left the cluster and must end. */
  onLeft: () => void;
  /** Called when the head has given this node's work to others, or may soon (`fence`): no work may continue. `pause`: no work until `resume`. */
  onFence: (effect: FenceEffect) => void;
  /** Called repeatedly with the time, by `performance.now()`, until which workers may run without further word of the head. */
  onAllowed: (untilMs: number) => void;
  /** Whether a process refuses connections at an address. Default: asks there. */
  refuses?: (address: string) => Promise<boolean | undefined>;
  /** The node has a later certificate; its processes have been told. */
  onIdentity: (identity: TlsIdentity) => void;
}

/** Time limit on a goodbye. Acknowledgements come within 50 ms, or once the head has kept the message. */
const LEAVES_WITHIN_MS = 2_000;

export class ClusterMembership {
  readonly #options: ClusterMembershipOptions;
  readonly #links: NodeLinks;
  readonly #joined = Promise.withResolvers<void>();
  #facts: NodeRegisterHeader;
  readonly #renewal: CertificateRenewal;
  readonly #heartbeat: Heartbeat;
  readonly #finder: HeadFinder;
  /** From when a head has taken the node in. */
  #fence: FenceWatch | undefined;
  #head: RemoteHead | undefined;
  /** Why the head was not reached at the last attempt. */
  #problem: string | undefined;
  #isClosed = false;
  #neighboursAsked = 0;
  #node: NodeServices | undefined;
  #listener: Listener | undefined;

  constructor(options: ClusterMembershipOptions) {
    this.#options = options;
    const { configuration, facts, token } = options;
    const { nodeId, daemonId: processId } = facts;
    this.#facts = { ...facts, address: "", incarnation: randomHex(8) };
    this.#finder = new HeadFinder(configuration.headAddresses);
    this.#links = new NodeLinks({
      self: { nodeId, processId, incarnation: this.#facts.incarnation },
      token,
      connect: (node) => connect(node.address, { nodeId: node.nodeId }),
      connectHead: () => connect(this.#finder.next(), { isHead: true }),
      refusesHead: (term) => this.#finder.refuses(term),
      hasHeads: () => this.#finder.addresses.length > 1,
      onFrame: (frame, source) => this.#receive(frame, source),
      onHeadUp: ({ isNew, term }) => {
        this.#problem = undefined;
        this.#finder.met(term);
        if (isNew) this.#register();
      },
      onHeadDown: (error) => {
        this.#problem = error.message;
        this.#finder.failed(error);
      },
      onDeclaredDead: () => options.onFence({ kind: "fence", reason: "the head has declared this node dead" }),
    });
    this.#heartbeat = new Heartbeat({ link: this.#links.head, onAnswered: (sentMs, reply) => this.#answered(sentMs, reply) });
    this.#renewal = new CertificateRenewal({
      renew: async (publicKey) => (await this.#links.head.request(MESSAGE.CERTIFICATE_RENEW, publicKey)).header,
      store: (identity) => {
        this.#node?.tellAll(MESSAGE.CERTIFICATE, identity);
        options.onIdentity(identity);
      },
      onFailure: (error) => console.error(`The node could not renew its certificate: ${error.message}`),
    });
  }

  #answered(sentMs: number, reply: HeartbeatReply | undefined): void {
    if (reply === undefined) return this.#fence?.answered(sentMs);
    const { provenAgoMs, takeoverGraceMs, heads, storeServers } = reply;
    this.#fence?.answered(sentMs, { provenMs: sentMs - provenAgoMs, takeoverGraceMs, storeServers });
    if (this.#finder.told(heads)) this.#options.onHeads(this.#finder.addresses);
  }

  /** Why the head was not reached at the last attempt. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The head, for the daemon that it is to command. */
  headFor(node: NodeServices): RemoteHead {
    this.#node = node;
    this.#head = new RemoteHead(this.#links.head, node);
    return this.#head;
  }

  get cluster(): NodeCluster {
    const links = this.#links;
    return {
      linkTo: (tag) => links.linkTo(tag),
      linked: () => links.linked(),
      nodesChanged: (nodes) => links.nodesChanged(nodes),
      // In a promise: an address that is not known is a failure like one that does not answer.
      openTransfer: async (tag) => await openTransferStream(links.addressOf(tag), { token: this.#options.token, hello: this.#hello() }),
      folders: this.#options.folders,
      leave: (reason) => void this.leave(reason).then(() => this.#options.onLeft()),
      viewChanged: () => this.#report(),
    };
  }

  #report(): void {
    const report = this.#options.report();
    if (report?.isDraining === true) this.#options.onDraining();
    this.#links.head.send(MESSAGE.NODE_REPORT, report);
  }

  /** Listens, and resolves when the head has taken the node in. */
  async join(): Promise<void> {
    const { configuration, token, facts } = this.#options;
    const accept = (transport: Transport): void => {
      acceptPeer(transport, {
        token,
        nodeId: facts.nodeId,
        processId: facts.daemonId,
        isDead: (tag) => this.#links.isDead(tag),
        onPeer: (connection, { kind, processId }) => {
          if (kind === "transfer") this.#options.onTransfer(nodeTagOf(processId), transport);
          else connection.drop("other nodes speak over links");
        },
        onLink: (arrived, hello) => this.#links.accept(arrived, hello),
      });
    };
    const onUnauthenticated = (transport: Transport, problem: string | undefined): void => listenForJoin(transport, { problem });
    this.#listener = await listen(configuration.listenAddress, accept, { onUnauthenticated });
    this.#renewal.start();
    this.#facts = { ...this.#facts, address: this.#listener.path };
    this.#links.head.open();
    this.#heartbeat.start();
    await this.#joined.promise;
  }

  /** Tells the head that the node ends by its own decision, so that nobody waits for it. Resolves when the head knows, or cannot be told. */
  async leave(reason: string): Promise<void> {
    const { head } = this.#links;
    const event: HeadEventHeader = ["left", reason];
    head.send(MESSAGE.HEAD_EVENT, event);
    const giveUpAt = performance.now() + LEAVES_WITHIN_MS;
    while (head.isUp && head.unacknowledgedBytes > 0 && performance.now() < giveUpAt)
      await new Promise((resolve) => setTimeout(resolve, 5));
  }

  close(): void {
    this.#renewal.stop();
    this.#heartbeat.stop();
    this.#fence?.close();
    this.#isClosed = true;
    this.#listener?.close();
    this.#links.close();
  }

  #hello(): HelloHeader {
    const { facts } = this.#options;
    const processId = facts.daemonId;
    return {
      processId,
      holderId: processId,
      kind: "transfer",
      pid: facts.pid,
      address: "",
      taskIdPrefix: "",
      jobId: "" as JobId,
    };
  }

  #register(): void {
    const here = this.#options.digest();
    const digest = this.#head?.registering(here) ?? here;
    const sentMs = performance.now();
    this.#links.head
      .request(MESSAGE.NODE_REGISTER, [this.#facts, this.#options.report(), digest], { timeoutMs: 0 })
      .then(({ header: times }) => {
        this.#fence ??= this.#watchHead(times);
        // Before the first heartbeat is answered: the head may be gone by then.
        if (times.later !== undefined) this.#answered(sentMs, times.later);
        this.#joined.resolve();
      }, this.#joined.reject);
    this.#head?.registered();
    this.#options.onRegistered();
  }

  #watchHead({ deadAfterMs, closedAfterMs }: DeathTimesHeader): FenceWatch {
    const { refuses = refusesConnections } = this.#options;
    return new FenceWatch({
      deadAfterMs,
      closedAfterMs,
      nowMs: () => performance.now(),
      refuses: () => refuses(this.#finder.leader),
      storeWordOf: ({ name, address }) => natsWordAt(address, { name, withinMs: ANSWERS_WITHIN_MS }),
      neighbours: (count) => this.#neighbours(count),
      onEffect: (effect) => {
        if (!this.#isClosed) this.#options.onFence(effect);
      },
      allow: this.#options.onAllowed,
      say: (text) => console.error(`shoal: ${text}`),
    });
  }

  #neighbours(count: number): Neighbour[] {
    const { refuses = refusesConnections } = this.#options;
    const others = this.#links.others();
    const start = this.#neighboursAsked % Math.max(1, others.length);
    this.#neighboursAsked += count;
    return [...others.slice(start), ...others.slice(0, start)].slice(0, count).map(({ nodeId, address }) => ({
      headSilence: async (withinMs) => {
        const link = this.#links.linkTo(nodeTagOf(nodeId));
        if (link === undefined) throw new Error("it is dead");
        return (await link.request(MESSAGE.HEAD_SILENCE, undefined, { timeoutMs: withinMs })).header;
      },
      refuses: () => refuses(address),
    }));
  }

  /** Answers another node's question whether the head is silent here, too. A node that was never admitted does not know. */
  #tellSilence(source: NodeTag, callId: number): void {
    const link = this.#links.linkTo(source);
    if (this.#fence === undefined) link?.replyError(callId, new WireError("failed", "no head has taken this node in"));
    else link?.reply(callId, this.#fence.silentMs);
  }

  #receive(frame: Frame, source: NodeTag | "head"): void {
    if (source === "head") {
      const { type, header } = readMessage(MESSAGES_OF_HEAD, frame);
      handle(this.#ofHead, type, header, frame);
    } else {
      const { type, header } = readMessage(MESSAGES_OF_NEIGHBOUR, frame);
      handle(this.#ofNeighbours, type, header, frame, source);
    }
  }

  readonly #ofHead: Handlers<MessagesOfHead, [frame: Frame]> = {
    [MESSAGE.NODE_COMMAND]: (command) => this.#head?.command(command),
    [MESSAGE.ROUTED]: (routed, { body }) => {
      checkRouted({ source: "head", daemonId: this.#facts.daemonId }, routed);
      const [, to, type, callId] = routed;
      if (type === MESSAGE.REPLY && to !== "") this.#head?.answered(to, callId);
      this.#options.onRouted(routed, body);
    },
  };

  readonly #ofNeighbours: Handlers<MessagesOfNeighbour, [frame: Frame, source: NodeTag]> = {
    [MESSAGE.HEAD_SILENCE]: (_nothing, { callId }, source) => this.#tellSilence(source, callId),
    [MESSAGE.ROUTED]: (routed, { body }, source) => {
      checkRouted({ source, daemonId: this.#facts.daemonId }, routed);
      this.#options.onRouted(routed, body);
    },
  };
}

/** Returns the address at which a worker listens for other nodes, with a free port. */
export function workerListenAddress({ listenAddress }: ClusterConfiguration): string {
  return listenAddress.replace(/:\d+$/, ":0");
}
