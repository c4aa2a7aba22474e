/**
 * The process of a node daemon: `init()` starts it with its configuration on the parent's line, and it ends with its last driver.
 *
 * Connects modules that must not know each other (the node and the head, sockets and child processes), and owns the session's folders. The process removes them
 * at every end except SIGKILL, after which the driver does. Nothing here decides about tasks, refs or actors.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import { messageOf } from "../runtime/base/texts/describe.ts";
import { newProcessId } from "../runtime/base/ids.ts";
import { Head } from "../runtime/head/head.ts";
import { NodeDaemon } from "../runtime/node/daemon.ts";
import { PREWARMED_MAX } from "../runtime/node/leases/limits.ts";
import { ClusterMembership, workerListenAddress } from "../runtime/node/membership/cluster-membership.ts";
import { type Joined, joinCluster } from "../runtime/node/membership/joining/join.ts";
import { onlyNode } from "../runtime/node/membership/only-node.ts";
import { ProcessLauncher } from "../runtime/node/workers/process-launcher.ts";
import { createSpillDisk } from "../runtime/objects/spilling/spill-disk.ts";
import { listen } from "../runtime/os/network/endpoint.ts";
import { NodeUsageProbe } from "../runtime/os/machine/node-usage.ts";
import { SegmentWriter } from "../runtime/os/history/segment-writer.ts";
import { NodeOutput } from "../runtime/os/logs/node-output.ts";
import { createMemoryProbe, pretendedMemoryBytes } from "../runtime/os/machine/memory-usage.ts";
import { randomHex } from "../runtime/os/random.ts";
import { pruneCodeCache, saveCodeCache } from "../runtime/os/files/code-cache.ts";
import {
  claimSessionDirectories,
  removeArenaFile,
  removeSessionDirectories,
  touchSessionDirectories,
  writeWorkerPids,
} from "../runtime/os/files/sessions/session-directory.ts";
import { ObservationFile } from "../runtime/os/processes/memory/observation-file.ts";
import { DaemonExecutionLease } from "../runtime/os/processes/memory/execution-lease.ts";
import { networkFaults } from "../runtime/os/network/network-faults.ts";
import { isSocket } from "../runtime/os/files/paths.ts";
import { pathOfFileUrl } from "../runtime/os/files/file-url.ts";
import { ownModule, PACKAGE_URL } from "../runtime/os/own-files.ts";
import { ownBuild } from "../runtime/os/engine/build.ts";
import { removeNodeFile, writeNodeFile } from "../runtime/os/files/clusters/node-file.ts";
import { setTlsIdentity, type TlsIdentity, tlsIdentity } from "../runtime/os/network/tls-identity.ts";
import { PROTOCOL_VERSION } from "../runtime/wire/messages.ts";
import { tellEndedTooSoon, tellingStartFailures } from "../runtime/os/processes/start-failure.ts";
import { loadExtensions } from "../runtime/extension/load-extensions.ts";
import { daemonStart, whenParentGone } from "./daemon-start.ts";
import { nodeEnvironments } from "./node-environments.ts";

/** Time limit on the end of processes that build environments, before the node's folders are removed. */
const BUILDERS_END_WITHIN_MS = 1000;

/** The cache of compiled modules is looked after when the first work of a program is not waiting for this process. */
const LOOK_AFTER_CACHE_MS = 5000;

/** Interval between touches of the session's files: cleaners of the temporary folder remove files that are days old. */
const KEEP_SESSION_EVERY_MS = 10_000;

/** Written to the parent once callers can connect. */
const READY = "ready";

const { configuration, send, cpus, workerEntry, earlyWorkers } = daemonStart;
let { end } = daemonStart;
whenParentGone(() => end());
process.title = "shoal daemon";
const started = tellingStartFailures(send);
const { directories, nodeId, daemonId, cluster, jobId, namespace, objectStoreMemoryBytes } = configuration;
const extensions = await loadExtensions([...(configuration.ownExtensions ?? []), ...configuration.extensions]);
const address = join(directories.sockets, "daemon");
claimSessionDirectories(directories);
const runsUntil = join(directories.memory, "runs-until");
const executionLease = cluster === undefined ? undefined : new DaemonExecutionLease(runsUntil);
let workerCount = 0;
let isEnding = false;
let isDraining = false;
let isReady = false;
let heads: readonly string[] = cluster?.headAddresses ?? [];
const startedMs = Date.now();
// Before anything connects or listens, because every connection shows the certificate.
const joined = cluster?.joinToken === undefined ? undefined : await joinFor(cluster.headAddresses, cluster.joinToken);
const token = joined?.token ?? configuration.token;
const membership =
  cluster === undefined
    ? undefined
    : new ClusterMembership({
        configuration: cluster,
        token,
        facts: {
          version: PROTOCOL_VERSION,
          pid: process.pid,
          nodeId,
          daemonId,
          hostname: hostname(),
          resources: configuration.resources,
          labels: configuration.labels,
          objectStoreMemoryBytes,
        },
        report: () => daemon.report,
        digest: () => daemon.digest,
        onRouted: (header, body) => daemon.receiveRouted(header, body),
        onTransfer: (tag, transport) => daemon.acceptTransfer(tag, transport),
        folders: { memoryDirectory: directories.memory, spillDirectory: directories.spill },
        onRegistered: () => daemon.headUp(),
        onDraining: () => {
          if (isDraining) return;
          isDraining = true;
          tellDrivers(tlsIdentity());
        },
        onHeads: (headAddresses) => {
          heads = headAddresses;
          tellDrivers(tlsIdentity());
        },
        onLeft: () => end(),
        onFence: (effect) => {
          if (effect.kind === "fence") fence(effect.reason);
          else signalWorkers(effect.kind === "pause" ? "SIGSTOP" : "SIGCONT");
        },
        onAllowed: (untilMs) => executionLease?.allow(untilMs),
        onIdentity: (identity) => tellDrivers(identity),
      });

const environments = nodeEnvironments({
  node: nodeId,
  hostname: hostname(),
  directories,
  sharesFolders: configuration.sharesFolders ?? true,
  program: ownModule("entry/environment"),
  peer: (node) => daemon.daemonOf(node),
});

const launcher = new ProcessLauncher({
  entry: workerEntry,
  pythonFolder: pathOfFileUrl(new URL("python", PACKAGE_URL)),
  execArgv: configuration.workerExecArgv,
  cpus,
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
      remoteAddress: cluster === undefined ? undefined : workerListenAddress(cluster),
      identity: tlsIdentity(),
      memoryDirectory: directories.memory,
      spillDirectory: directories.spill,
      storeQuotaBytes: objectStoreMemoryBytes,
      taskOomRetries: configuration.taskOomRetries,
      interruptSlot: join(directories.memory, `run-${workerCount}`),
      outbox: join(directories.memory, `out-${workerCount}`),
      executionLease: executionLease === undefined ? undefined : runsUntil,
      runtimeEnv: settings?.description,
      packageFolder: settings?.packageFolder,
      foreignCode: settings?.foreignCode,
      extensions: configuration.extensions,
    };
  },
  onSpawned: (pid) => writeWorkerPids(directories, [...daemon.workerPids, pid]),
  // In a cluster each job has separate workers, so spares would serve no job.
  spares: cluster === undefined ? 0 : PREWARMED_MAX,
  early: earlyWorkers,
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
  launcher,
  spillDisk: createSpillDisk(directories),
  buildEnvironment: (key, description) => environments.build(key, description),
  folders: cluster === undefined ? undefined : environments.folders,
  memory: { probe: createMemoryProbe(), threshold: configuration.memoryUsageThreshold, pretendedBytes: pretendedMemoryBytes() },
  waitingProcessesPerCpu: configuration.waitingProcessesPerCpu,
  unlinkArena: (arena, kind) => removeArenaFile(directories, arena, kind),
  observe: (worker) => {
    try {
      return new ObservationFile(directories.memory, worker);
    } catch {
      // A worker of Python, or without the native part.
      return undefined;
    }
  },
  usage: cluster === undefined ? undefined : new NodeUsageProbe({ folder: directories.spill }),
  logs: configuration.logs === undefined ? undefined : new NodeOutput({ folder: configuration.logs, onFailure: tellOutputFailure }),
  history:
    configuration.history === undefined ? undefined : new SegmentWriter({ ...configuration.history, nodeId, onFailure: tellOutputFailure }),
  createHead: (node) => {
    if (membership === undefined) return Head.hostedBy(node, { nowMs: () => performance.now(), extensions });
    return membership.headFor(node);
  },
  extensions,
  extensionFolders: cluster === undefined ? undefined : { logs: configuration.logs, temporary: join(directories.spill, "extensions") },
  onAbandoned: () => {
    if (cluster === undefined) end();
  },
  cluster: membership?.cluster ?? onlyNode({ memoryDirectory: directories.memory, spillDirectory: directories.spill }),
  isOfDriver: membership === undefined,
});

end = () => {
  if (isEnding) return;
  isEnding = true;
  // The program that ends the node may look right afterwards whether anything is left.
  void Promise.allSettled([launcher.close(), environments.close(), daemon.close()]).then(() => {
    membership?.close();
    if (cluster !== undefined) removeNodeFile(nodeId);
    removeSessionDirectories(directories);
    process.exit(0);
  });
};
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    if (isReady || cluster === undefined) return end();
    const problem = membership?.problem === undefined ? "" : ` (${membership.problem})`;
    removeSessionDirectories(directories);
    tellEndedTooSoon(send, "the node", `the head to take it in${problem}`);
  });

function tellOutputFailure(text: string): void {
  console.error(text);
  daemon.warn(text);
}

/** Ends all local work at once, because it may run elsewhere by now. The supervisor starts another daemon with a new node id. */
function fence(reason: string): void {
  isEnding = true;
  console.error(`The node ends: ${reason}.`);
  signalWorkers("SIGKILL");
  removeNodeFile(nodeId);
  const leave = (): void => {
    removeSessionDirectories(directories);
    process.exit(1);
  };
  void environments.close().then(leave);
  setTimeout(leave, BUILDERS_END_WITHIN_MS);
}

function signalWorkers(signal: NodeJS.Signals): void {
  for (const pid of daemon.workerPids) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process has ended already.
    }
  }
}

async function joinFor(addresses: readonly string[], joinToken: string): Promise<Joined> {
  const found = await joinCluster({ address: addresses, joinToken, nodeId });
  setTlsIdentity(found.identity);
  return found;
}

/** Keeps the session's files young, and replaces the socket if a cleaner of the temporary folder has removed it. */
function keepSession(): void {
  if (isEnding) return;
  touchSessionDirectories(directories);
  if (isSocket(address)) return;
  listen(address, (transport) => daemon.accept(transport)).catch((error: unknown) =>
    console.error(`The node cannot be reached by programs of this machine: ${messageOf(error)}`),
  );
}

/** Drivers of this machine find the node by it. */
function tellDrivers(identity: TlsIdentity | undefined): void {
  writeNodeFile({
    identity,
    networkFaults: networkFaults()?.place,
    clusterAddress: heads.join(","),
    nodeId,
    daemonId,
    build: ownBuild(),
    token,
    socket: address,
    memoryDirectory: directories.memory,
    spillDirectory: directories.spill,
    storeQuotaBytes: objectStoreMemoryBytes,
    labels: configuration.labels,
    pid: process.pid,
    startedMs,
    isDraining,
  });
}

// A worker that has waited for its configuration connects at once.
await listen(address, (transport) => daemon.accept(transport));
daemon.start();
launcher.start();
if (membership !== undefined && cluster !== undefined) {
  await membership.join();
  tellDrivers(tlsIdentity());
}
if (cluster !== undefined) setInterval(keepSession, KEEP_SESSION_EVERY_MS).unref();
started(READY);
isReady = true;
setTimeout(() => {
  saveCodeCache();
  pruneCodeCache();
}, LOOK_AFTER_CACHE_MS).unref();
