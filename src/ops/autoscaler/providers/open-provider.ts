/**
 * Opens the provider of a cluster file, and has it check each type's configuration.
 *
 * Errors name the key, and nothing has been launched then. An external module is loaded into the autoscaler's process, never into the head.
 * A provider of Shoal is one line of a table, and its module is loaded on use.
 */
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import { joinPath } from "../../../runtime/os/files/paths.ts";
import type { ClusterConfig } from "../config/cluster-config.ts";
import type { ProviderType } from "../config/provider-keys.ts";
import { ClusterConfigError } from "../config/read-cluster-config.ts";
import type { ExternalProvider, NodeProvider, ProviderContext } from "../provider.ts";

interface OpenOptions {
  readonly config: ClusterConfig;
  readonly context: ProviderContext;
  /** The cluster file, for messages. */
  readonly source: string;
  readonly local: () => NodeProvider;
  /** The URL of an external provider's module. */
  readonly moduleUrl: (module: string) => string;
}

type Maker = (options: OpenOptions) => NodeProvider | Promise<NodeProvider>;

/** Makers of providers, one line a type. A maker loads its module on use. */
const MAKERS: Readonly<Record<ProviderType, Maker>> = {
  "local-processes": ({ local }) => local(),
  kubernetes: (options) => kubernetes(options),
  ssh: async (options) => (await import("./ssh/open-ssh.ts")).openSsh(options),
  slurm: async (options) => (await import("./slurm/open-slurm.ts")).openSlurm(options),
  external: (options) => external(options.config.provider.config, options),
};

/** @throws ClusterConfigError for a module without a provider, and for a configuration that the provider refuses */
export async function openProvider(options: OpenOptions): Promise<NodeProvider> {
  const { config, source } = options;
  const provider = await MAKERS[config.provider.type](options);
  checkTypes(provider, config, source);
  return provider;
}

/** @throws ClusterConfigError for a type that the provider refuses */
export function checkTypes(provider: NodeProvider, config: ClusterConfig, source: string): void {
  for (const { name, nodeConfig } of config.nodeTypes)
    provider.check(nodeConfig, (path, text) => {
      const key = `available_node_types.${name}.node_config${path === "" ? "" : `.${path}`}`;
      throw new ClusterConfigError(`Cannot read ${source}: ${key}: ${text}.`, { reason: text, details: { source, key } });
    });
}

async function kubernetes({ config, context, source }: OpenOptions): Promise<NodeProvider> {
  const { openKubernetes } = await import("./kubernetes/kubernetes-provider.ts");
  try {
    return await openKubernetes(config.provider.config, context, { environment: process.env, folder: joinPath(source, "..") });
  } catch (error) {
    const reason = messageOf(error);
    throw new ClusterConfigError(`Cannot read ${source}: provider: kubernetes cannot be used: ${reason}.`, { reason, cause: error });
  }
}

async function external(
  given: Readonly<Record<string, unknown>>,
  { context, source, moduleUrl }: Pick<OpenOptions, "context" | "source" | "moduleUrl">,
): Promise<NodeProvider> {
  const { module, ...config } = given;
  try {
    const loaded = (await import(moduleUrl(String(module)))) as { default?: ExternalProvider };
    if (typeof loaded.default !== "function") throw new TypeError("its default export is no function");
    const provider = await loaded.default(config, context);
    for (const method of ["check", "list", "launch", "terminate", "close"] as const)
      if (typeof (provider as Partial<NodeProvider>)[method] !== "function") throw new TypeError(`the provider has no method ${method}`);
    return provider;
  } catch (error) {
    const reason = messageOf(error);
    throw new ClusterConfigError(`Cannot read ${source}: provider.module: ${String(module)} gives no provider: ${reason}.`, {
      reason,
      cause: error,
    });
  }
}
