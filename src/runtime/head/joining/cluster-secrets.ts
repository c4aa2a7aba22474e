/**
 * Keeps the secrets that a cluster must not lose with its head: the authority's key, the token of every hello, and the valid join tokens.
 *
 * The secrets are in a folder of the head's machine, readable by its user alone, or in the control store, for the next head. In the store
 * they are not encrypted, since only heads may read the tables (decision 0022). The secrets grant full control of the cluster. If two heads
 * start at once, one creates them and both use them.
 */
import { type Authority, authorityHash, newAuthority } from "../../os/network/certificates.ts";
import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../../os/files/private-files.ts";
import { keyedSha256Hex } from "../../os/digest.ts";
import { newToken } from "../../os/random.ts";
import { formatJoinToken } from "../../rpc/join-token.ts";
import { type JoinTokenRecord, JoinTokens } from "./join-tokens.ts";
import type { ControlStore } from "../../control-plane/control-store.ts";

export interface ClusterSecrets {
  authority: Authority;
  /** Token of every hello. */
  token: string;
  /** Token that the head shows at each start; of all others only the hash is kept. */
  joinToken: string;
  /** All that were ever made. */
  joinTokens: JoinTokenRecord[];
}

/** Where they are kept. */
export interface SecretsPlace {
  read(): Promise<ClusterSecrets | undefined>;
  /** Replaces the secrets by the result of `change`, which gets undefined if there are none yet. */
  update(change: (before: ClusterSecrets | undefined) => ClusterSecrets): Promise<ClusterSecrets>;
}

const FILE = "cluster-secrets.json";
const KEY = "security.secrets";
/** Retries after a conflict with another head's change, which is rare and short. */
const TRIES = 20;

export function secretsInFolder(folder: string): SecretsPlace {
  const file = `${folder}/${FILE}`;
  const read = (): ClusterSecrets | undefined => {
    const text = readPrivateFile(file);
    return text === undefined ? undefined : (JSON.parse(text) as ClusterSecrets);
  };
  return {
    read: async () => read(),
    update: async (change) => {
      makePrivateFolder(folder);
      const after = change(read());
      writePrivateFile(file, JSON.stringify(after));
      return after;
    },
  };
}

export function secretsInStore(store: ControlStore): SecretsPlace {
  const read = async (): Promise<{ secrets: ClusterSecrets | undefined; revision: number }> => {
    const entry = await store.get(KEY);
    if (entry === undefined) return { secrets: undefined, revision: 0 };
    return { secrets: JSON.parse(Buffer.from(entry.value).toString("utf8")) as ClusterSecrets, revision: entry.revision };
  };
  return {
    read: async () => (await read()).secrets,
    update: async (change) => {
      for (let attempt = 0; attempt < TRIES; attempt += 1) {
        const { secrets, revision } = await read();
        const after = change(secrets);
        const value = Buffer.from(JSON.stringify(after), "utf8");
        const { committed } = await store.transaction({ checks: [{ key: KEY, revision }], writes: [{ key: KEY, value }] });
        if (committed) return after;
      }
      throw new Error("Cannot keep the cluster's secrets: others change them all the time");
    },
  };
}

/** For a head whose cluster ends with it. */
export function secretsInMemory(): SecretsPlace {
  let kept: ClusterSecrets | undefined;
  return {
    read: async () => kept,
    update: async (change) => {
      kept = change(kept);
      return kept;
    },
  };
}

/**
 * Returns the secrets of the cluster, and creates them if there are none.
 *
 * @param options `token`: that of the hellos where they are made now
 */
export async function openSecrets(place: SecretsPlace, options: { nowMs: number; token?: string | undefined }): Promise<ClusterSecrets> {
  const kept = await place.read();
  if (kept !== undefined) return kept;
  const { nowMs, token = newToken() } = options;
  const authority = newAuthority({ nowMs });
  const secret = newToken();
  const made: ClusterSecrets = {
    authority,
    token,
    joinToken: formatJoinToken({ authorityHash: authorityHash(authority.ca), secret }),
    joinTokens: [new JoinTokens().add(secret, { nowMs })],
  };
  return await place.update((before) => before ?? made);
}

/**
 * Returns the secret with which nodes of the heads' own machines join. Every head of the cluster derives the same secret from the
 * authority's key, so a node that belongs to a standby can join the leader. The list of tokens needs no entry for it that somebody could
 * revoke.
 */
export function ownNodesSecret({ authority }: ClusterSecrets): string {
  return keyedSha256Hex(authority.key, "join token of the heads' own nodes");
}

/** Keeps a join token that was made or revoked. */
export async function storeJoinToken(place: SecretsPlace, record: JoinTokenRecord): Promise<void> {
  await place.update((before) => {
    if (before === undefined) throw new Error("Cannot keep a join token: the cluster's secrets are gone");
    return { ...before, joinTokens: [...before.joinTokens.filter(({ id }) => id !== record.id), record] };
  });
}
