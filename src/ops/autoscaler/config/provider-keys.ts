/**
 * The provider types of a cluster file, one line each: the keys that `provider` takes, and those of a type's `node_config`.
 *
 * The check of a file, the JSON Schema and `openProvider` are made from this table. Data alone: the providers' code is loaded on use.
 */
import type { KeyTable } from "./key-table.ts";

interface ProviderKeys {
  readonly keys: KeyTable;
  /** Keys of the file's top level that this provider takes besides. */
  readonly takes?: readonly string[];
  /** Whether further keys are the provider's own. */
  readonly isOpen?: boolean;
  /** Keys of a type's `node_config`; undefined: the provider checks them. */
  readonly nodeConfig?: KeyTable;
}

const EXTERNAL: KeyTable = {
  module: { value: { kind: "text" }, describe: "a module whose default export makes the provider.", isNeeded: true },
};

const KUBERNETES: KeyTable = {
  namespace: { value: { kind: "text" }, describe: "namespace of the pods. Default: the head's own." },
  image: { value: { kind: "text" }, describe: "image of nodes whose type's template has none." },
  kubeconfig: {
    value: { kind: "text" },
    describe: "for a head outside of Kubernetes: a file with the server and a service account's token. Default: the pod's service account.",
  },
  context: { value: { kind: "text" }, describe: "context of the kubeconfig. Default: its current-context." },
  unschedulable_timeout_s: {
    value: { kind: "number", min: 0 },
    describe: "seconds after which a pod that no machine can take is given up, so that other types are tried. Default: it waits.",
  },
};

const COMMAND_SECTIONS: readonly string[] = ["initialization_commands", "setup_commands", "worker_setup_commands"];
const SSH_SECTIONS: readonly string[] = ["auth", "file_mounts", "rsync_exclude", ...COMMAND_SECTIONS];

const SSH: KeyTable = {
  worker_ips: { value: { kind: "texts" }, describe: "machines that ssh reaches, by address or name; one node each.", isNeeded: true },
  head_ip: { value: { kind: "text" }, describe: "address at which they reach this machine. Default: --host of `shoal up`." },
  ssh_config: { value: { kind: "text" }, describe: "a file in place of ~/.ssh/config, relative to the cluster file." },
};

const SSH_NODE: KeyTable = {
  worker_ips: { value: { kind: "texts" }, describe: "the machines of the type. Default: all of the provider's." },
};

const SLURM: KeyTable = {
  folder: {
    value: { kind: "text" },
    describe: "a folder of this user that all machines share, for tokens and output. Default: one in ~/.local/state/shoal/slurm.",
  },
};

const SLURM_NODE: KeyTable = {
  partition: { value: { kind: "text" }, describe: "partition of the jobs." },
  account: { value: { kind: "text" }, describe: "account of the jobs." },
  qos: { value: { kind: "text" }, describe: "quality of service." },
  time: { value: { kind: "text" }, describe: "time limit of a job, as a text in Slurm's form." },
  constraint: { value: { kind: "text" }, describe: "features of the machine." },
  sbatch_options: { value: { kind: "texts" }, describe: "further options of sbatch, such as --exclusive." },
};

export type ProviderType = "local-processes" | "kubernetes" | "ssh" | "slurm" | "external";

export const PROVIDER_KEYS: Readonly<Record<ProviderType, ProviderKeys>> = {
  "local-processes": { keys: {}, nodeConfig: {} },
  kubernetes: { keys: KUBERNETES },
  ssh: { keys: SSH, nodeConfig: SSH_NODE, takes: SSH_SECTIONS },
  slurm: { keys: SLURM, nodeConfig: SLURM_NODE, takes: COMMAND_SECTIONS },
  external: { keys: EXTERNAL, isOpen: true },
};

/** Aliases of types, from Ray's files. */
export const PROVIDER_ALIASES: Readonly<Record<string, ProviderType>> = { local: "ssh" };
