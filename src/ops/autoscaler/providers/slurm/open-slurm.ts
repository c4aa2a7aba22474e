/**
 * Opens the provider `slurm` of a cluster file: finds the shared folder of scripts, tokens and output.
 */
import { joinPath, userPath } from "../../../../runtime/os/files/paths.ts";
import { stateFolder } from "../../../../runtime/os/files/state-folder.ts";
import type { ClusterConfig, SetupConfig } from "../../config/cluster-config.ts";
import type { ProviderContext } from "../../provider.ts";
import { SlurmProvider } from "./slurm-provider.ts";

interface Opening {
  readonly config: ClusterConfig;
  readonly context: ProviderContext;
  /** The cluster file. */
  readonly source: string;
}

/** @throws OpenSecretError for a folder that others may use */
export function openSlurm({ config, context, source }: Opening): SlurmProvider {
  const { clusterName } = context;
  const given = config.provider.config["folder"] as string | undefined;
  const folder = given === undefined ? joinPath(stateFolder(process.env), "slurm", clusterName) : userPath(given, source);
  return new SlurmProvider({ clusterName, folder, setup: config.setup as SetupConfig });
}
