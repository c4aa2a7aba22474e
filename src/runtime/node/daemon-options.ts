/**
 * The options of a node daemon: its identity, its offer of resources, and the parts of its host that it must not import.
 *
 * The entry points and the one-process mode fill them; `daemon.ts` reads them. They hold everything that differs between a separate process, the one-process mode
 * and a simulation.
 */
import type { NodeId, NodeTag, ProcessId } from "../base/ids.ts";
import type { Extension, ExtensionFolders } from "../extension/extension.ts";
import type { HistorySink } from "../observe/history-recorder.ts";
import type { ObservationSource } from "../observe/observed-process.ts";
import type { SpillDisk } from "../objects/spilling/spill-disk.ts";
import type { StoreFolders } from "../objects/transfer/served-object.ts";
import type { Transport } from "../os/network/transport.ts";
import type { HeadService, NodeServices } from "../rpc/head-service.ts";
import type { PeerConnection } from "../rpc/peer-connection.ts";
import type { UnitShares } from "../scheduling/resource-pool.ts";
import type { NodeInfoHeader } from "../wire/cluster/cluster-messages.ts";
import type { JobFolders } from "./environments/environment-service.ts";
import type { EnvironmentDescription, EnvironmentResult } from "./environments/environment-table.ts";
import type { UsageProbe } from "./node-metrics-service.ts";
import type { LogFolder } from "./node-logs.ts";
import type { MemoryGuardOptions } from "./workers/memory-guard.ts";
import type { WorkerLauncher } from "./workers/worker-pool.ts";

/** A daemon's connection to its cluster; the entry point makes it. */
export interface NodeCluster {
  /** The link to the daemon of another node; undefined for one that is not known, or dead. */
  readonly linkTo: (tag: NodeTag) => PeerConnection | undefined;
  /** The nodes to which there is a link. */
  readonly linked: () => Iterable<NodeTag>;
  /** Called with the cluster's nodes when they change. */
  readonly nodesChanged: (nodes: readonly NodeInfoHeader[]) => void;
  /** Called when free resources have changed, so that the head is informed. */
  readonly viewChanged: () => void;
  /** The node leaves: the head is told, and then it ends. */
  readonly leave: (reason: string) => void;
  /** An authenticated stream to the transfer address of another node. */
  readonly openTransfer: (tag: NodeTag) => Promise<Transport>;
  /** Where the store's files are. */
  readonly folders: StoreFolders;
}

export interface NodeDaemonOptions {
  nodeId: NodeId;
  processId: ProcessId;
  token: string;
  hostname: string;
  address: string;
  resources: Record<string, number>;
  labels: Record<string, string>;
  /** Ids of the accelerators that the node has, by resource; by default they are numbered from 0. */
  accelerators: UnitShares | undefined;
  objectStoreMemoryBytes: number;
  launcher: WorkerLauncher;
  newProcessId: () => ProcessId;
  nowMs: () => number;
  spillDisk: SpillDisk;
  /** Builds a runtime environment; undefined where workers are no processes. */
  buildEnvironment: ((key: string, description: EnvironmentDescription) => Promise<EnvironmentResult>) | undefined;
  /** The folders of jobs; undefined where there are no other nodes. */
  folders?: JobFolders | undefined;
  /** How memory is watched; undefined where workers are no processes of their own. */
  memory: MemoryGuardOptions | undefined;
  /** How many processes per CPU waiting tasks keep for themselves; undefined: the default. */
  waitingProcessesPerCpu?: number | undefined;
  /** Deletes a file of the store whose writer is gone. */
  unlinkArena: (arena: string, kind: "memory" | "disk") => void;
  /** Opens the record of calls of a worker; undefined where it has none. */
  observe?: ((process: ProcessId) => ObservationSource | undefined) | undefined;
  /** Writes the history of the node; undefined where it keeps none. */
  history?: HistorySink | undefined;
  /** Measures the machine's use; undefined: nothing is measured. */
  usage?: UsageProbe | undefined;
  /** Where output of workers is written; undefined: nowhere. */
  logs?: LogFolder | undefined;
  /** The control service that this daemon reaches without a message: on one machine it hosts it. */
  createHead: (node: NodeServices) => HeadService;
  extensions?: readonly Extension[] | undefined;
  /** Folders for extensions; undefined where the node is of no cluster. */
  extensionFolders?: ExtensionFolders | undefined;
  /** The last driver has gone. */
  onAbandoned: () => void;
  /** How it reaches other nodes (`membership/only-node.ts` where there are none). */
  cluster: NodeCluster;
  /** Whether a driver started this only node, which ends with its last driver. */
  isOfDriver: boolean;
}
