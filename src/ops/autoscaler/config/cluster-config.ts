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

export interface ClusterConfig {
  readonly clusterName: string;
  /** Limit on all types together. */
  readonly maxWorkers: number;
  readonly upscalingSpeed: number;
  readonly provider: { readonly type: ProviderType; readonly config: Readonly<Record<string, unknown>> };
  readonly headNodeType: string;
  /** The head's own node. */
  readonly head: Pick<NodeTypeConfig, "resources" | "labels">;
  /** The types that are launched, in the file's order, without the head's. */
  readonly nodeTypes: readonly NodeTypeConfig[];
}
