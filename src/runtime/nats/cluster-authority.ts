/**
 * Keeps the keys of a cluster's NATS, and makes the tokens that servers and heads use.
 *
 * Owns one file of mode 0600 in the head's folder: the operator's key, which signs accounts; the cluster's account key, which signs heads; the key of the system
 * account, without which servers keep no state. Servers hold no key, and nodes do not speak to NATS.
 */
import { natsKeyFromSeed, createNatsKey, type NatsKey } from "./server/nats-keys.ts";
import { accountToken, operatorToken, userToken } from "./server/nats-jwt.ts";
import type { NatsServerAuthority } from "./server/nats-config.ts";
import type { NatsLogin } from "./server/nats-login-files.ts";
import { joinPath } from "../os/files/paths.ts";
import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../os/files/private-files.ts";
import { ControlPlaneUnavailableError } from "../control-plane/control-plane-errors.ts";

interface AuthorityOptions {
  /** The head's folder, made with mode 0700. */
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
}

const FILE = "nats-authority.json";
/** The server closes a connection at the end of the token with which it was made, and the client makes another. */
const HEAD_TOKEN_TTL_MS = 24 * 3_600_000;

export class ClusterAuthority {
  readonly cluster: string;
  readonly #path: string;
  readonly #nowMs: () => number;
  readonly #operator: NatsKey;
  readonly #account: NatsKey;
  readonly #system: NatsKey;

  private constructor({ folder, nowMs = Date.now }: AuthorityOptions, file: AuthorityFile) {
    this.cluster = file.cluster;
    this.#path = joinPath(folder, FILE);
    this.#nowMs = nowMs;
    this.#operator = natsKeyFromSeed(file.operatorSeed);
    this.#account = natsKeyFromSeed(file.accountSeed);
    this.#system = natsKeyFromSeed(file.systemSeed);
  }

  /** Reads the keys of the folder, or makes them. @throws ControlPlaneUnavailableError when they are another cluster's or unreadable; OpenSecretError */
  static open(options: AuthorityOptions): ClusterAuthority {
    makePrivateFolder(options.folder);
    const text = readPrivateFile(joinPath(options.folder, FILE));
    return text === undefined ? ClusterAuthority.#make(options) : ClusterAuthority.#read(options, text);
  }

  static #make(options: AuthorityOptions): ClusterAuthority {
    const [operator, account, system] = [createNatsKey("operator"), createNatsKey("account"), createNatsKey("account")];
    const authority = new ClusterAuthority(options, {
      version: 1,
      cluster: options.cluster,
      operatorSeed: operator.seed,
      accountSeed: account.seed,
      systemSeed: system.seed,
    });
    writePrivateFile(authority.#path, authority.#text());
    return authority;
  }

  static #read(options: AuthorityOptions, text: string): ClusterAuthority {
    let authority: ClusterAuthority;
    try {
      authority = new ClusterAuthority(options, JSON.parse(text) as AuthorityFile);
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

  /** The public key of the account with the cluster's state: the cluster's identity. */
  get account(): string {
    return this.#account.publicKey;
  }

  get systemAccount(): string {
    return this.#system.publicKey;
  }

  /** Returns the public part that a server needs. */
  serverAuthority(): NatsServerAuthority {
    const { issuedAt } = this.#times();
    const system = this.#system.publicKey;
    return {
      operatorToken: operatorToken(this.#operator, { name: this.cluster, issuedAt, systemAccount: system }),
      systemAccount: system,
      accountTokens: {
        [this.account]: accountToken(this.#operator, { name: this.cluster, issuedAt, publicKey: this.account, hasJetStream: true }),
        [system]: accountToken(this.#operator, { name: "system", issuedAt, publicKey: system, hasJetStream: false }),
      },
    };
  }

  /** For a head: everything in the cluster's account. Made anew for each connection, so that a stolen one expires. */
  headCredentials(name: string): () => NatsLogin {
    const key = createNatsKey("user");
    return () => {
      const times = this.#times(HEAD_TOKEN_TTL_MS);
      return { token: userToken(this.#account, { name, ...times, publicKey: key.publicKey }), seed: key.seed };
    };
  }

  /** Contains all keys, and so grants full control of the cluster. */
  #text(): string {
    const file: AuthorityFile = {
      version: 1,
      cluster: this.cluster,
      operatorSeed: this.#operator.seed,
      accountSeed: this.#account.seed,
      systemSeed: this.#system.seed,
    };
    return `${JSON.stringify(file)}\n`;
  }

  #times(ttlMs = 0): { issuedAt: number; expiresAt: number } {
    const nowMs = this.#nowMs();
    return { issuedAt: seconds(nowMs), expiresAt: seconds(nowMs + ttlMs) };
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
