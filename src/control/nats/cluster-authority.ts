/**
 * The keys of a cluster's NATS, and what is made with them: what servers know, what heads and nodes show, and who is no longer let in.
 *
 * Owns one file of mode 0600 in the head's folder: the operator's key, which signs accounts; the cluster's account key, which signs heads and nodes; the key of the system
 * account, which tells servers of revocations. Servers hold no key. A node makes its own key and shows only the public half, so its secret is never sent.
 * Invariants: a token of the account is newer than every one before it, since servers keep the newest; what is revoked is on disk here before a server is told.
 */
import { natsKeyFromSeed, checkNatsPublicKey, createNatsKey, type NatsKey } from "../../platform/nats/nats-keys.ts";
import { accountToken, operatorToken, readNatsToken, userToken } from "../../platform/nats/nats-jwt.ts";
import type { NatsServerAuthority } from "../../platform/nats/nats-config.ts";
import type { NatsLogin } from "../../platform/nats/nats-login-files.ts";
import { joinPath } from "../../platform/files/paths.ts";
import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../../platform/files/private-files.ts";
import { ControlPlaneUnavailableError } from "../control-errors.ts";
import { nodePermissions } from "./node-permissions.ts";

interface NodeToken {
  readonly token: string;
  readonly expiresAtMs: number;
}

interface AuthorityOptions {
  /** The head's own, made with mode 0700. */
  readonly folder: string;
  readonly cluster: string;
  /** Milliseconds since 1970. */
  readonly nowMs?: () => number;
}

interface AuthorityFile {
  readonly version: 1;
  readonly cluster: string;
  readonly operatorSeed: string;
  readonly accountSeed: string;
  readonly systemSeed: string;
  readonly accountToken: string;
}

const FILE = "nats-authority.json";
/**
 * A node renews at half of it, so all heads may be gone for twelve hours before the first node is cut off. Shorter would not be safer: who is to go is revoked.
 */
const NODE_TOKEN_TTL_MS: number = 24 * 3_600_000;
/** After this a revoked token has expired by itself, whoever asked for it with whatever time. */
export const TOKEN_TTL_MS_MAX: number = 7 * 24 * 3_600_000;
const HEAD_TOKEN_TTL_MS = NODE_TOKEN_TTL_MS;

export class ClusterAuthority {
  readonly cluster: string;
  readonly #path: string;
  readonly #nowMs: () => number;
  readonly #operator: NatsKey;
  readonly #account: NatsKey;
  readonly #system: NatsKey;
  #accountToken: string;

  private constructor({ folder, nowMs = Date.now }: AuthorityOptions, file: AuthorityFile) {
    this.cluster = file.cluster;
    this.#path = joinPath(folder, FILE);
    this.#nowMs = nowMs;
    this.#operator = natsKeyFromSeed(file.operatorSeed);
    this.#account = natsKeyFromSeed(file.accountSeed);
    this.#system = natsKeyFromSeed(file.systemSeed);
    this.#accountToken = file.accountToken;
  }

  /** Reads the keys of the folder, or makes them. @throws ControlPlaneUnavailableError when they are another cluster's or unreadable; OpenSecretError */
  static open(options: AuthorityOptions): ClusterAuthority {
    makePrivateFolder(options.folder);
    const text = readPrivateFile(joinPath(options.folder, FILE));
    return text === undefined ? ClusterAuthority.#make(options) : ClusterAuthority.#read(options, text);
  }

  /** A further head of the cluster: `text` is `secretText()` of the first, come over an authenticated connection. */
  static join(options: AuthorityOptions, text: string): ClusterAuthority {
    makePrivateFolder(options.folder);
    const authority = ClusterAuthority.#read(options, text);
    authority.#save();
    return authority;
  }

  static #make(options: AuthorityOptions): ClusterAuthority {
    const [operator, account, system] = [createNatsKey("operator"), createNatsKey("account"), createNatsKey("account")];
    const issuedAt = seconds((options.nowMs ?? Date.now)());
    const authority = new ClusterAuthority(options, {
      version: 1,
      cluster: options.cluster,
      operatorSeed: operator.seed,
      accountSeed: account.seed,
      systemSeed: system.seed,
      accountToken: accountToken(operator, { name: options.cluster, issuedAt, publicKey: account.publicKey, hasJetStream: true }),
    });
    authority.#save();
    return authority;
  }

  static #read(options: AuthorityOptions, text: string): ClusterAuthority {
    let authority: ClusterAuthority;
    try {
      const file = JSON.parse(text) as AuthorityFile;
      readNatsToken(file.accountToken);
      authority = new ClusterAuthority(options, file);
    } catch (cause) {
      throw new ControlPlaneUnavailableError(`Cannot read the keys of the cluster in ${options.folder}: the file ${FILE} is damaged.`, {
        reason: "damaged keys",
        hint: "Bring it back from a copy, or from another head. Without it no head can use the state that was kept under these keys.",
        cause,
      });
    }
    if (authority.cluster === options.cluster) return authority;
    throw new ControlPlaneUnavailableError(
      `Cannot use the keys in ${options.folder}: they are those of the cluster "${authority.cluster}", and this is "${options.cluster}".`,
      { reason: "keys of another cluster", hint: "Choose another folder, or the other cluster's name." },
    );
  }

  /** The public key of the account in which the cluster's state lies: the cluster's identity. */
  get account(): string {
    return this.#account.publicKey;
  }

  get systemAccount(): string {
    return this.#system.publicKey;
  }

  /** What a server has to know. */
  serverAuthority(): NatsServerAuthority {
    const { issuedAt } = this.#times();
    const system = this.#system.publicKey;
    return {
      operatorToken: operatorToken(this.#operator, { name: this.cluster, issuedAt, systemAccount: system }),
      systemAccount: system,
      accountTokens: {
        [this.account]: this.#accountToken,
        [system]: accountToken(this.#operator, { name: "system", issuedAt, publicKey: system, hasJetStream: false }),
      },
    };
  }

  /** For a head: everything in the cluster's account. Made anew for each connection, so a stolen one ends. */
  headCredentials(name: string): () => NatsLogin {
    return this.#credentialsOf(this.#account, name);
  }

  /** For a head that tells servers of revocations, and hears from them who came and went. */
  systemCredentials(name: string): () => NatsLogin {
    return this.#credentialsOf(this.#system, name);
  }

  /** @throws RangeError when the key is not a user's, the id not a word of a subject, or the time longer than `TOKEN_TTL_MS_MAX` */
  nodeToken(nodeId: string, publicKey: string, { ttlMs = NODE_TOKEN_TTL_MS }: { ttlMs?: number } = {}): NodeToken {
    checkNatsPublicKey(publicKey, "user");
    if (!(ttlMs > 0 && ttlMs <= TOKEN_TTL_MS_MAX)) {
      throw new RangeError(`Cannot make a node's token: its time is 1 to ${TOKEN_TTL_MS_MAX} ms: received ${ttlMs}`);
    }
    const { issuedAt, expiresAt } = this.#times(ttlMs);
    const permissions = nodePermissions(this.cluster, nodeId);
    const token = userToken(this.#account, { name: `node-${nodeId}`, issuedAt, publicKey, permissions, expiresAt });
    return { token, expiresAtMs: expiresAt * 1_000 };
  }

  /**
   * Lets the holders of these keys in no longer, with tokens that were made up to now. Servers have to be told (`announceRevocations`).
   *
   * @param newest the account's token as the servers have it: another head may have revoked more
   */
  revoke(publicKeys: readonly string[], newest?: string): string {
    for (const publicKey of publicKeys) checkNatsPublicKey(publicKey, "user");
    const known = [this.#accountToken, ...(newest === undefined ? [] : [newest])].map(readNatsToken);
    const { issuedAt } = this.#times();
    const revocations: Record<string, number> = {};
    const forgottenBefore = issuedAt - seconds(TOKEN_TTL_MS_MAX);
    for (const [publicKey, at] of known.flatMap(({ nats }) => Object.entries(nats.revocations ?? {}))) {
      if (at >= forgottenBefore) revocations[publicKey] = Math.max(at, revocations[publicKey] ?? 0);
    }
    for (const publicKey of publicKeys) revocations[publicKey] = issuedAt;
    this.#accountToken = accountToken(this.#operator, {
      name: this.cluster,
      issuedAt: Math.max(issuedAt, ...known.map(({ iat }) => iat + 1)),
      publicKey: this.account,
      hasJetStream: true,
      revocations,
    });
    this.#save();
    return this.#accountToken;
  }

  /** All keys, for another head of the cluster. Whoever has it has the cluster. */
  secretText(): string {
    const file: AuthorityFile = {
      version: 1,
      cluster: this.cluster,
      operatorSeed: this.#operator.seed,
      accountSeed: this.#account.seed,
      systemSeed: this.#system.seed,
      accountToken: this.#accountToken,
    };
    return `${JSON.stringify(file)}\n`;
  }

  #credentialsOf(account: NatsKey, name: string): () => NatsLogin {
    const key = createNatsKey("user");
    return () => {
      const times = this.#times(HEAD_TOKEN_TTL_MS);
      return { token: userToken(account, { name, ...times, publicKey: key.publicKey, permissions: {} }), seed: key.seed };
    };
  }

  #times(ttlMs = 0): { issuedAt: number; expiresAt: number } {
    const nowMs = this.#nowMs();
    return { issuedAt: seconds(nowMs), expiresAt: seconds(nowMs + ttlMs) };
  }

  #save(): void {
    writePrivateFile(this.#path, this.secretText());
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
