/**
 * Makes the pod and the secret of a launch from a type's `node_config`, which is a pod template. Pure.
 *
 * The template's container `shoal`, or its single container, gets the command, the join token and the type's resources. The template
 * decides all the rest, and the API server checks it strictly. The token is in the secret alone, never in the pod.
 */
import { describeValue } from "../../../../runtime/base/texts/describe.ts";
import { INSTANCE_LABEL, TYPE_LABEL } from "../../instances/instance.ts";
import type { LaunchRequest } from "../../provider.ts";
import { nodeArguments } from "../node-arguments.ts";
import { GRACE_SECONDS, GRACE_SECONDS_MAX } from "./limits.ts";
import { CLUSTER_LABEL, type OwnerReference } from "./pod.ts";

type Values = Readonly<Record<string, unknown>>;

/** Facts about the cluster that every pod has. */
interface PodFacts {
  readonly cluster: string;
  readonly image: string | undefined;
  /** The object that owns the pods: Kubernetes deletes them with their owner. */
  readonly owner: OwnerReference | undefined;
}

interface Metadata {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface PodManifest {
  readonly apiVersion: "v1";
  readonly kind: "Pod";
  readonly metadata: Metadata;
  readonly spec: Values;
}

export interface SecretManifest {
  readonly apiVersion: "v1";
  readonly kind: "Secret";
  readonly metadata: Metadata;
  readonly type: "Opaque";
  readonly immutable: true;
  readonly stringData: Readonly<Record<string, string>>;
}

const CONTAINER = "shoal";
const TOKEN_KEY = "token";
const TOKEN_VARIABLE = "SHOAL_TOKEN";
const MANAGED_BY = { "app.kubernetes.io/managed-by": "shoal" };
const SHARED_MEMORY = "shoal-shm";
const SHARED_MEMORY_FOLDER = "/dev/shm";
const GPU_RESOURCE = "nvidia.com/gpu";
const LABEL_VALUE = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

export function secretName(instanceId: string): string {
  return `${instanceId}-join`;
}

/** The labels by which the cluster finds its pods. */
export function clusterSelector(cluster: string): string {
  return `${CLUSTER_LABEL}=${cluster},app.kubernetes.io/managed-by=${MANAGED_BY["app.kubernetes.io/managed-by"]}`;
}

/** Checks a type's `node_config`. `problem` takes the path of a mistake and its text. */
export function checkPodTemplate(config: unknown, image: string | undefined, problem: (path: string, text: string) => void): void {
  const template = checked(config, "", problem);
  for (const name of Object.keys(template))
    if (name !== "metadata" && name !== "spec") problem(name, "a pod template has metadata and spec");
  const metadata = checked(template["metadata"], "metadata", problem);
  for (const name of Object.keys(metadata))
    if (name !== "labels" && name !== "annotations")
      problem(`metadata.${name}`, "the provider gives it: a template has labels and annotations");
  for (const kind of ["labels", "annotations"])
    for (const [name, value] of Object.entries(checked(metadata[kind], `metadata.${kind}`, problem))) {
      if (typeof value !== "string") problem(`metadata.${kind}.${name}`, `a text is needed: received ${describeValue(value)}`);
      if (name.startsWith("shoal.io/") || name in MANAGED_BY) problem(`metadata.${kind}.${name}`, "the provider gives it");
    }
  const spec = checked(template["spec"], "spec", problem);
  if (spec["restartPolicy"] !== undefined && spec["restartPolicy"] !== "Never")
    problem(
      "spec.restartPolicy",
      `a node that ends is replaced by another: Never is needed: received ${describeValue(spec["restartPolicy"])}`,
    );
  const grace = spec["terminationGracePeriodSeconds"] ?? GRACE_SECONDS;
  if (typeof grace !== "number" || !Number.isInteger(grace) || grace < 0 || grace > GRACE_SECONDS_MAX)
    problem("spec.terminationGracePeriodSeconds", `whole seconds up to ${GRACE_SECONDS_MAX} are needed: received ${describeValue(grace)}`);
  checkContainers(spec, image, problem);
}

function checkContainers(spec: Values, image: string | undefined, problem: (path: string, text: string) => void): void {
  const given = spec["containers"] ?? [];
  if (!Array.isArray(given)) return problem("spec.containers", `a list is needed: received ${describeValue(given)}`);
  const containers = given.map((one: unknown, index) => checked(one, `spec.containers.${index}`, problem));
  if (containers.length > 1 && containers.filter(({ name }) => name === CONTAINER).length !== 1)
    return problem("spec.containers", `of several containers one is named ${CONTAINER}, in which the node runs`);
  const at = Math.max(
    0,
    containers.findIndex(({ name }) => name === CONTAINER),
  );
  const node = containers[at] ?? {};
  const path = `spec.containers.${at}`;
  if (node["args"] !== undefined) problem(`${path}.args`, "the provider gives the node's arguments: a wrapper belongs into command");
  if (node["command"] !== undefined && !isTexts(node["command"])) problem(`${path}.command`, "a list of texts is needed");
  if (node["image"] === undefined && image === undefined) problem(`${path}.image`, "an image is needed, here or as provider.image");
  for (const name of ["env", "volumeMounts"])
    if (node[name] !== undefined && !isObjects(node[name])) problem(`${path}.${name}`, "a list of sets of keys is needed");
  if (objectsOf(node["env"]).some(({ name }) => name === TOKEN_VARIABLE)) problem(`${path}.env`, `the provider gives ${TOKEN_VARIABLE}`);
  if (spec["volumes"] !== undefined && !isObjects(spec["volumes"])) problem("spec.volumes", "a list of sets of keys is needed");
  const resources = checked(node["resources"], `${path}.resources`, problem);
  for (const kind of ["requests", "limits"]) checked(resources[kind], `${path}.resources.${kind}`, problem);
}

export function secretOf({ instanceId, joinToken }: LaunchRequest, { cluster, owner }: PodFacts): SecretManifest {
  const labels = { ...MANAGED_BY, [CLUSTER_LABEL]: cluster, [INSTANCE_LABEL]: instanceId };
  const metadata = { name: secretName(instanceId), labels, ...(owner !== undefined && { ownerReferences: [owner] }) };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", immutable: true, stringData: { [TOKEN_KEY]: joinToken } };
}

export function podOf(request: LaunchRequest, facts: PodFacts): PodManifest {
  const { instanceId, type, nodeConfig } = request;
  const template = valuesOf(nodeConfig);
  const { labels, annotations } = valuesOf(template["metadata"]);
  const typeLabel = LABEL_VALUE.test(type) ? { [TYPE_LABEL]: type } : {};
  const spec = valuesOf(template["spec"]);
  const containers = objectsOf(spec["containers"]);
  const at = Math.max(
    0,
    containers.findIndex(({ name }) => name === CONTAINER),
  );
  const grace = spec["terminationGracePeriodSeconds"] ?? GRACE_SECONDS;
  const node = nodeContainer(containers[at] ?? {}, request, { image: facts.image, graceMs: 1_000 * Number(grace) });
  const hasOwnMemory = mountsOf(containers[at] ?? {}).some(({ mountPath }) => mountPath === SHARED_MEMORY_FOLDER);
  const volumes = [...objectsOf(spec["volumes"]), ...(hasOwnMemory ? [] : [{ name: SHARED_MEMORY, emptyDir: { medium: "Memory" } }])];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: instanceId,
      labels: {
        ...(labels as Record<string, string> | undefined),
        ...MANAGED_BY,
        ...typeLabel,
        [CLUSTER_LABEL]: facts.cluster,
        [INSTANCE_LABEL]: instanceId,
      },
      annotations: { ...(annotations as Record<string, string> | undefined), [TYPE_LABEL]: type },
      ...(facts.owner !== undefined && { ownerReferences: [facts.owner] }),
    },
    spec: {
      // Work of users runs in the pod, and gets no key of Kubernetes unless the template gives one.
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...spec,
      terminationGracePeriodSeconds: grace,
      restartPolicy: "Never",
      ...(volumes.length > 0 && { volumes }),
      containers: [...containers.slice(0, at), node, ...containers.slice(at + 1)],
    },
  };
}

function nodeContainer(given: Values, request: LaunchRequest, { image, graceMs }: { image: string | undefined; graceMs: number }): Values {
  const { instanceId, command, env, resources } = request;
  const wrapper = (given["command"] ?? []) as readonly string[];
  const token = { name: TOKEN_VARIABLE, valueFrom: { secretKeyRef: { name: secretName(instanceId), key: TOKEN_KEY } } };
  const mounts = mountsOf(given);
  const hasOwnMemory = mounts.some(({ mountPath }) => mountPath === SHARED_MEMORY_FOLDER);
  return {
    image,
    ...given,
    name: CONTAINER,
    // SIGTERM is Kubernetes' notice that the pod is taken away: the node drains meanwhile.
    command: [...wrapper, ...command, ...nodeArguments(request), "--termination-grace-ms", String(graceMs)],
    env: [...objectsOf(given["env"]), ...Object.entries(env).map(([name, value]) => ({ name, value })), token],
    resources: resourcesOf(valuesOf(given["resources"]), resources),
    // Containers have 64 MB of shared memory by default, in which objects have no room.
    volumeMounts: hasOwnMemory ? mounts : [...mounts, { name: SHARED_MEMORY, mountPath: SHARED_MEMORY_FOLDER }],
  };
}

/** Requests and limits of the container: those of the template, else those of the type. */
function resourcesOf(given: Values, { CPU = 0, GPU = 0, memory = 0 }: LaunchRequest["resources"]): Values {
  const gpus = GPU > 0 ? { [GPU_RESOURCE]: String(Math.ceil(GPU)) } : {};
  const bytes = memory > 0 ? { memory: String(Math.ceil(memory)) } : {};
  const cpus = CPU > 0 ? { cpu: `${Math.ceil(1_000 * CPU)}m` } : {};
  return {
    ...given,
    requests: { ...cpus, ...bytes, ...valuesOf(given["requests"]) },
    limits: { ...bytes, ...gpus, ...valuesOf(given["limits"]) },
  };
}

function mountsOf(container: Values): readonly Values[] {
  return objectsOf(container["volumeMounts"]);
}

function checked(value: unknown, path: string, problem: (path: string, text: string) => void): Values {
  if (value !== undefined && value !== null && !isObject(value)) problem(path, `a set of keys is needed: received ${describeValue(value)}`);
  return valuesOf(value);
}

function valuesOf(value: unknown): Values {
  return isObject(value) ? value : {};
}

function objectsOf(value: unknown): readonly Values[] {
  return isObjects(value) ? value : [];
}

function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isObjects(value: unknown): value is readonly Values[] {
  return Array.isArray(value) && value.every(isObject);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
