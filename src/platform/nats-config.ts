/**
 * The configuration file of a nats-server that keeps a cluster's control state.
 *
 * Decides what makes an acknowledged write safe: every write is on disk before it is acknowledged (`sync_interval: always`; NATS's default is every two
 * minutes, so that a power failure loses acknowledged writes). Connections are pinged every second, for servers that hang instead of dying.
 * Text only; who starts the server writes the file, mode 0600, since it holds the token.
 */
export interface NatsServerSettings {
  readonly name: string;
  /** The address to listen on. */
  readonly host: string;
  /** Of clients. -1: any free one; the server writes the port into a file of `portsFolder`. */
  readonly port: number;
  /** Where the server keeps its state. */
  readonly folder: string;
  /** The folder for the file with the real ports, `nats-server_<pid>.ports`. */
  readonly portsFolder?: string;
  /** What clients have to show. */
  readonly token?: string;
  /** With it the server is one of several that replicate each other. */
  readonly cluster?: { readonly name: string; readonly host: string; readonly port: number; readonly routes: readonly string[] };
}

export function natsServerConfig({ name, host, port, folder, portsFolder, token, cluster }: NatsServerSettings): string {
  const lines = [
    `server_name: ${quote(name)}`,
    `host: ${quote(host)}`,
    `port: ${port}`,
    'ping_interval: "1s"',
    "ping_max: 3",
    "max_payload: 1048576",
    `jetstream { store_dir: ${quote(folder)}, sync_interval: always }`,
  ];
  if (portsFolder !== undefined) lines.push(`ports_file_dir: ${quote(portsFolder)}`);
  if (token !== undefined) lines.push(`authorization { token: ${quote(token)} }`);
  if (cluster !== undefined) {
    const routes = cluster.routes.map(quote).join(", ");
    lines.push(`cluster { name: ${quote(cluster.name)}, host: ${quote(cluster.host)}, port: ${cluster.port}, routes: [${routes}] }`);
  }
  return `${lines.join("\n")}\n`;
}

/** NATS's strings have JSON's escapes for all that can stand in a path or a token. */
function quote(text: string): string {
  return JSON.stringify(text);
}
