/**
 * The provider `kubernetes`: each instance is a pod of the instance's name, with a secret for its join token until it runs.
 *
 * Pods and secrets belong to the head's stateful set, or else to the head's pod, so Kubernetes removes them with the head. Pods of
 * another owner are not this cluster's, even under its name. All requests are idempotent by these names, so two autoscalers make one pod.
 * Refusals carry Kubernetes' own words.
 */
import { messageOf } from "../../../../runtime/base/texts/describe.ts";
import { joinPath } from "../../../../runtime/os/files/paths.ts";
import type { LaunchAnswer, LaunchCause, LaunchRequest, NodeProvider, ProviderContext, ProviderNode } from "../../provider.ts";
import { kubeconfigAccess, podAccess } from "./access.ts";
import { KubernetesApi, KubernetesRefusal } from "./kubernetes-api.ts";
import { REQUESTS_AT_ONCE } from "./limits.ts";
import { CLUSTER_LABEL, instanceOfPod, isOverdue, type OwnerReference, type Pod } from "./pod.ts";
import { PodList } from "./pod-list.ts";
import { checkPodTemplate, clusterSelector, podOf, secretName, secretOf } from "./pod-template.ts";

/** Keys of `provider` in the cluster file. */
interface KubernetesConfig {
  readonly namespace?: string | undefined;
  /** Image of the node's container where a type's template has none. */
  readonly image?: string | undefined;
  /** For a head outside of Kubernetes. Default: the pod's service account. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** A pod that no machine can take for so long is given up, and other types are tried. Default: it waits. */
  readonly unschedulable_timeout_s?: number | undefined;
}

interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The cluster file's, from which a relative kubeconfig is found. */
  readonly folder: string;
}

interface ProviderParts {
  readonly cluster: string;
  readonly api: KubernetesApi;
  readonly image: string | undefined;
  readonly owner: OwnerReference | undefined;
  readonly unschedulableForMs: number | undefined;
}

const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Opens the provider: finds the API server and the head's own pod.
 *
 * @throws Error with the reason where the API server refuses, or the configuration cannot be used
 */
export async function openKubernetes(
  config: KubernetesConfig,
  { clusterName }: Pick<ProviderContext, "clusterName">,
  { environment, folder }: Surroundings,
): Promise<NodeProvider> {
  const { kubeconfig: file, context, image, unschedulable_timeout_s: seconds } = config;
  const access =
    file === undefined ? podAccess(environment) : kubeconfigAccess(file.startsWith("/") ? file : joinPath(folder, file), context);
  const namespace = config.namespace ?? access.namespace ?? "default";
  if (!NAMESPACE.test(namespace)) throw new Error(`namespace: lower-case letters, digits and hyphens are needed: received ${namespace}`);
  const api = new KubernetesApi(access, { namespace, labelSelector: clusterSelector(clusterName) });
  try {
    const owner = await ownerOf(api, environment);
    const unschedulableForMs = seconds === undefined ? undefined : 1_000 * seconds;
    return new KubernetesProvider({ cluster: clusterName, api, image, owner, unschedulableForMs });
  } catch (error) {
    api.close();
    throw error;
  }
}

/** The head's stateful set, which outlives its pod; else the pod itself. Undefined for a head outside of Kubernetes. */
async function ownerOf(api: KubernetesApi, environment: Surroundings["environment"]): Promise<OwnerReference | undefined> {
  const { SHOAL_POD_NAME: given, KUBERNETES_SERVICE_HOST: inside, HOSTNAME: hostName } = environment;
  const name = given ?? (inside === undefined ? undefined : hostName);
  if (name === undefined) return undefined;
  const pod = await api.pod(name);
  if (pod === undefined) {
    if (given === undefined) return undefined;
    throw new Error(`SHOAL_POD_NAME: the namespace has no pod ${name}`);
  }
  const set = pod.metadata.ownerReferences?.find(({ kind }) => kind === "StatefulSet");
  const { uid } = pod.metadata;
  return set === undefined ? { apiVersion: "v1", kind: "Pod", name, uid } : pick(set);
}

function pick({ apiVersion, kind, name, uid }: OwnerReference): OwnerReference {
  return { apiVersion, kind, name, uid };
}

class KubernetesProvider implements NodeProvider {
  readonly #parts: ProviderParts;
  readonly #list: PodList;
  readonly #watchers = new Set<() => void>();
  /** Instances whose pods run, so that their secrets are gone or going. */
  readonly #withoutSecret = new Set<string>();

  constructor(parts: ProviderParts) {
    this.#parts = parts;
    this.#list = new PodList({ api: parts.api, onChange: () => this.#changed() });
    this.#list.start();
  }

  check(config: unknown, problem: (path: string, text: string) => void): void {
    checkPodTemplate(config, this.#parts.image, problem);
  }

  async list(): Promise<ProviderNode[]> {
    const pods = await this.#list.current();
    const times = { nowMs: Date.now(), unschedulableForMs: this.#parts.unschedulableForMs };
    const nodes = Array.from(pods.values()).flatMap((pod) => (this.#isOwn(pod) ? (instanceOfPod(pod, times) ?? []) : []));
    await this.#removeUsedSecrets(nodes);
    return nodes;
  }

  async launch(wanted: readonly LaunchRequest[]): Promise<LaunchAnswer[]> {
    const answers = await eachOf(wanted, (request) => this.#launch(request));
    return answers.filter((answer) => answer !== undefined);
  }

  async terminate(instanceIds: readonly string[]): Promise<void> {
    const failed = await eachOf(instanceIds, (id) =>
      this.#end(id).then(
        () => undefined,
        (error: unknown) => `${id}: ${messageOf(error)}`,
      ),
    );
    const problems = failed.filter((problem) => problem !== undefined);
    if (problems.length > 0) throw new Error(problems.join("; "));
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  close(): Promise<void> {
    this.#list.close();
    this.#parts.api.close();
    return Promise.resolve();
  }

  #changed(): void {
    for (const changed of this.#watchers) changed();
  }

  /** @returns undefined where nobody knows whether the pod was made: the list tells */
  async #launch(request: LaunchRequest): Promise<LaunchAnswer | undefined> {
    const { instanceId } = request;
    const { api } = this.#parts;
    try {
      const known = await this.#own(instanceId);
      if (known !== undefined) return { instanceId, providerId: known.metadata.name };
      // The secret first: a pod whose secret never comes would wait for ever.
      await api.replaceSecret(secretOf(request, this.#parts));
      this.#withoutSecret.delete(instanceId);
      this.#list.add(await api.createPod(podOf(request, this.#parts)));
      return { instanceId, providerId: instanceId };
    } catch (error) {
      if (!(error instanceof KubernetesRefusal)) return undefined;
      if (error.status === 409) return await this.#taken(instanceId, error);
      await api.deleteSecret(secretName(instanceId)).catch(() => {});
      return { instanceId, ...refusedLaunch(error) };
    }
  }

  /** Answers a launch whose name is taken: by a faster autoscaler, or by a pod of others. */
  async #taken(instanceId: string, refusal: KubernetesRefusal): Promise<LaunchAnswer | undefined> {
    const pod = await this.#parts.api.pod(instanceId).catch(() => undefined);
    if (pod === undefined) return undefined;
    if (!this.#isOwn(pod)) return { instanceId, cause: "config", message: refusal.message };
    this.#list.add(pod);
    return { instanceId, providerId: pod.metadata.name };
  }

  /** Returns the cluster's pod of that name. The list may lag, so the API server is asked for a pod that is not in it. */
  async #own(instanceId: string): Promise<Pod | undefined> {
    const pod = this.#list.get(instanceId) ?? (await this.#parts.api.pod(instanceId));
    return pod !== undefined && this.#isOwn(pod) ? pod : undefined;
  }

  #isOwn({ metadata: { labels, ownerReferences = [] } }: Pod): boolean {
    const { cluster, owner } = this.#parts;
    return labels?.[CLUSTER_LABEL] === cluster && (owner === undefined || ownerReferences.some(({ uid }) => uid === owner.uid));
  }

  async #end(instanceId: string): Promise<void> {
    const { api } = this.#parts;
    const pod = await this.#own(instanceId);
    if (pod !== undefined) await api.deletePod(instanceId, pod.metadata.uid, { isForced: isOverdue(pod, Date.now()) });
    await api.deleteSecret(secretName(instanceId));
  }

  /** A container that runs has read its token. */
  async #removeUsedSecrets(nodes: readonly ProviderNode[]): Promise<void> {
    const used = nodes.filter(({ instanceId, state }) => state !== "pending" && !this.#withoutSecret.has(instanceId));
    await eachOf(used, async ({ instanceId }) => {
      this.#withoutSecret.add(instanceId);
      await this.#parts.api.deleteSecret(secretName(instanceId)).catch(() => this.#withoutSecret.delete(instanceId));
    });
    const listed = new Set(nodes.map(({ instanceId }) => instanceId));
    for (const id of this.#withoutSecret) if (!listed.has(id)) this.#withoutSecret.delete(id);
  }
}

interface RefusedLaunch {
  readonly cause: LaunchCause;
  readonly message: string;
  readonly retryAfterMs: number | undefined;
}

/** The cause of a refused pod. A quota is a refusal as any other to Kubernetes, so its text decides. */
function refusedLaunch({ status, message, retryAfterMs }: KubernetesRefusal): RefusedLaunch {
  const isQuota = status === 403 && message.includes("exceeded quota");
  const isConfig = status === 400 || status === 403 || status === 404 || status === 422;
  return { cause: isQuota ? "quota" : isConfig ? "config" : "other", message, retryAfterMs };
}

/** Runs a step for each, a few at a time. */
async function eachOf<T, R>(all: readonly T[], step: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < all.length) {
      const at = next;
      next += 1;
      results[at] = await step(all[at] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(REQUESTS_AT_ONCE, all.length) }, run));
  return results;
}
