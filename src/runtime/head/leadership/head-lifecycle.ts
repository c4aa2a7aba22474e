/**
 * The lifecycle of a head process: standby, leader, standby again.
 *
 * A leader has a server for the nodes and durable tables. When it steps down it drops both, with all links, and then turns nodes away and names the leader.
 * A head without rivals leads at once, and again as soon as it can. Made by the head's entry point.
 */
import type { NodeId, ProcessId } from "../../base/ids.ts";
import type { Extension } from "../../extension/extension.ts";
import { PROOF_GOOD_MS } from "../../base/limits.ts";
import type { Transport } from "../../os/network/transport.ts";
import { acceptPeer } from "../../rpc/handshake.ts";
import { notLeader } from "../../rpc/refusals.ts";
import type { WireError } from "../../wire/wire-error.ts";
import type { HeartbeatReply } from "../../wire/cluster/cluster-messages.ts";
import type { HeadHistory } from "../head-history.ts";
import { HeadElection } from "./head-election.ts";
import { HeadPeers } from "./head-peers.ts";
import type { HeadSecurity } from "../joining/head-security.ts";
import { HeadServer } from "../nodes/head-server.ts";
import { KeptHead } from "../tables/kept-head.ts";
import type { Leadership } from "./leadership.ts";
import type { ControlPlane } from "../../nats/open-control-plane.ts";
import { StoreServers } from "./store-servers.ts";

interface HeadLifecycleOptions {
  readonly plane: ControlPlane;
  /** Where nodes reach it. */
  readonly address: string;
  readonly self: { readonly nodeId: NodeId; readonly processId: ProcessId };
  readonly token: string;
  readonly security: HeadSecurity | undefined;
  readonly hasRivals: boolean;
  /** Makes a new incarnation for each term, so that nodes register anew. */
  readonly newIncarnation: () => string;
  readonly nowMs: () => number;
  readonly extensions: readonly Extension[];
  /** Default: none is kept. */
  readonly history?: HeadHistory | undefined;
  /** Called when the leadership begins or ends, with the reason. */
  readonly onChange?: (change: { leads: boolean; reason: string }) => void;
  readonly onError?: (error: unknown) => void;
  /** Why the store may take no changes, such as a full disk. */
  readonly storeProblem?: (() => string | undefined) | undefined;
}

/** The mark of a deleted key is small, but on some days many keys are deleted. */
const COMPACT_EVERY_MS = 600_000;

export class HeadLifecycle {
  readonly #options: HeadLifecycleOptions;
  readonly #election: HeadElection;
  readonly #peers: HeadPeers;
  readonly #storeServers: StoreServers;
  readonly #leads = Promise.withResolvers<void>();
  readonly #isLed = Promise.withResolvers<void>();
  #server: HeadServer | undefined;

  constructor(options: HeadLifecycleOptions) {
    this.#options = options;
    const { plane, address, self, hasRivals, nowMs, onError } = options;
    this.#peers = new HeadPeers({ bus: plane.bus, self: { id: self.nodeId, address, hasRivals }, nowMs });
    this.#storeServers = new StoreServers(hasRivals ? plane.storeServers : undefined);
    this.#election = new HeadElection({
      id: self.nodeId,
      address,
      store: plane.store,
      bus: plane.bus,
      hasRivals,
      onHeard: () => this.#isLed.resolve(),
      lead: (leadership, election) => this.#lead(leadership, election),
      ...(onError && { onError }),
    });
  }

  /** While it leads. */
  get server(): HeadServer | undefined {
    return this.#server;
  }

  /** Resolves when it leads for the first time. */
  get leads(): Promise<void> {
    return this.#leads.promise;
  }

  /** Resolves when a leader is known. */
  get isLed(): Promise<void> {
    return Promise.race([this.#leads.promise, this.#isLed.promise]);
  }

  /** Where heads are, this one first. */
  get heads(): string[] {
    const { leader } = this.#election;
    return Array.from(new Set([...this.#peers.addresses, ...(leader === undefined ? [] : [leader.address])]));
  }

  /** The error for callers that want a leading head; undefined while this one leads. */
  get refusal(): WireError | undefined {
    if (this.#server !== undefined) return undefined;
    const { leader } = this.#election;
    // For a moment after a term has ended, the next leader is unknown.
    return notLeader(leader?.address === this.#options.address ? undefined : leader?.address);
  }

  accept(transport: Transport): void {
    if (this.#server !== undefined) return this.#server.accept(transport);
    const { self, token } = this.#options;
    acceptPeer(transport, { token, ...self, refusal: () => this.refusal ?? notLeader(undefined), onPeer: () => {}, onLink: () => {} });
  }

  close(): void {
    this.#peers.close();
    this.#storeServers.close();
    this.#election.close();
  }

  async #lead(leadership: Leadership, election: HeadElection): Promise<{ end(reason: string): void }> {
    const { plane, self, token, security, hasRivals, newIncarnation, nowMs, extensions, history, onChange, onError } = this.#options;
    const onLost = (error: Error): void => election.stepDown(error.message);
    // A former leader may have changed the valid join tokens.
    if (hasRivals) await security?.reload();
    const kept = await KeptHead.open({ store: plane.store, leadership, nowMs, extensions, history, onLost });
    const server = new HeadServer({
      kept,
      self: { ...self, incarnation: newIncarnation(), term: leadership.term },
      token,
      security,
      hasRivals: hasRivals || leadership.hadRivals,
      isConnected: plane.isConnected,
      mayAnswer: () => election.mayAnswer,
      ...(hasRivals && { heartbeatReply: () => this.#heartbeatReply(), proofs: () => election.proofs }),
      nowMs,
      storeProblem: this.#options.storeProblem,
    });
    this.#server = server;
    const compaction = setInterval(() => void plane.store.compact().catch((error: unknown) => onError?.(error)), COMPACT_EVERY_MS);
    this.#leads.resolve();
    onChange?.({ leads: true, reason: `it leads in term ${leadership.term}` });
    return {
      end: (reason) => {
        this.#server = undefined;
        clearInterval(compaction);
        kept.end();
        server.close(reason);
        onChange?.({ leads: false, reason });
      },
    };
  }

  #heartbeatReply(): HeartbeatReply {
    const provenAgoMs = Math.ceil(this.#election.provenAgoMs);
    return { provenAgoMs, takeoverGraceMs: PROOF_GOOD_MS, heads: this.heads, storeServers: this.#storeServers.known };
  }
}
