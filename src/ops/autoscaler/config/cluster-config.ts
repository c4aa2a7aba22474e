/**
 * A cluster file as the autoscaler uses it: with Shoal's names and units, every default filled in.
 *
 * `read-cluster-config.ts` makes it. The plan and the providers read it and never see the file itself. Data alone.
 */
import type { ProviderType } from "./provider-keys.ts";

export interface NodeTypeConfig {
  readonly name: string;
  readonly resources: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly minWorkers: number;
  readonly maxWorkers: number;
  readonly idleTimeoutMs: number;
  readonly priority: number;
  readonly nodeConfig: unknown;
}

/** A file or folder that is copied to each machine. */
interface FileMount {
  /** Path here, relative to the cluster file. */
  readonly from: string;
  readonly to: string;
}

/** Steps that prepare a machine, in the order in which they run. */
export interface SetupConfig {
  readonly initializationCommands: readonly string[];
  readonly fileMounts: readonly FileMount[];
  /** Patterns of tar's `--exclude`. */
  readonly rsyncExclude: readonly string[];
  readonly setupCommands: readonly string[];
}

/** How the system's ssh reaches the machines. */
export interface SshAccess {
  readonly user: string | undefined;
  readonly privateKey: string | undefined;
  readonly proxyCommand: string | undefined;
  /** A file in place of `~/.ssh/config`. */
  readonly configFile: string | undefined;
}

/** The machines of the provider `ssh`. */
export interface SshConfig {
  readonly hosts: readonly string[];
  readonly access: SshAccess;
}

export interface ClusterConfig {
  readonly clusterName: string;
  /** Limit on all types together. */
  readonly maxWorkers: number;
  readonly upscalingSpeed: number;
  readonly provider: { readonly type: ProviderType; readonly config: Readonly<Record<string, unknown>> };
  /** Undefined for other providers than `ssh`. */
  readonly ssh?: SshConfig | undefined;
  /** Undefined for providers that prepare no machines. */
  readonly setup?: SetupConfig | undefined;
  /** Address at which other machines reach the head's; the command line may name another. */
  readonly headHost?: string | undefined;
  readonly headNodeType: string;
  /** The head's own node. */
  readonly head: Pick<NodeTypeConfig, "resources" | "labels">;
  /** The types that are launched, in the file's order, without the head's. */
  readonly nodeTypes: readonly NodeTypeConfig[];
}
