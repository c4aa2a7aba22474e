/**
 * One connection to NATS, shared by the store and the bus of a process.
 *
 * Decides how a connection is kept: pinged every second, because with the client's defaults a server that was stopped (not killed) goes unnoticed for
 * minutes; tried again for ever, because the control plane outlives every server; and opened only to servers that have what the store needs. The
 * client package is loaded here and only when a cluster is used. Invariant: nothing else of the package imports it, types aside.
 */
import type { ConnectionOptions, Msg, MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import { ControlPlaneUnavailableError } from "../control-errors.ts";

export interface NatsOptions {
  /** `nats://host:port`, one or several of the same NATS cluster. */
  readonly servers: readonly string[];
  /** How this process is called in the server's list of connections. */
  readonly name: string;
  /** The cluster's token, when the servers ask for one. */
  readonly token?: string;
  /** Default 10,000: three servers that start together need up to 6 s for their first elections. */
  readonly connectTimeoutMs?: number;
}

/** Atomic batches, on which transactions stand, came with 2.12. */
const VERSION_MIN = [2, 12] as const;
const PING_INTERVAL_MS = 1_000;
const RECONNECT_WAIT_MS = 100;
const ATTEMPT_TIMEOUT_MS = 3_000;
const CONNECT_TIMEOUT_MS = 10_000;

export type NatsClient = typeof import("@nats-io/transport-node");

export interface RequestOptions {
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

  async #followStatus(): Promise<void> {
    for await (const status of this.connection.status()) {
      if (status.type === "reconnect") this.#isConnected = true;
      if (status.type !== "disconnect") continue;
      this.#isConnected = false;
      for (const reject of this.#openRequests) reject(new Error("the connection went down before the answer came"));
    }
  }
}

/** @throws ControlPlaneUnavailableError when no server answers in time, or the one that does is too old or has no JetStream */
export async function connectNats(options: NatsOptions): Promise<NatsLink> {
  const { servers, name, token, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
  const client = await import("@nats-io/transport-node");
  const connectionOptions: ConnectionOptions = {
    servers: [...servers],
    name,
    ...(token !== undefined && { token }),
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    reconnectJitter: RECONNECT_WAIT_MS / 2,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
    timeout: ATTEMPT_TIMEOUT_MS,
    // A server that starts again may refuse for a moment what it accepts later.
    ignoreAuthErrorAbort: true,
  };
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
      if (error instanceof client.AuthorizationError) {
        throw new ControlPlaneUnavailableError(`Cannot use NATS at ${servers.join(", ")}: it refuses the token.`, {
          reason: "wrong token",
          cause: error,
        });
      }
      if (performance.now() > giveUpAt) throw unreachable(servers, error);
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_WAIT_MS));
    }
  }
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
