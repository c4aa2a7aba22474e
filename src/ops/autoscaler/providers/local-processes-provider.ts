/**
 * The provider `local-processes`: each instance is a node daemon of this machine, a child of the autoscaler's process.
 *
 * A daemon that ends is not started again, so a dead node is a dead instance. Instances end with this process, for every cause; the next
 * autoscaler finds none and launches others.
 */
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import { type LocalNodeProcess, startNode } from "../../providers/local-processes.ts";
import { NODE_ENDS_WITHIN_MS } from "../../providers/limits.ts";
import type { LaunchAnswer, LaunchRequest, NodeProvider, ProviderNode } from "../provider.ts";

interface LocalProviderOptions {
  readonly headAddresses: readonly string[];
  readonly listenAddress: string;
  /** How a node of this machine joins: with the cluster's token, or with a join token. */
  readonly access: { readonly token?: string | undefined; readonly joinToken?: string | undefined };
  readonly logs: string;
  readonly extensions: readonly string[] | undefined;
  readonly ownExtensions: readonly string[];
  readonly onLine: (instanceId: string, line: string) => void;
}

interface LocalInstance {
  readonly type: string;
  readonly abort: AbortController;
  node: LocalNodeProcess | undefined;
  state: ProviderNode["state"];
  reason: string | undefined;
}

export class LocalProcessesProvider implements NodeProvider {
  readonly #options: LocalProviderOptions;
  readonly #instances = new Map<string, LocalInstance>();
  readonly #watchers = new Set<() => void>();

  constructor(options: LocalProviderOptions) {
    this.#options = options;
  }

  check(config: unknown, problem: (path: string, text: string) => void): void {
    for (const name of Object.keys(config ?? {})) problem(name, "local-processes has no such key: node_config is empty");
  }

  list(): Promise<ProviderNode[]> {
    return Promise.resolve(
      Array.from(this.#instances, ([instanceId, { type, state, node, reason }]) => ({
        instanceId,
        providerId: node === undefined ? "starting" : String(node.pid),
        type,
        state,
        reason,
      })),
    );
  }

  launch(wanted: readonly LaunchRequest[]): Promise<LaunchAnswer[]> {
    return Promise.resolve(
      wanted.map((request) => {
        if (!this.#instances.has(request.instanceId)) this.#start(request);
        return { instanceId: request.instanceId };
      }),
    );
  }

  async terminate(instanceIds: readonly string[]): Promise<void> {
    await Promise.all(instanceIds.map((id) => this.#end(id)));
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  async close(): Promise<void> {
    await this.terminate(Array.from(this.#instances.keys()));
  }

  #start({ instanceId, type, resources, labels }: LaunchRequest): void {
    const { headAddresses, listenAddress, access, logs, extensions, ownExtensions, onLine } = this.#options;
    const abort = new AbortController();
    const instance: LocalInstance = { type, abort, node: undefined, state: "pending", reason: undefined };
    this.#instances.set(instanceId, instance);
    const { CPU = 0, GPU = 0, ...others } = resources;
    startNode({
      numCpus: CPU,
      numGpus: GPU,
      resources: others,
      labels,
      headAddress: headAddresses,
      listenAddress,
      ...access,
      logs,
      extensions,
      ownExtensions,
      signal: abort.signal,
      onLine: (line) => onLine(instanceId, line),
    }).then(
      (node) => this.#started(instance, node),
      (error: unknown) => this.#failed(instance, messageOf(error)),
    );
  }

  #started(instance: LocalInstance, node: LocalNodeProcess): void {
    instance.node = node;
    if (instance.abort.signal.aborted) node.kill("SIGTERM");
    if (instance.state === "pending") instance.state = "running";
    void node.ended.then((how) => this.#failed(instance, `its process ended with ${how}`));
    this.#changed();
  }

  #failed(instance: LocalInstance, reason: string): void {
    instance.state = "failed";
    instance.reason = reason;
    this.#changed();
  }

  async #end(id: string): Promise<void> {
    const instance = this.#instances.get(id);
    if (instance === undefined) return;
    const { node, abort } = instance;
    if (instance.state === "pending" || instance.state === "running") instance.state = "terminating";
    abort.abort();
    if (node !== undefined) {
      node.kill("SIGTERM");
      node.kill("SIGCONT");
      const timer = setTimeout(() => node.kill("SIGKILL"), NODE_ENDS_WITHIN_MS);
      await node.ended;
      clearTimeout(timer);
    } else while (instance.state !== "failed") await new Promise((resolve) => setTimeout(resolve, 20));
    if (this.#instances.get(id) === instance) this.#instances.delete(id);
    this.#changed();
  }

  #changed(): void {
    for (const changed of this.#watchers) changed();
  }
}
