/**
 * The process of a node daemon: started by `init()` with its configuration on the parent's line, ended with its last driver.
 *
 * Joins what may not know each other (the node and the head, sockets and child processes), and owns the session's folders: it removes them at the end,
 * whatever ended it short of SIGKILL; its driver does it then. Nothing here decides about tasks, refs or actors.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import { type JobId, type NodeId, newProcessId, type ProcessId } from "../base/ids.ts";
import { Head } from "../control/head.ts";
import { NodeDaemon } from "../node/daemon.ts";
import { NodeLinks } from "../node/node-links.ts";
import type { NodeCluster } from "../node/other-nodes.ts";
import { RemoteHead } from "../node/remote-head.ts";
import { createProcessLauncher } from "../node/process-launcher.ts";
import { createSpillDisk } from "../object/spill-disk.ts";
import { connect, listen } from "../platform/endpoint.ts";
import { createMemoryProbe, pretendedMemoryBytes } from "../platform/memory-usage.ts";
import { randomHex } from "../platform/random.ts";
import {
  claimSessionDirectories,
  removeArenaFile,
  removeSessionDirectories,
  type SessionDirectories,
  writeWorkerPids,
} from "../platform/session-directory.ts";
import { removeNodeFile, writeNodeFile } from "../platform/node-file.ts";
import type { Connection } from "../rpc/connection.ts";
import { acceptPeer, connectPeer } from "../rpc/handshake.ts";
import type { UnitShares } from "../scheduling/resource-pool.ts";
import type { NodeCommandHeader, NodeRegisterHeader, RoutedHeader } from "../wire/cluster-messages.ts";
import { decodeHeader } from "../wire/header.ts";
import { type HelloHeader, MESSAGE, PROTOCOL_VERSION } from "../wire/messages.ts";
import { readParentLine } from "../platform/worker-process.ts";
import { nodeEnvironments } from "./node-environments.ts";

export interface DaemonConfiguration {
  nodeId: NodeId;
  daemonId: ProcessId;
  jobId: JobId;
  token: string;
  namespace: string;
  directories: SessionDirectories;
  resources: Record<string, number>;
  labels: Record<string, string>;
  accelerators: UnitShares | undefined;
  objectStoreMemoryBytes: number;
  memoryUsageThreshold: number;
  taskOomRetries: number;
  workerExecArgv: string[];
  /** The node is one of a cluster. */
  cluster?: ClusterConfiguration | undefined;
}

export interface ClusterConfiguration {
  headAddress: string;
  /** Where the daemon listens for other nodes; each worker does at an address of the same kind. */
  listenAddress: string;
}

/** Written to the parent once callers can connect. */
const READY = "ready";

let end = (): void => process.exit(0);
const { configuration, send } = await readParentLine<DaemonConfiguration>(() => end());
const { directories, token, nodeId, daemonId, jobId, namespace, objectStoreMemoryBytes } = configuration;
const address = join(directories.sockets, "daemon");
claimSessionDirectories(directories);
const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
let workerCount = 0;
let isEnding = false;
const { cluster } = configuration;
const hello = (): HelloHeader => ({
  version: PROTOCOL_VERSION,
  token,
  processId: daemonId,
  holderId: daemonId,
  kind: "daemon",
  pid: process.pid,
  address: "",
  taskIdPrefix: "",
  jobId,
});
const headLink = cluster === undefined ? undefined : (await connectPeer(cluster.headAddress, hello())).connection;
const links = cluster === undefined ? undefined : new NodeLinks({ hello, connect });
let remoteHead: RemoteHead | undefined;

const environments = nodeEnvironments({
  node: nodeId,
  hostname: hostname(),
  directories,
  program: new URL(`./environment.${extension}`, import.meta.url).pathname,
  peer: () => undefined,
});

const daemon: NodeDaemon = new NodeDaemon({
  nodeId,
  processId: daemonId,
  token,
  hostname: hostname(),
  address,
  resources: configuration.resources,
  labels: configuration.labels,
  accelerators: configuration.accelerators,
  objectStoreMemoryBytes,
  newProcessId: () => newProcessId(randomHex, nodeId),
  nowMs: () => performance.now(),
  launcher: createProcessLauncher({
    entry: new URL(`./worker.${extension}`, import.meta.url).pathname,
    execArgv: configuration.workerExecArgv,
    configure: (processId, settings) => {
      workerCount += 1;
      return {
        processId,
        nodeId,
        daemonId,
        jobId: settings?.description.job?.jobId ?? jobId,
        token,
        namespace: settings?.description.job?.namespace ?? namespace,
        labels: configuration.labels,
        daemonAddress: address,
        address: join(directories.sockets, `w${workerCount}`),
        remoteAddress: cluster === undefined ? undefined : addressLike(cluster.listenAddress, `r${workerCount}`),
        memoryDirectory: directories.memory,
        spillDirectory: directories.spill,
        storeQuotaBytes: objectStoreMemoryBytes,
        taskOomRetries: configuration.taskOomRetries,
        runMark: join(directories.memory, `run-${workerCount}`),
        runtimeEnv: settings?.description,
        packageFolder: settings?.packageFolder,
        foreignCode: settings?.foreignCode,
      };
    },
    onSpawned: (pid) => writeWorkerPids(directories, [...daemon.workerPids, pid]),
  }),
  spillDisk: createSpillDisk(directories),
  buildEnvironment: (key, description) => environments.build(key, description),
  memory: { probe: createMemoryProbe(), threshold: configuration.memoryUsageThreshold, pretendedBytes: pretendedMemoryBytes() },
  unlinkArena: (arena, kind) => removeArenaFile(directories, arena, kind),
  createHead: (node) => {
    if (headLink === undefined) return Head.hostedBy(node, () => performance.now());
    remoteHead = new RemoteHead(headLink, node);
    return remoteHead;
  },
  onAbandoned: () => {
    if (cluster === undefined) end();
  },
  cluster: links === undefined ? undefined : clusterOf(links),
});

/** Where a worker listens for other nodes: a port of its own, or beside the daemon's socket. */
function addressLike(daemonAddress: string, name: string): string {
  return daemonAddress.startsWith("tcp:") ? daemonAddress.replace(/:\d+$/, ":0") : join(directories.sockets, name);
}

end = () => {
  if (isEnding) return;
  isEnding = true;
  void daemon.close().finally(() => {
    links?.close();
    if (cluster !== undefined) removeNodeFile(nodeId);
    removeSessionDirectories(directories);
    process.exit(0);
  });
};
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => end());

function clusterOf(to: NodeLinks): NodeCluster {
  return {
    linkTo: (tag) => to.linkTo(tag),
    linked: () => to.linked(),
    nodesChanged: (nodes) => to.nodesChanged(nodes),
    viewChanged: () => headLink?.send(MESSAGE.NODE_REPORT, daemon.report),
  };
}

/** Begins to listen for other nodes, and tells the head that this one is there. */
async function joinCluster(link: Connection, { listenAddress, headAddress }: ClusterConfiguration): Promise<void> {
  const listener = await listen(listenAddress, (transport) => {
    acceptPeer(transport, { token, nodeId, processId: daemonId, onPeer: (connection) => takeFrames(connection) });
  });
  takeFrames(link);
  link.onClose = () => end();
  const facts: NodeRegisterHeader = {
    version: PROTOCOL_VERSION,
    pid: process.pid,
    nodeId,
    daemonId,
    hostname: hostname(),
    address: listener.path,
    resources: configuration.resources,
    labels: configuration.labels,
    objectStoreMemoryBytes,
  };
  await link.request(MESSAGE.NODE_REGISTER, [facts, daemon.report]);
  writeNodeFile({
    clusterAddress: headAddress,
    nodeId,
    daemonId,
    token,
    socket: address,
    memoryDirectory: directories.memory,
    spillDirectory: directories.spill,
    storeQuotaBytes: objectStoreMemoryBytes,
    labels: configuration.labels,
    pid: process.pid,
    startedMs: Date.now(),
  });
}

function takeFrames(connection: Connection): void {
  connection.onFrame = (frame) => {
    if (frame.header.length === 0) return;
    const header = decodeHeader(frame.header);
    if (frame.type === MESSAGE.ROUTED) daemon.receiveRouted(header as RoutedHeader, frame.body);
    else if (frame.type === MESSAGE.NODE_COMMAND) remoteHead?.command(header as NodeCommandHeader);
  };
}

// Workers need some 40 ms to start: they begin before this process listens.
daemon.start();
await listen(address, (transport) => daemon.accept(transport));
if (headLink !== undefined && cluster !== undefined) await joinCluster(headLink, cluster);
send(READY);
