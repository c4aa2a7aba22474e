/**
 * Reads the cluster file of `shoal up`, `shoal down` and `shoal start --autoscaling-config`.
 *
 * The reader of YAML is loaded on use, because every command would otherwise wait for it. The head's own node takes its options from the
 * file's head type, unless the command line has them.
 */
import type { AutoscalerOptions } from "../../autoscaler/autoscaler-process.ts";
import type { ClusterConfig } from "../../autoscaler/config/cluster-config.ts";
import type { NodeOptions } from "../../providers/local-processes.ts";
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import { resolvePath } from "../../../runtime/os/files/paths.ts";
import { readUserFile } from "../../../runtime/os/packages/user-modules.ts";
import { UsageError } from "../command.ts";

export interface ClusterFileRead {
  readonly config: ClusterConfig;
  readonly options: AutoscalerOptions;
}

/** @throws UsageError for a file that cannot be read, ClusterConfigError for one that cannot be taken */
export async function readClusterFile(command: string, path: string): Promise<ClusterFileRead> {
  let configText: string;
  try {
    configText = readUserFile("", path);
  } catch (error) {
    throw new UsageError(`Cannot run shoal ${command}: the cluster file cannot be read: received ${path}: ${messageOf(error)}.`);
  }
  const { readClusterConfig } = await import("../../autoscaler/config/read-cluster-config.ts");
  return { config: readClusterConfig(configText, path), options: { configText, source: resolvePath(path) } };
}

/** Options of the head's own node: those of the command line, else those of the file's head type. */
export function headNodeOptions(given: NodeOptions, { resources, labels }: ClusterConfig["head"]): NodeOptions {
  const { CPU = 0, GPU = 0, ...others } = resources;
  return {
    ...given,
    numCpus: given.numCpus ?? CPU,
    numGpus: given.numGpus ?? GPU,
    resources: given.resources ?? others,
    labels: given.labels ?? labels,
  };
}
