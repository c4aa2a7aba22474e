/**
 * The parts of a cluster file about machines: those of the provider `ssh`, access and setup, checked value by value. Pure.
 *
 * Addresses and paths go to `ssh` and to shells, so that nothing is taken that either could read as an option.
 */
import { describeValue } from "../../../runtime/base/texts/describe.ts";
import { MACHINES_MAX } from "../limits.ts";
import type { ClusterConfig, SetupConfig } from "./cluster-config.ts";

type Values = Readonly<Record<string, unknown>>;
type Refuse = (path: string, problem: string) => Error;

const HOST = /^[A-Za-z0-9]([A-Za-z0-9._:%-]{0,253})$/;
const REMOTE_PATH = /^(\/|~\/)\P{Cc}{0,1023}$/u;

/** @throws the error that `refuse` makes, with the key */
export function sshConfigOf(values: Values, provider: Values, refuse: Refuse): Pick<ClusterConfig, "ssh" | "headHost"> {
  const hosts = provider["worker_ips"] as readonly string[];
  if (hosts.length === 0 || hosts.length > MACHINES_MAX)
    throw refuse("provider.worker_ips", `1 to ${MACHINES_MAX} machines are needed: received ${hosts.length}`);
  const wrong = hosts.find((host, index) => !HOST.test(host) || hosts.indexOf(host) !== index);
  if (wrong !== undefined)
    throw refuse("provider.worker_ips", `addresses or names are needed, each once and without a user: received ${describeValue(wrong)}`);
  refuseStrangers(values, hosts, refuse);
  const auth = (values["auth"] ?? {}) as Readonly<Record<string, string | undefined>>;
  const access = {
    user: auth["ssh_user"],
    privateKey: auth["ssh_private_key"],
    proxyCommand: auth["ssh_proxy_command"],
    configFile: provider["ssh_config"] as string | undefined,
  };
  return { ssh: { hosts, access }, headHost: provider["head_ip"] as string | undefined };
}

/** Reads the steps that prepare a machine. @throws the error that `refuse` makes, with the key */
export function setupConfigOf(values: Values, refuse: Refuse): SetupConfig {
  const mounts = Object.entries((values["file_mounts"] ?? {}) as Readonly<Record<string, string>>);
  for (const [to] of mounts)
    if (!REMOTE_PATH.test(to)) throw refuse("file_mounts", `absolute paths, or paths with ~/, are needed: received ${describeValue(to)}`);
  const texts = (name: string): readonly string[] => (values[name] ?? []) as readonly string[];
  return {
    initializationCommands: texts("initialization_commands"),
    fileMounts: mounts.map(([to, from]) => ({ from, to })),
    rsyncExclude: texts("rsync_exclude"),
    setupCommands: [...texts("setup_commands"), ...texts("worker_setup_commands")],
  };
}

/** A type may name some of the provider's machines, and no others. */
function refuseStrangers(values: Values, hosts: readonly string[], refuse: Refuse): void {
  const types = values["available_node_types"] as Readonly<Record<string, { node_config?: { worker_ips?: readonly string[] } }>>;
  for (const [name, { node_config: nodeConfig }] of Object.entries(types)) {
    const stranger = nodeConfig?.worker_ips?.find((host) => !hosts.includes(host));
    if (stranger !== undefined)
      throw refuse(
        `available_node_types.${name}.node_config.worker_ips`,
        `machines of provider.worker_ips are needed: received ${describeValue(stranger)}`,
      );
  }
}
