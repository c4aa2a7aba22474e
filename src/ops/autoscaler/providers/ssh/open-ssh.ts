/**
 * Opens the provider `ssh` of a cluster file: paths become absolute, and mistakes that need this machine are refused before anything starts.
 */
import { isLoopbackHost, parseNetworkAddress } from "../../../../runtime/os/network/network-address.ts";
import { isDirectory, isFile, userPath } from "../../../../runtime/os/files/paths.ts";
import type { ClusterConfig, SetupConfig, SshConfig } from "../../config/cluster-config.ts";
import { ClusterConfigError } from "../../config/read-cluster-config.ts";
import type { ProviderContext } from "../../provider.ts";
import { SshProvider } from "./ssh-provider.ts";

interface Opening {
  readonly config: ClusterConfig;
  readonly context: ProviderContext;
  /** The cluster file. */
  readonly source: string;
}

/** @throws ClusterConfigError for files that are absent, and for a head that other machines cannot reach */
export function openSsh({ config, context, source }: Opening): SshProvider {
  const { hosts, access } = config.ssh as SshConfig;
  const setup = config.setup as SetupConfig;
  const refuse = (key: string, reason: string): ClusterConfigError =>
    new ClusterConfigError(`Cannot read ${source}: ${key}: ${reason}.`, { reason, details: { source, key } });
  const file = (key: string, path: string | undefined): string | undefined => {
    if (path === undefined) return undefined;
    const found = userPath(path, source);
    if (!isFile(found)) throw refuse(key, `there is no such file: received ${path}`);
    return found;
  };
  const fileMounts = setup.fileMounts.map(({ from, to }) => {
    const found = userPath(from, source);
    if (!isFile(found) && !isDirectory(found)) throw refuse(`file_mounts.${to}`, `there is no such file or folder: received ${from}`);
    return { from: found, to };
  });
  const isHeadHere = context.headAddress.split(",").every((address) => isLoopbackHost(parseNetworkAddress(address).host));
  const far = hosts.find((host) => !isLoopbackHost(host));
  if (isHeadHere && far !== undefined)
    throw refuse(
      "provider.worker_ips",
      `${far} does not reach the head at ${context.headAddress}: give head_ip, or --host of \`shoal up\``,
    );
  return new SshProvider({
    clusterName: context.clusterName,
    hosts,
    access: {
      ...access,
      privateKey: file("auth.ssh_private_key", access.privateKey),
      configFile: file("provider.ssh_config", access.configFile),
    },
    setup: { ...setup, fileMounts },
    log: (text) => console.log(text),
  });
}
