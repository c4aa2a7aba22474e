/**
 * The interface between the autoscaler and a maker of machines: `NodeProvider`.
 *
 * A provider launches instances, ends them and lists those that exist. The autoscaler names every instance and
 * keeps the states in the head's table, so a provider needs no memory. `providerSuite` of `shoal/testing` checks a provider.
 */

/** An instance as its provider knows it. */
export interface ProviderNode {
  /** The autoscaler's name of the instance, which the launch request carried. */
  readonly instanceId: string;
  /** The provider's own name: a pod, a job number, a process id. */
  readonly providerId: string;
  /** The node type of the cluster file. */
  readonly type: string;
  /** `pending` is on the way and is waited for; `failed` never runs. */
  readonly state: "pending" | "running" | "terminating" | "failed";
  readonly address?: string | undefined;
  /** Why it is pending, or failed: shown to people. */
  readonly reason?: string | undefined;
}

/** An instance to launch. */
export interface LaunchRequest {
  /** Letters, digits and hyphens, at most 63: a valid name for a pod, a job or a host. */
  readonly instanceId: string;
  readonly type: string;
  /** Resources of the node, in Ray's units: CPUs, GPUs, bytes of `memory`, and custom names. */
  readonly resources: Readonly<Record<string, number>>;
  /** Labels of the node; `shoal.io/instance-id` and `shoal.io/node-type` are among them. */
  readonly labels: Readonly<Record<string, string>>;
  /** The type's `node_config`, as the cluster file has it. */
  readonly nodeConfig: unknown;
  /** Command that starts the node in the foreground. It reads the join token from `SHOAL_TOKEN`. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Secret for one hour. It belongs in a file of mode 0600 or in a secret of the platform, never in a command line. */
  readonly joinToken: string;
}

/** Why a launch failed: the next one waits longer for the same cause. */
export type LaunchCause = "capacity" | "quota" | "price" | "config" | "other";

export type LaunchAnswer =
  | { readonly instanceId: string; readonly providerId?: string | undefined }
  | {
      readonly instanceId: string;
      readonly cause: LaunchCause;
      /** The platform's own words. */
      readonly message: string;
      /** The platform asks to wait so long. */
      readonly retryAfterMs?: number | undefined;
    };

/** Makes machines and ends them. */
export interface NodeProvider {
  /**
   * Checks a type's `node_config` before anything is started.
   *
   * @param problem takes a path inside the configuration (`image.tag`) and the problem there
   */
  check(config: unknown, problem: (path: string, text: string) => void): void;
  /** Lists the cluster's existing instances, also those of earlier autoscalers. */
  list(): Promise<ProviderNode[]>;
  /** Launches instances. A request with the `instanceId` of an existing instance launches nothing. An instance without an answer is looked for in `list`. */
  launch(wanted: readonly LaunchRequest[]): Promise<LaunchAnswer[]>;
  /** Ends instances. Unknown ones are no error. */
  terminate(instanceIds: readonly string[]): Promise<void>;
  /** Calls `changed` when the list may have changed. @returns a function that ends the watch */
  watch?(changed: () => void): () => void;
  /** Frees the provider's connections and timers in this process. Instances stay. */
  close(): Promise<void>;
}

/** Facts about the cluster for a provider. */
export interface ProviderContext {
  readonly clusterName: string;
  /** Where nodes reach the head; several addresses with commas. */
  readonly headAddress: string;
}

/** The default export of an `external` provider's module. `config` is the file's `provider` without `type` and `module`. */
export type ExternalProvider = (
  config: Readonly<Record<string, unknown>>,
  context: ProviderContext,
) => NodeProvider | Promise<NodeProvider>;
