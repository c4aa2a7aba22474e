/**
 * The configuration file of a nats-server that keeps a cluster's control state.
 *
 * Makes acknowledged writes safe: each is on disk before it is acknowledged (`sync_interval: always`). NATS's default of two minutes loses
 * acknowledged writes in a power failure. Connections are pinged every second, for servers that hang instead of dying. Every client needs
 * credentials, no monitoring port is opened, and other servers join with a separate secret, since a route may do everything. Returns text
 * only; the caller writes it with mode 0600, since it holds secrets.
 */
import { NATS_PINGS_MAX } from "./limits.ts";
import { NATS_MESSAGE_BYTES_MAX, NATS_PING_EVERY_MS, NATS_STATE_BYTES_MAX } from "../../control-plane/limits.ts";
interface NatsServerSettings {
  readonly name: string;
  /** The address to listen on. */
  readonly host: string;
  /** Client port. -1: any free port, which the server writes into a file of `portsFolder`. */
  readonly port: number;
  /** Where the server keeps its state. */
  readonly folder: string;
  /** The folder for the file with the real ports, `nats-server_<pid>.ports`. */
  readonly portsFolder?: string;
  /** Token that clients have to present. */
  readonly token?: string;
  /** Authority whose tokens clients have to present instead. */
  readonly authority?: NatsServerAuthority;
  /** Files in PEM. Clients verify the server; other servers and this one verify each other. */
  readonly tls?: { readonly caFile: string; readonly certificateFile: string; readonly keyFile: string };
  readonly log?: { readonly file: string; readonly sizeBytesMax: number; readonly filesMax: number };
  /** With it the server is one of several that replicate each other. */
  readonly cluster?: NatsRoutes & { readonly name: string };
}

/** Signed tokens (`nats-jwt.ts`) without keys: a server can admit only clients that the operator admitted. */
export interface NatsServerAuthority {
  readonly operatorToken: string;
  readonly systemAccount: string;
  /** By public key. */
  readonly accountTokens: Readonly<Record<string, string>>;
}

/** How the servers of one cluster find each other. */
export interface NatsRoutes {
  readonly host: string;
  readonly port: number;
  /** `nats://host:port` of the ports for other servers, this one's among them or not. */
  readonly routes: readonly string[];
  /** Secret between servers. Without it everybody who reaches the port can join. */
  readonly secret?: string;
}

const ROUTE_USER = "server";

export function natsServerConfig(settings: NatsServerSettings): string {
  const { name, host, port, folder, portsFolder, token, authority, tls, log, cluster } = settings;
  const lines = [
    `server_name: ${quote(name)}`,
    `host: ${quote(host)}`,
    `port: ${port}`,
    `ping_interval: "${NATS_PING_EVERY_MS / 1000}s"`,
    `ping_max: ${NATS_PINGS_MAX}`,
    `max_payload: ${NATS_MESSAGE_BYTES_MAX}`,
    `jetstream { store_dir: ${quote(folder)}, sync_interval: always, max_file: ${NATS_STATE_BYTES_MAX} }`,
  ];
  if (portsFolder !== undefined) lines.push(`ports_file_dir: ${quote(portsFolder)}`);
  if (token !== undefined) lines.push(`authorization { token: ${quote(token)} }`);
  if (authority !== undefined) lines.push(...authorityLines(authority));
  // From the first byte: an attacker can tell a client that waits for the greeting that there is no TLS.
  if (tls !== undefined) lines.push(`tls { ${tlsFields(tls)}, handshake_first: true, timeout: 5 }`);
  if (log !== undefined) {
    lines.push(`logfile: ${quote(log.file)}`, `logfile_size_limit: ${log.sizeBytesMax}`, `logfile_max_num: ${log.filesMax}`);
  }
  if (cluster !== undefined) lines.push(`cluster { ${clusterFields(cluster, tls)} }`);
  return `${lines.join("\n")}\n`;
}

function authorityLines({ operatorToken, systemAccount, accountTokens }: NatsServerAuthority): string[] {
  const accounts = Object.entries(accountTokens).map(([account, token]) => `${account}: ${token}`);
  return [
    `operator: ${operatorToken}`,
    `system_account: ${systemAccount}`,
    "resolver: MEMORY",
    `resolver_preload { ${accounts.join(", ")} }`,
  ];
}

function tlsFields({ caFile, certificateFile, keyFile }: NonNullable<NatsServerSettings["tls"]>): string {
  return `cert_file: ${quote(certificateFile)}, key_file: ${quote(keyFile)}, ca_file: ${quote(caFile)}`;
}

function clusterFields(
  { name, host, port, routes, secret }: NonNullable<NatsServerSettings["cluster"]>,
  tls: NatsServerSettings["tls"],
): string {
  const fields = [`name: ${quote(name)}`, `host: ${quote(host)}`, `port: ${port}`];
  if (secret !== undefined) fields.push(`authorization { user: ${ROUTE_USER}, password: ${quote(secret)}, timeout: 5 }`);
  fields.push(`routes: [${routes.map((route) => quote(withSecret(route, secret))).join(", ")}]`);
  if (tls !== undefined) fields.push(`tls { ${tlsFields(tls)}, verify: true, timeout: 5 }`);
  return fields.join(", ");
}

function withSecret(route: string, secret: string | undefined): string {
  return secret === undefined ? route : route.replace("://", `://${ROUTE_USER}:${encodeURIComponent(secret)}@`);
}

/** NATS's strings have JSON's escapes for every character of a path or a token. */
function quote(text: string): string {
  return JSON.stringify(text);
}
