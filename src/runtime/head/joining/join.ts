/**
 * The head's side of joining. A node with a good join token gets a certificate for its key, the cluster's token, and its access to NATS. A
 * member renews its certificate over its link.
 *
 * A node id belongs to its first owner. A different key for a living id is refused, as is one for an id with the same tag, which begins the
 * ids of the node's processes. Called by the head for callers that `listen` hands to `onUnauthenticated`.
 */
import { type NodeId, nodeTagOf } from "../../base/ids.ts";
import { ownBuild } from "../../os/engine/build.ts";
import { type Authority, authorityHash, certifyNode } from "../../os/network/certificates.ts";
import { newToken, tokensEqual } from "../../os/random.ts";
import { formatJoinToken } from "../../rpc/join-token.ts";
import type { JoinHeader, JoinReply } from "../../wire/messages.ts";
import { type JoinTokenRecord, JoinTokens } from "./join-tokens.ts";
import { WireError } from "../../wire/wire-error.ts";

interface JoiningOptions {
  authority: Authority;
  headNodeId: NodeId;
  /** The cluster's, for every hello. */
  token: string;
  /** The cluster's nodes refuse plain TCP also on loopback. */
  tlsOnLoopback?: boolean;
  tokens?: JoinTokens;
  /** Lets the nodes of the heads' own machines join. No token names this secret, so nobody can revoke it. */
  ownSecret?: string;
  /** Ids of nodes that live, the head's among them. */
  livingNodes: () => Iterable<NodeId>;
  /** Whether a node ended or was declared dead, after which its id is never used again. */
  isDead?: (nodeId: NodeId) => boolean;
  /** Stores a token before it is shown to anybody. */
  store?: (record: JoinTokenRecord) => Promise<void>;
  nowMs: () => number;
}

export class Joining {
  readonly #options: JoiningOptions;
  readonly tokens: JoinTokens;

  constructor(options: JoiningOptions) {
    this.#options = options;
    this.tokens = options.tokens ?? new JoinTokens();
  }

  /** A new join token, good until it is revoked or `ageMaxMs` are over. It is shown once: only its hash is kept. */
  async newJoinToken(options: { ageMaxMs?: number } = {}): Promise<{ id: string; joinToken: string; expiresAtMs: number | undefined }> {
    const secret = newToken();
    const record = this.tokens.add(secret, { nowMs: this.#options.nowMs(), ageMaxMs: options.ageMaxMs });
    await this.#options.store?.(record);
    const joinToken = formatJoinToken({ authorityHash: authorityHash(this.#options.authority.ca), secret });
    return { id: record.id, joinToken, expiresAtMs: record.expiresAtMs };
  }

  /** Returns whether the token existed. */
  async revoke(id: string): Promise<boolean> {
    const record = this.tokens.revoke(id, this.#options.nowMs());
    if (record !== undefined) await this.#options.store?.(record);
    return record !== undefined;
  }

  /** @throws Error whose message answers the joining node */
  join(request: JoinHeader, from: string): JoinReply {
    const nowMs = this.#options.nowMs();
    const { ownSecret } = this.#options;
    const isOwn = ownSecret !== undefined && tokensEqual(request.secret, ownSecret);
    const refusal = isOwn ? undefined : this.tokens.refusalOf(request.secret, { from, nowMs });
    if (refusal !== undefined) throw new WireError("refusedJoinToken", `the join token is refused: ${refusal}`);
    const tag = nodeTagOf(request.nodeId);
    for (const node of this.#options.livingNodes())
      if (nodeTagOf(node) === tag) throw new Error(`the node id ${request.nodeId} belongs to a node of the cluster already`);
    const { headNodeId, tlsOnLoopback = false } = this.#options;
    return { ...this.#certify(request), headNodeId, build: ownBuild(), tlsOnLoopback };
  }

  /** Renews the certificate of a node that has proved its identity over its link. @throws Error whose message answers the node */
  renew(nodeId: NodeId, publicKey: string): string {
    return this.#certify({ nodeId, publicKey }).certificate;
  }

  #certify({ nodeId, publicKey }: { nodeId: NodeId; publicKey: string }): { certificate: string; token: string } {
    if (this.#options.isDead?.(nodeId) === true) throw new Error(`the node ${nodeId} was declared dead: it has to join under a new id`);
    const certificate = certifyNode(this.#options.authority, { nodeId, publicKey, nowMs: this.#options.nowMs() });
    return { certificate, token: this.#options.token };
  }
}
