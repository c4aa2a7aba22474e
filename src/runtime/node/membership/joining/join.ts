/**
 * A node's side of joining a cluster with a join token: from an address and the token to an identity.
 *
 * First the head shows its authority, over an untrusted connection that is then closed. If the authority's hash matches the token, a second connection carries the
 * secret, and TLS checks that connection against the authority. So only the head receives the secret. The private key is made here and stays here.
 */
import type { NodeId } from "../../../base/ids.ts";
import { AuthenticationError, VersionMismatchError } from "../../../base/errors.ts";
import { requireSameBuild } from "../../../os/engine/build.ts";
import { authorityHash, newNodeKey } from "../../../os/network/certificates.ts";
import { connect } from "../../../os/network/endpoint.ts";
import { tokensEqual } from "../../../os/random.ts";
import { presentedAuthority } from "../../../os/network/presented-authority.ts";
import type { TlsIdentity } from "../../../os/network/tls-identity.ts";
import { Connection } from "../../../rpc/connection.ts";
import { parseJoinToken } from "../../../rpc/join-token.ts";
import { errorOfRefusal } from "../../../rpc/refusals.ts";
import { type JoinHeader, MESSAGE, PROTOCOL_VERSION } from "../../../wire/messages.ts";
import { isWireError } from "../../../wire/wire-error.ts";
import { HeadFinder } from "../head/head-finder.ts";

export interface Joined {
  identity: TlsIdentity;
  /** The cluster's, for every hello. */
  token: string;
  headNodeId: NodeId;
}

/** For so long it is asked again where no head leads yet, or the one that did has just gone. */
const LEADER_WITHIN_MS = 15_000;
const ASK_EVERY_MS = 250;

interface JoinOptions {
  /** The address of the head, or of several heads of which one leads. */
  address: string | readonly string[];
  joinToken: string;
  nodeId: NodeId;
}

/**
 * @throws RangeError when the join token or the address is malformed
 * @throws AuthenticationError when the head is not the token's, or refuses it
 * @throws VersionMismatchError when the head runs another version of the protocol, the package or Node
 */
export async function joinCluster({ address, joinToken, nodeId }: JoinOptions): Promise<Joined> {
  if (typeof address === "string") return await joinAt(address, { joinToken, nodeId });
  const giveUpAt = performance.now() + LEADER_WITHIN_MS;
  const finder = new HeadFinder(address);
  for (;;) {
    try {
      return await joinAt(finder.next(), { joinToken, nodeId });
    } catch (error) {
      const isDecided = !isWireError(error, "notLeader") && (address.length === 1 || isOfShoal(error));
      if (isDecided || performance.now() > giveUpAt) throw error;
      finder.failed(error);
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}

/** Tells whether an error is Shoal's own, so that neither another head nor another try would help. */
function isOfShoal(error: unknown): boolean {
  return error instanceof AuthenticationError || error instanceof VersionMismatchError || error instanceof RangeError;
}

async function joinAt(address: string, { joinToken, nodeId }: Pick<JoinOptions, "joinToken" | "nodeId">): Promise<Joined> {
  const token = parseJoinToken(joinToken);
  const action = `join the cluster at ${address}`;
  const ca = await presentedAuthority(address);
  if (!tokensEqual(authorityHash(ca), token.authorityHash)) {
    throw new AuthenticationError(`Cannot ${action}: its authority is not the one that the join token names`, {
      reason: "another authority",
      hint: "Check the address, and that the join token is of this cluster. If both are right, somebody is between this machine and the head.",
    });
  }
  const { key, publicKey } = newNodeKey();
  const connection = new Connection(await connect(address, { authority: ca, isHead: true }), { trusted: true });
  try {
    const request: JoinHeader = { version: PROTOCOL_VERSION, secret: token.secret, nodeId, publicKey };
    const { header } = await connection.request(MESSAGE.JOIN, request);
    const { certificate, token: clusterToken, headNodeId, build, tlsOnLoopback } = header;
    requireSameBuild(build, { action, who: "the head" });
    return { identity: { ca, cert: certificate, key, alsoOnLoopback: tlsOnLoopback }, token: clusterToken, headNodeId };
  } catch (error) {
    throw errorOfRefusal(action, error) ?? error;
  } finally {
    connection.drop("joining is over");
  }
}
