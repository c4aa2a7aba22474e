/**
 * The keys of a cluster file: one table, from which the check of a file and the JSON Schema for editors are made. Pure.
 *
 * Names are Ray's. A key that is not here is refused. `KEYS_ELSEWHERE` has a remedy for keys of Ray that are known and not taken, and
 * `PROVIDERS_ELSEWHERE` has one for provider types.
 */
import { NODE_TYPES_MAX, WORKERS_MAX } from "../limits.ts";
import { type KeyTable, objectSchema, type Schema, type ValueKind } from "./key-table.ts";
import { PROVIDER_ALIASES, PROVIDER_KEYS } from "./provider-keys.ts";

const COUNT: ValueKind = { kind: "number", min: 0, max: WORKERS_MAX, isWhole: true };
const AMOUNT: ValueKind = { kind: "number", min: 0 };

const NODE_TYPE: KeyTable = {
  resources: {
    value: { kind: "map", of: AMOUNT },
    describe: "What a node of the type offers: CPU, GPU, memory in bytes, and names of your own. The plan counts with these numbers.",
    isNeeded: true,
  },
  labels: { value: { kind: "map", of: { kind: "text" } }, describe: "Labels of its nodes, for label selectors." },
  min_workers: { value: COUNT, describe: "So many nodes of the type always run. Default: 0." },
  max_workers: { value: COUNT, describe: "At most so many nodes of the type. Default: max_workers of the cluster." },
  idle_timeout_s: { value: AMOUNT, describe: "Seconds after which an idle node of the type goes. Default: idle_timeout_minutes." },
  priority: { value: { kind: "number", min: -1_000_000 }, describe: "Of types that fit equally well the highest is taken. Default: 0." },
  node_config: { value: { kind: "any" }, describe: "For the provider." },
};

const COMMANDS: ValueKind = { kind: "texts" };

/** Keys about machines that a provider prepares; the table of a provider says whether the provider takes them. */
const MACHINES: KeyTable = {
  auth: {
    value: {
      kind: "object",
      keys: {
        ssh_user: { value: { kind: "text" }, describe: "User of the machines. Default: that of ssh." },
        ssh_private_key: { value: { kind: "text" }, describe: "Key file. Default: those of ssh." },
        ssh_proxy_command: { value: { kind: "text" }, describe: "ProxyCommand of ssh." },
      },
    },
    describe: "How ssh reaches the machines. Host keys are always checked, and no password is asked for.",
  },
  file_mounts: {
    value: { kind: "map", of: { kind: "text" } },
    describe: "Files and folders that are copied to each machine: path there, absolute or with ~/, and path here, relative to this file.",
  },
  rsync_exclude: { value: { kind: "texts" }, describe: "Left out of the folders of file_mounts: patterns of tar's --exclude." },
  initialization_commands: { value: COMMANDS, describe: "Run on each machine before file_mounts, by a login shell." },
  setup_commands: { value: COMMANDS, describe: "Run on each machine after file_mounts, by a login shell." },
  worker_setup_commands: { value: COMMANDS, describe: "Run after setup_commands." },
};

export const CLUSTER: KeyTable = {
  cluster_name: { value: { kind: "text" }, describe: "Name of the cluster: letters, digits and hyphens.", isNeeded: true },
  max_workers: { value: COUNT, describe: "At most so many launched nodes of all types. Default: the sum of the types." },
  upscaling_speed: {
    value: AMOUNT,
    describe: "At most this many launches under way for each node that runs, and 5 in any case. Default: 1.0.",
  },
  idle_timeout_minutes: { value: AMOUNT, describe: "Minutes after which an idle node goes; fractions are taken. Default: 5." },
  provider: {
    value: {
      kind: "object",
      isOpen: true,
      keys: {
        type: {
          value: { kind: "choice", values: [...Object.keys(PROVIDER_KEYS), ...Object.keys(PROVIDER_ALIASES)] },
          describe: "What makes the nodes.",
          isNeeded: true,
        },
        ...keysOfProviders(),
      },
    },
    describe: "What makes the nodes. Further keys are those of an external provider.",
    isNeeded: true,
  },
  head_node_type: { value: { kind: "text" }, describe: "The type of available_node_types that the head's own node has.", isNeeded: true },
  available_node_types: {
    value: { kind: "map", of: { kind: "object", keys: NODE_TYPE }, entriesMax: NODE_TYPES_MAX },
    describe: "The types of nodes by name.",
    isNeeded: true,
  },
  ...MACHINES,
};

/** Keys of Ray that are not taken, with the reason. */
export const KEYS_ELSEWHERE: Readonly<Record<string, string>> = {
  docker: "is not taken: run the nodes as containers with Kubernetes",
  cluster_synced_files: "is not taken: each machine is prepared once, before its node starts",
  rsync_filter: "is not taken: give rsync_exclude",
  head_setup_commands: "is not taken: `shoal up` runs on the head's machine: run the commands there before",
  head_start_ray_commands: "is not taken: `shoal up` starts the head",
  worker_start_ray_commands: "is not taken: the provider starts the nodes",
  head_node: "is Ray's former form: give head_node_type and available_node_types",
  worker_nodes: "is Ray's former form: give available_node_types",
  min_workers: "is Ray's former form: give min_workers of a type in available_node_types",
  initial_workers: "is Ray's former form: give min_workers of a type in available_node_types",
};

/** Provider types of Ray that are not taken, with the remedy. */
export const PROVIDERS_ELSEWHERE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["aws", "gcp", "azure", "aliyun", "vsphere"].map((name) => [name, "no cloud is called directly: give an external provider"]),
  ),
  kuberay: "Shoal makes pods itself: give the type kubernetes",
  ray: "this version has no provider for Ray: give an external provider",
};

/** The keys of all providers, each described with its provider; a provider's own table says which of them it takes. */
function keysOfProviders(): KeyTable {
  return Object.fromEntries(
    Object.entries(PROVIDER_KEYS).flatMap(([type, { keys }]) =>
      Object.entries(keys).map(([name, { value, describe }]) => [name, { value, describe: `Of ${type}: ${describe}` }] as const),
    ),
  );
}

/** Returns the schema, as editors read it. */
export function clusterSchema(): Schema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Cluster file of Shoal",
    ...objectSchema(CLUSTER, false),
  };
}
