/**
 * A connection to NATS, shared by the store and the bus of a process.
 *
 * Pings the server every second, because with the client's defaults a server that was stopped (not killed) goes unnoticed for minutes.
 * Reconnects for ever, because the control plane outlives every server. Accepts only servers with the features that the store needs. Loads
 * the client package, and only when a cluster is used. Invariant: no other file imports that package, except for types.
 */
import type { Authenticator, ConnectionOptions, Msg, MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import { NATS_PING_EVERY_MS } from "../control-plane/limits.ts";
import { ControlPlaneUnavailableError } from "../control-plane/control-plane-errors.ts";
import { oneOf } from "../os/network/certified-host.ts";
import type { NatsOptions, NatsTls } from "./nats-options.ts";
import type { NatsLogin } from "./server/nats-login-files.ts";
import { STORE_ATTEMPT_MS } from "../control-plane/limits.ts";

/** Transactions need atomic batches, which came with 2.12. */
const VERSION_MIN = [2, 12] as const;
const RECONNECT_WAIT_MS = 100;
const CONNECT_TIMEOUT_MS = 10_000;

type NatsClient = typeof import("@nats-io/transport-node");

/** Connection internals that the client's types do not declare. */
interface ConnectionWithSocket extends NatsConnection {
  readonly protocol?: { readonly transport?: { readonly socket?: { destroy(): void } } };
}

interface RequestOptions {
  readonly timeoutMs: number;
  readonly headers?: MsgHdrs;
}

export class NatsLink implements AsyncDisposable {
  readonly connection: NatsConnection;
  readonly #client: NatsClient;
  readonly #openRequests = new Set<(error: Error) => void>();
  #isConnected = true;

  constructor(connection: NatsConnection, client: NatsClient) {
    this.connection = connection;
    this.#client = client;
    void this.#followStatus();
  }

  /** False while the client looks for a server again. */
  get isConnected(): boolean {
    return this.#isConnected && !this.connection.isClosed();
  }

  /**
   * Sends one request. Fails as soon as the connection is down, since no answer can arrive over the next one. The client's own requests
   * would wait for their timeout, so that each lost server cost 3 s.
   */
  async request(subject: string, data: Uint8Array | string, { timeoutMs, headers }: RequestOptions): Promise<Msg> {
    const disconnected = Promise.withResolvers<never>();
    this.#openRequests.add(disconnected.reject);
    try {
      const answer = this.connection.request(subject, data, { timeout: timeoutMs, ...(headers && { headers }) });
      return await Promise.race([answer, disconnected.promise]);
    } finally {
      this.#openRequests.delete(disconnected.reject);
    }
  }

  headers(fields: Readonly<Record<string, string>>): MsgHdrs {
    const headers = this.#client.headers();
    for (const [name, value] of Object.entries(fields)) headers.set(name, value);
    return headers;
  }

  /** Whether the subject had no subscribers. That is the only failure that proves that the request reached nobody. */
  isNoResponders(error: unknown): boolean {
    const { NoRespondersError, RequestError } = this.#client;
    return error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders());
  }

  isTimeout(error: unknown): boolean {
    return error instanceof this.#client.TimeoutError;
  }

  inbox(): string {
    return this.#client.createInbox();
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Closes the socket of a server that answers no pings. The client closes its socket only after sending everything, which a stopped server
   * never accepts, so with a full socket buffer the client would stay with that server. The client has no public method for this, so its
   * private socket is used; if a version renames the socket, this has no effect.
   */
  #dropSocket(): void {
    (this.connection as ConnectionWithSocket).protocol?.transport?.socket?.destroy();
  }

  async #followStatus(): Promise<void> {
    for await (const status of this.connection.status()) {
      if (status.type === "reconnect") this.#isConnected = true;
      if (status.type === "staleConnection") this.#dropSocket();
      if (status.type !== "disconnect") continue;
      this.#isConnected = false;
      for (const reject of this.#openRequests) reject(new Error("the connection went down before the answer came"));
    }
  }
}

/**
 * @throws ControlPlaneUnavailableError when no server answers in time, or the answering server is too old, has no JetStream or rejects the
 * credentials
 */
export async function connectNats(options: NatsOptions): Promise<NatsLink> {
  const { servers, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
  const client = await import("@nats-io/transport-node");
  const connectionOptions = clientOptions(client, options);
  const giveUpAt = performance.now() + connectTimeoutMs;
  for (;;) {
    try {
      const link = new NatsLink(await client.connect(connectionOptions), client);
      const refusal = refusalOf(link.connection);
      if (refusal === undefined) return link;
      await link.close();
      throw new ControlPlaneUnavailableError(`Cannot use NATS at ${servers.join(", ")}: ${refusal}.`, {
        reason: "unsuitable server",
        hint: `Run nats-server ${VERSION_MIN.join(".")} or newer with JetStream on (\`nats-server -js\`).`,
      });
    } catch (error) {
      if (error instanceof ControlPlaneUnavailableError) throw error;
      const final = finalFailure(client, options, error);
      if (final !== undefined) throw final;
      if (performance.now() > giveUpAt) throw unreachable(servers, error);
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_WAIT_MS));
    }
  }
}

function clientOptions(client: NatsClient, options: NatsOptions): ConnectionOptions {
  const { servers, name, token, user, password = "", credentials, tls } = options;
  return {
    servers: [...servers],
    name,
    ...(token !== undefined && { token }),
    ...(user !== undefined && { user, pass: password }),
    ...(credentials !== undefined && { authenticator: authenticatorOf(client, credentials) }),
    ...(tls !== undefined && { tls: tlsOptions(tls, servers) }),
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    reconnectJitter: RECONNECT_WAIT_MS / 2,
    pingInterval: NATS_PING_EVERY_MS,
    maxPingOut: 2,
    timeout: STORE_ATTEMPT_MS,
    // A restarting server may refuse credentials for a moment and accept them later.
    ignoreAuthErrorAbort: true,
  };
}

/** Speaks TLS from the first byte, as our servers require. The client passes options that it does not know to Node's TLS. */
function tlsOptions(
  { ca, serverName, isAfterGreeting = false }: NatsTls,
  servers: readonly string[],
): { handshakeFirst: boolean; ca?: string } {
  const node = {
    minVersion: "TLSv1.3",
    ...(serverName !== undefined && { servername: serverName }),
    // After the greeting the client does not tell Node which server was called by an IP address, so any of the named ones is accepted.
    ...(isAfterGreeting && serverName === undefined && { checkServerIdentity: oneOf(servers.map(hostOf)) }),
  };
  return { handshakeFirst: !isAfterGreeting, ...(ca !== undefined && { ca }), ...node };
}

function hostOf(server: string): string {
  return new URL(server).hostname.replace(/^\[|\]$/g, "");
}

function authenticatorOf(client: NatsClient, credentials: () => NatsLogin): Authenticator {
  return (nonce) => {
    const { token, seed } = credentials();
    return client.jwtAuthenticator(token, Buffer.from(seed, "utf8"))(nonce);
  };
}

/** Recognizes failures that no retry can mend. */
function finalFailure(client: NatsClient, { servers, user, credentials, tls }: NatsOptions, cause: unknown): Error | undefined {
  const at = servers.join(", ");
  if (isRefusal(client, cause)) {
    const [what, hint] = shown({ user, credentials });
    return new ControlPlaneUnavailableError(`Cannot use NATS at ${at}: it refuses the ${what}.`, { reason: `wrong ${what}`, hint, cause });
  }
  const code = (cause as NodeJS.ErrnoException | null)?.code ?? "";
  if (tls !== undefined && /^(ERR_TLS_CERT|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_SSL)/.test(code)) {
    const [whose, hint] =
      tls.isAfterGreeting === true
        ? ["is not believed", "It has to name the server's address and be of an authority of the system, or of the one in --nats-ca."]
        : [
            "is not one of this cluster",
            "Is the address that of this cluster's head? Do the servers speak TLS with certificates of the cluster's authority?",
          ];
    return new ControlPlaneUnavailableError(`Cannot use NATS at ${at}: its certificate ${whose} (${code}).`, {
      reason: "wrong certificate",
      hint,
      cause,
    });
  }
  return undefined;
}

function shown({ user, credentials }: { user: string | undefined; credentials: unknown }): [what: string, hint: string] {
  if (credentials !== undefined)
    return ["credentials", "They have expired or were revoked, or are another cluster's: join the cluster again, or give a newer file."];
  if (user !== undefined) return ["password", "Give a user that the servers know, and its password."];
  return ["token", "Give the token with which the servers were started."];
}

function isRefusal(client: NatsClient, error: unknown): error is Error {
  return error instanceof client.AuthorizationError || error instanceof client.UserAuthenticationExpiredError;
}

function refusalOf({ info }: NatsConnection): string | undefined {
  if (info === undefined) return "the server did not introduce itself";
  const [major = 0, minor = 0] = info.version.split(".").map(Number);
  const isOld = major < VERSION_MIN[0] || (major === VERSION_MIN[0] && minor < VERSION_MIN[1]);
  if (isOld) return `it is version ${info.version}, and ${VERSION_MIN.join(".")} is the oldest that has atomic batches`;
  return info.jetstream === true ? undefined : "JetStream is off";
}

function unreachable(servers: readonly string[], cause: unknown): ControlPlaneUnavailableError {
  return new ControlPlaneUnavailableError(`Cannot reach NATS at ${servers.join(", ")}.`, {
    reason: "unreachable",
    hint: "Check the addresses, and that the servers run: `nats-server --version` on their machines, a firewall between.",
    cause,
  });
}
