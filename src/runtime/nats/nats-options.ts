/**
 * Options of a connection to NATS.
 *
 * Public types reach these options, so they stand apart from the connection: a user's compiler need not read the types of the client.
 */
import type { NatsLogin } from "./server/nats-login-files.ts";

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
  /** Default: the system's authorities. */
  readonly ca?: string;
  readonly serverName?: string;
  /** Whether servers greet before TLS begins, NATS's default; one that greets without TLS is refused. Default: false. */
  readonly isAfterGreeting?: boolean;
}
