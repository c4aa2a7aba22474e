/**
 * One connection to NATS, shared by the store and the bus of a process.
 *
 * Decides how a connection is kept: pinged every second, because with the client's defaults a server that was stopped (not killed) goes unnoticed for
 * minutes; tried again for ever, because the control plane outlives every server; and opened only to servers that have what the store needs. The
 * client package is loaded here and only when a cluster is used. Invariant: nothing else of the package imports it, types aside.
 */
import type { Authenticator, ConnectionOptions, Msg, MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import { NATS_PING_EVERY_MS } from "../control-plane/limits.ts";
import { ControlPlaneUnavailableError } from "../control-plane/control-plane-errors.ts";
import { oneOf } from "../os/network/certified-host.ts";
import type { NatsLogin } from "./server/nats-login-files.ts";
import { STORE_ATTEMPT_MS } from "../control-plane/limits.ts";

export interface NatsOptions {
  /** `nats://host:port`, one or several of the same NATS cluster. */
  readonly servers: readonly string[];
  /** How this process is called in the server's list of connections. */
  readonly name: string;
  /** The cluster's token, when the servers ask for one. */
  readonly token?: string;
  /** Or a user and a password. */
  readonly user?: string;
  readonly password?: string;
  /** Asked for each connection, so that renewed ones are used from the next on. */
  readonly credentials?: () => NatsLogin;
  readonly tls?: NatsTls;
  /** Default 10,000: three servers that start together need up to 6 s for their first elections. */
  readonly connectTimeoutMs?: number;
}

/** In PEM. Servers are verified by the authority and, where they are not called by the name in their certificate, by `serverName`. */
export interface NatsTls {
  /** Default: those of the system. */
  readonly ca?: string;
  readonly serverName?: string;
  /** The servers greet before TLS begins, as NATS does unless it is told otherwise; one that greets without TLS is refused. Default: false. */
  readonly isAfterGreeting?: boolean;
}

/** Atomic batches, on which transactions stand, came with 2.12. */
const VERSION_MIN = [2, 12] as const;
const RECONNECT_WAIT_MS = 100;
const CONNECT_TIMEOUT_MS = 10_000;

type NatsClient = typeof import("@nats-io/transport-node");

/** What the client does not say of its connections. */
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
   * One request. Fails as soon as the connection is down, since no answer will come over the next one: the client's own requests would wait for their
   * time to be over, which made each lost server cost 3 s.
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

  /** Nobody subscribes to the subject, so the request reached nobody: the one failure of a request that is certain. */
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
   * Pings are not answered. The client would close its socket once everything is sent, which a server that stands still does not take: with more under way than the system keeps
   * it would stay with that server until it goes on. It has no way to be told, so what is taken here is its own; where that is called otherwise, nothing is worse than without.
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

/** @throws ControlPlaneUnavailableError when no server answers in time, or the one that does is too old, has no JetStream or refuses what is shown */
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
    // A server that starts again may refuse for a moment what it accepts later.
    ignoreAuthErrorAbort: true,
  };
}

/** From the first byte, as our servers have it. What the client does not know of it, it hands on to Node's TLS. */
function tlsOptions(
  { ca, serverName, isAfterGreeting = false }: NatsTls,
  servers: readonly string[],
): { handshakeFirst: boolean; ca?: string } {
  const node = {
    minVersion: "TLSv1.3",
    ...(serverName !== undefined && { servername: serverName }),
    // After the greeting the client does not tell Node which server it is that is called by an IP address: any of those that were named will do.
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

/** What trying again cannot mend. */
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
