/**
 * Security of a running head: its certificate, admission of nodes, and renewal of their certificates.
 *
 * Created before the head listens, from the cluster's existing secrets or new ones. A head that keeps nothing and that only its own machine
 * reaches needs only a token (decision 0022). Called by the head's entry point and, for questions over links, by `head-server.ts`.
 */
import type { NodeId } from "../../base/ids.ts";
import { authorityHash, certifyNode, newNodeKey } from "../../os/network/certificates.ts";
import type { ListenOptions } from "../../os/network/tcp-transport.ts";
import type { TlsIdentity } from "../../os/network/tls-identity.ts";
import { listenForJoin } from "../../rpc/join-listener.ts";
import { formatJoinToken } from "../../rpc/join-token.ts";
import type { JoinTokensHeader, JoinTokensReply } from "../../wire/cluster/cluster-messages.ts";
import { type ClusterSecrets, openSecrets, ownNodesSecret, type SecretsPlace, storeJoinToken } from "./cluster-secrets.ts";
import { Joining } from "./join.ts";
import { JoinTokens } from "./join-tokens.ts";
import type { WireError } from "../../wire/wire-error.ts";

interface HeadSecurityOptions {
  place: SecretsPlace;
  headId: NodeId;
  /** Where the secrets are made now: the token of the hellos. */
  token: string | undefined;
  /** Names and IP addresses for the head's certificate, for clients of NATS. */
  hosts: readonly string[];
  /** Refuse plain TCP also on this machine, in the whole cluster. */
  tlsOnLoopback: boolean;
  livingNodes: () => Iterable<NodeId>;
  isDead: (node: NodeId) => boolean;
  /** The reason why nobody can join now. */
  refusal?: () => WireError | undefined;
  nowMs: () => number;
}

export class HeadSecurity {
  readonly #options: HeadSecurityOptions;
  #secrets: ClusterSecrets;
  #joining: Joining;

  private constructor(options: HeadSecurityOptions, secrets: ClusterSecrets) {
    this.#options = options;
    this.#secrets = secrets;
    this.#joining = joiningOf(options, secrets);
  }

  static async open(options: HeadSecurityOptions): Promise<HeadSecurity> {
    return new HeadSecurity(options, await openSecrets(options.place, { nowMs: options.nowMs(), token: options.token }));
  }

  /** Reads the join tokens again, which another head may have changed. */
  async reload(): Promise<void> {
    this.#secrets = (await this.#options.place.read()) ?? this.#secrets;
    this.#joining = joiningOf(this.#options, this.#secrets);
  }

  /** Token of every hello. */
  get token(): string {
    return this.#secrets.token;
  }

  /** Undefined once it is not good any more. */
  get joinToken(): string | undefined {
    return this.#joining.tokens.isGood(this.#secrets.joinToken.split("-").at(-1) ?? "", this.#options.nowMs())
      ? this.#secrets.joinToken
      : undefined;
  }

  /** For nodes of the heads' own machines: valid as long as the cluster lives. */
  get ownJoinToken(): string {
    return formatJoinToken({ authorityHash: authorityHash(this.#secrets.authority.ca), secret: ownNodesSecret(this.#secrets) });
  }

  newIdentity(): TlsIdentity {
    const { key, publicKey } = newNodeKey();
    return { ca: this.#secrets.authority.ca, cert: this.certifySelf(publicKey), key, alsoOnLoopback: this.#options.tlsOnLoopback };
  }

  certifySelf(publicKey: string): string {
    const { headId: nodeId, hosts, nowMs } = this.#options;
    return certifyNode(this.#secrets.authority, { nodeId, publicKey, isHead: true, hosts, nowMs: nowMs() });
  }

  /** How the head listens. */
  get listenOptions(): ListenOptions {
    return {
      onUnauthenticated: (transport, problem) => {
        listenForJoin(transport, {
          problem,
          onJoin: (request, from) => {
            const refusal = this.#options.refusal?.();
            if (refusal !== undefined) throw refusal;
            return this.#joining.join(request, from);
          },
        });
      },
    };
  }

  /** Returns the next certificate of a node that has proved its identity. @throws the error to answer with */
  renew(nodeId: NodeId, publicKey: string): string {
    return this.#joining.renew(nodeId, publicKey);
  }

  /** Carries out an operator's request about join tokens. @throws the error to answer with */
  async joinTokens(asked: JoinTokensHeader): Promise<JoinTokensReply> {
    if (asked?.do === "new") {
      const { ageMaxMs } = asked;
      if (ageMaxMs !== undefined && !(ageMaxMs > 0))
        throw new Error(`Cannot make a join token: its age is a number of milliseconds above 0: received ${String(ageMaxMs)}`);
      const { id, joinToken, expiresAtMs } = await this.#joining.newJoinToken(ageMaxMs === undefined ? {} : { ageMaxMs });
      return { kind: "new", id, joinToken, expiresAtMs };
    }
    if (asked?.do === "revoke") return { kind: "revoked", wasKnown: await this.#joining.revoke(asked.id) };
    if (asked?.do === "list") return { kind: "list", tokens: this.#joining.tokens.records };
    throw new Error("the question about join tokens is malformed");
  }
}

function joiningOf(options: HeadSecurityOptions, secrets: ClusterSecrets): Joining {
  const { headId, livingNodes, isDead, nowMs, place, tlsOnLoopback } = options;
  return new Joining({
    authority: secrets.authority,
    headNodeId: headId,
    token: secrets.token,
    tlsOnLoopback,
    tokens: new JoinTokens(secrets.joinTokens),
    ownSecret: ownNodesSecret(secrets),
    livingNodes: function* () {
      yield headId;
      yield* livingNodes();
    },
    isDead,
    store: (record) => storeJoinToken(place, record),
    nowMs,
  });
}
