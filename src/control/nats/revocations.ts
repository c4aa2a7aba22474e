/**
 * Tells the servers of a cluster who is no longer let in: they close the connections of those at once, keep it on disk, and tell each other.
 *
 * One short connection of the system account for each call; a node's death is rare. May be repeated without harm.
 */
import type { ClusterAuthority } from "./cluster-authority.ts";
import { ControlPlaneUnavailableError } from "../control-errors.ts";
import { connectNats, type NatsOptions } from "./nats-link.ts";

const ANSWER_TIMEOUT_MS = 5_000;

interface RevocationOptions extends Pick<NatsOptions, "servers" | "tls" | "connectTimeoutMs"> {
  readonly authority: ClusterAuthority;
  /** Of the users' keys, as the head's tables have them for each node. */
  readonly publicKeys: readonly string[];
}

/** @throws ControlPlaneUnavailableError when no server has taken it; the authority remembers it and the next call tells of all */
export async function revokeCredentials({ authority, publicKeys, servers, tls, connectTimeoutMs }: RevocationOptions): Promise<void> {
  // Remembered first: whatever happens from here on, a server that starts with this authority refuses them.
  authority.revoke(publicKeys);
  await using link = await connectNats({
    servers,
    name: "revocation",
    credentials: authority.systemCredentials("revocation"),
    needsJetStream: false,
    ...(tls !== undefined && { tls }),
    ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
  });
  const ask = async (subject: string, data: string): Promise<string> =>
    (await link.request(subject, data, { timeoutMs: ANSWER_TIMEOUT_MS })).string();
  const known = await ask(`$SYS.REQ.ACCOUNT.${authority.account}.CLAIMS.LOOKUP`, "");
  const answer = JSON.parse(await ask("$SYS.REQ.CLAIMS.UPDATE", authority.revoke(publicKeys, known))) as {
    error?: { description?: string };
  };
  if (answer.error === undefined) return;
  throw new ControlPlaneUnavailableError(`NATS refuses the revocation: ${answer.error.description ?? "it does not say why"}.`, {
    reason: "revocation refused",
    hint: "Do all servers know the keys of this cluster? See their logs.",
  });
}
