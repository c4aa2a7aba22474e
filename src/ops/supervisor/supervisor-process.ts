/**
 * The process that `shoal start` leaves behind: it keeps a head, a node and a dashboard running (`ops/supervisor/supervisor.ts`) until it is
 * asked to end.
 *
 * Reports to its parent, as JSON, which processes have started, or why none has. After that it lives on without its parent, unless the
 * parent stays in the foreground (`--block`). Owns the logs and the file by which `shoal stop` and `shoal status` find it. It runs no user
 * code and holds no state of the cluster: after its death by SIGKILL everything under it ends by itself.
 */
import { join } from "node:path";
import { messageOf } from "../../runtime/base/texts/describe.ts";
import type { HistoryPlace, LocalHead, LocalNodeProcess, NodeOptions } from "../providers/local-processes.ts";
import { type LocalProcess, startBeside, startHead, startNode } from "../providers/local-processes.ts";
import type { DashboardConfiguration, DashboardOptions, DashboardStart } from "../http/dashboard-process.ts";
import type { AutoscalerConfiguration, AutoscalerOptions } from "../autoscaler/autoscaler-process.ts";
import { type SupervisedNats, startSupervisedNats } from "../providers/supervised-nats.ts";
import { Supervisor } from "./supervisor.ts";
import { noticeSource } from "./preemption/notice-source.ts";
import { drainNode, PreemptionWatch, timeToLeave } from "./preemption/preemption-watch.ts";
import { httpTokenFileName } from "../connection/http-token-record.ts";
import type { NatsProcessEvent } from "../../runtime/nats/server/nats-process.ts";
import { parseNetworkAddress, formatAddresses } from "../../runtime/os/network/network-address.ts";
import type { NatsPlace } from "../../runtime/nats/open-control-plane.ts";
import type { HeadConfiguration } from "../../entry/head.ts";
import { fileUrlOf } from "../../runtime/os/files/file-url.ts";
import { lockFolder } from "../../runtime/os/files/folders/folder-lock.ts";
import { RotatingLog } from "../../runtime/os/files/logs/rotating-log.ts";
import { removeRunFile, runProcess, writeRunFile } from "../../runtime/os/files/clusters/run-file.ts";
import { ownModule } from "../../runtime/os/own-files.ts";
import { failureLine } from "../../runtime/os/processes/start-failure.ts";
import { readParentLine } from "../../runtime/os/processes/worker-process.ts";

export interface SupervisorConfiguration {
  readonly id: string;
  /** Folder of the logs. */
  readonly logs: string;
  /** Undefined: none is kept. */
  readonly history: HistoryPlace | undefined;
  /** Undefined on a machine that joins the cluster of another. */
  readonly head: SupervisedHead | undefined;
  readonly join: { readonly addresses: readonly string[]; readonly token: string } | undefined;
  /** Address at which the node listens for other nodes. */
  readonly listenAddress: string;
  readonly node: NodeOptions;
  /** The parent stays, and everything ends with the parent. */
  readonly isForeground: boolean;
  readonly preemption?: PreemptionOptions | undefined;
}

/** How this machine learns that it goes away. */
interface PreemptionOptions {
  /** The text of `--preemption-notice`. */
  readonly notice: string | undefined;
  /** SIGTERM means that the machine goes after this time. Undefined: everything ends at once. */
  readonly terminationGraceMs: number | undefined;
}

export interface SupervisedHead {
  readonly name: string;
  readonly address: string;
  /** Folder of durable state, which survives a restart. */
  readonly directory: string;
  /** Whether other heads may take over (`--ha`). */
  readonly hasRivals: boolean;
  /** Undefined: no HTTP server (`--no-dashboard`). */
  readonly dashboard: DashboardOptions | undefined;
  /** Undefined: no nodes are launched. */
  readonly autoscaler?: AutoscalerOptions | undefined;
  /** Undefined: it keeps its tables in its memory. */
  readonly nats: OwnNats | OtherNats | undefined;
}

/** A NATS server that the head starts. */
interface OwnNats {
  readonly kind: "own";
  readonly program: string;
  readonly port: number;
}

/** A NATS server of the user. */
export interface OtherNats extends Pick<NatsPlace, "urls" | "token" | "user" | "password" | "credentialsFile" | "tls"> {
  readonly kind: "runs";
}

/** Report to the parent. */
export interface SupervisorStarted {
  readonly kind: "started";
  readonly address: string;
  /** Heads of the cluster that this machine knows. */
  readonly heads: readonly string[];
  readonly nodeId: string;
  /** With it other machines join. */
  readonly joinToken: string | undefined;
  /** Where the HTTP server listens. */
  readonly dashboardUrl: string | undefined;
  /** Whether the default port of the dashboard was taken. */
  readonly isDashboardMoved: boolean;
}

interface LocalDashboard extends LocalProcess, DashboardStart {}

/** Time between two looks whether a node that is drained has left. */
const LOOKS_FOR_LEAVING_EVERY_MS = 100;
/** The extension that runs submitted jobs. */
const JOBS = fileUrlOf(ownModule("ops/jobs/jobs-extension"));

let isStarted = false;
let stop: (reason: string) => void = () => process.exit(1);
const { configuration, send } = await readParentLine<SupervisorConfiguration>(() => {
  if (!isStarted || configuration.isForeground) stop("the process that started it has ended");
});
process.title = "shoal supervisor";
const { id, logs, history, head, join: joins, listenAddress, node: offer, preemption } = configuration;
const log = new RotatingLog(join(logs, "supervisor.log"));
const headLog = new RotatingLog(join(logs, "head.log"));
const nodeLog = new RotatingLog(join(logs, "node.log"));
const autoscalerLog = new RotatingLog(join(logs, "autoscaler.log"));
const dashboardLog = new RotatingLog(join(logs, "dashboard.log"));
const startedMs = Date.now();
// A head that is started again has to be where nodes look for it, also when the system chose the port.
let address = head?.address ?? "";
let heads: readonly string[] = joins?.addresses ?? [];
let nats: SupervisedNats | undefined;
/** A dashboard that is started again has to be where browsers look for it. */
let dashboardPort = head?.dashboard?.port;
let lock: Awaited<ReturnType<typeof lockFolder>> | undefined;

const supervisor = new Supervisor<LocalHead, LocalNodeProcess, LocalDashboard>({
  startStore: head?.nats?.kind === "own" ? (signal) => startNats(head, signal) : undefined,
  startHead:
    head === undefined
      ? undefined
      : async (signal) => {
          const started = await startHead({
            signal,
            address,
            directory: head.directory,
            nats: nats?.access,
            controlPlane: otherPlane(head),
            hasRivals: head.hasRivals,
            extensions: extensionsOfHead(head),
            history,
            onLine: (line) => headLog.write(line),
            onChange: ({ leads, reason }) => log.write(leads ? `The head leads: ${reason}.` : `The head stands by: ${reason}.`),
          });
          address = started.address;
          heads = started.heads;
          return started;
        },
  startNode: (ownHead, signal) =>
    startNode({
      signal,
      ...offer,
      ownExtensions: [JOBS],
      ...accessOf(ownHead),
      headAddress: heads,
      listenAddress,
      logs,
      history,
      onLine: (line) => nodeLog.write(line),
    }),
  startDashboard: head?.dashboard === undefined ? undefined : (signal) => startDashboard(head, head.dashboard as DashboardOptions, signal),
  startAutoscaler:
    head?.autoscaler === undefined
      ? undefined
      : (ownHead, signal) => startAutoscaler(head, head.autoscaler as AutoscalerOptions, { ownHead, signal }),
  log: (text) => log.write(text),
  onChange: writeFile,
  onLeft: () => stop("its node has left the cluster"),
  nowMs: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
});

async function startNats({ name, directory, nats: wanted }: SupervisedHead, signal: AbortSignal): Promise<SupervisedNats["server"]> {
  if (wanted?.kind !== "own") throw new Error("nobody wants a nats-server");
  const { program, port } = wanted;
  const { host } = parseNetworkAddress(address);
  nats = await startSupervisedNats({ program, cluster: name, directory, host, port, onEvent: natsEvent, signal });
  return nats.server;
}

async function startDashboard(
  { name, directory, hasRivals }: SupervisedHead,
  options: DashboardOptions,
  signal: AbortSignal,
): Promise<LocalDashboard> {
  const wanted: DashboardConfiguration = {
    ...options,
    port: dashboardPort,
    clusterName: name,
    headAddress: address,
    directory,
    hasRivals,
  };
  const started = await startBeside({
    module: "ops/http/dashboard-process",
    what: "the dashboard",
    configuration: wanted,
    onLine: (line) => dashboardLog.write(line),
    signal,
  });
  const facts = JSON.parse(started.message) as DashboardStart;
  dashboardPort = facts.port;
  return { ...started.process, ...facts };
}

function extensionsOfHead({ autoscaler }: SupervisedHead): readonly string[] {
  const always = [JOBS, ...(offer.extensions ?? [])];
  if (autoscaler === undefined) return always;
  return [...always, fileUrlOf(ownModule("ops/autoscaler/head-extension"))];
}

let autoscalersStarted = 0;

async function startAutoscaler(
  { name, hasRivals }: SupervisedHead,
  options: AutoscalerOptions,
  { ownHead, signal }: { ownHead: LocalHead | undefined; signal: AbortSignal },
): Promise<LocalProcess> {
  autoscalersStarted += 1;
  const wanted: AutoscalerConfiguration = {
    ...options,
    owner: id,
    isFirst: autoscalersStarted === 1,
    clusterName: name,
    headAddress: address,
    headAddresses: heads,
    listenAddress,
    access: accessOf(ownHead),
    hasRivals,
    logs,
    extensions: offer.extensions,
    ownExtensions: [JOBS],
  };
  const started = await startBeside({
    module: "ops/autoscaler/autoscaler-process",
    what: "the autoscaler",
    configuration: wanted,
    onLine: (line) => autoscalerLog.write(line),
    signal,
  });
  return started.process;
}

function otherPlane({ name, nats: wanted }: SupervisedHead): HeadConfiguration["controlPlane"] {
  if (wanted?.kind !== "runs") return undefined;
  const { kind: _kind, ...access } = wanted;
  return { ...access, kind: "nats", cluster: name, name: "shoal-head", replicas: replicasOf(wanted.urls.length) };
}

/** As many as there are servers, of which a majority has to live; of two that would be both, so one keeps all. */
function replicasOf(servers: number): number {
  return servers >= 3 ? 3 : 1;
}

function natsEvent(event: NatsProcessEvent): void {
  if (event.kind === "ready") log.write(`The nats-server answers at ${event.url}: process ${event.pid}.`);
  else if (event.kind === "diskFull") log.write(`The nats-server has no room in ${event.folder}: it stores nothing new until there is.`);
  else log.write(`The nats-server ended; it starts again in ${event.startsAgainInMs} ms. ${event.error.message}`);
  writeFile();
}

/** A node beside its head on the loopback network needs no certificate; any other gets one for a join token. */
function accessOf(ownHead: LocalHead | undefined): { token?: string; joinToken?: string | undefined } {
  if (ownHead === undefined) return { joinToken: joins?.token };
  return ownHead.needsCertificates ? { joinToken: ownHead.ownJoinToken } : { token: ownHead.token };
}

let isStopping = false;
const stopping = new AbortController();
stop = (reason) => {
  if (isStopping) return;
  isStopping = true;
  stopping.abort();
  log.write(`Ends: ${reason}.`);
  void supervisor.stop().then(() => {
    leave();
    log.write("Everything has ended.");
    // An unfinished start reports to its parent that it was ended.
    if (isStarted) process.exit(0);
  });
};
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const nodeId = (): string | undefined => supervisor.node?.nodeId;
const drain = (node: string, leftMs: number | undefined): Promise<void> => drainNode(heads, { nodeId: node, leftMs });
let isTerminating = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    const graceMs = signal === "SIGTERM" && isStarted && !isTerminating ? preemption?.terminationGraceMs : undefined;
    if (graceMs === undefined) stop(`it received ${signal}`);
    else void terminate(graceMs);
  });

/** SIGTERM with a grace: the node is drained first. A second signal ends everything at once. */
async function terminate(graceMs: number): Promise<void> {
  isTerminating = true;
  const leavesAtMs = performance.now() + (timeToLeave(graceMs) ?? 0);
  log.write(`It received SIGTERM: the node has ${graceMs} ms to leave.`);
  let drained: string | undefined;
  while (!stopping.signal.aborted && nodeId() !== undefined && performance.now() < leavesAtMs) {
    const wanted = nodeId() as string;
    try {
      if (drained !== wanted) await drain(wanted, Math.max(0, leavesAtMs - performance.now()));
      drained = wanted;
    } catch (error) {
      log.write(`The node is not drained yet: ${messageOf(error)}`);
    }
    await sleep(LOOKS_FOR_LEAVING_EVERY_MS);
  }
  stop("it received SIGTERM");
}

async function watchForPreemption(text: string): Promise<void> {
  const source = noticeSource(text);
  const watch = new PreemptionWatch({ source, nodeId, drain, log: (line) => log.write(line), nowMs: () => performance.now() });
  while (!stopping.signal.aborted) {
    await watch.look(stopping.signal);
    await sleep(source.everyMs);
  }
}

function writeFile(): void {
  if (isStopping) return;
  const natsPid = nats?.server.pid;
  const running = [
    ...(natsPid === undefined ? [] : [runProcess("the nats-server", natsPid)]),
    ...(supervisor.head === undefined ? [] : [runProcess("the head", supervisor.head.pid)]),
    ...(supervisor.node === undefined ? [] : [runProcess(`the node ${supervisor.node.nodeId}`, supervisor.node.pid)]),
    ...(supervisor.dashboard === undefined ? [] : [runProcess("the dashboard", supervisor.dashboard.pid)]),
    ...(supervisor.autoscaler === undefined ? [] : [runProcess("the autoscaler", supervisor.autoscaler.pid)]),
  ];
  writeRunFile({
    id,
    role: head === undefined ? "node" : "head",
    name: head?.name,
    hasRivals: head?.hasRivals,
    address: head === undefined ? heads.join(",") : address,
    startedMs,
    logs,
    history: history?.folder,
    dashboard:
      supervisor.dashboard === undefined || head === undefined
        ? undefined
        : { url: supervisor.dashboard.url, tokenFile: join(head.directory, httpTokenFileName) },
    processes: running,
  });
}

log.write(`Starts: process ${process.pid}.`);
try {
  // Heads that take over from each other share a name, and nothing on this machine.
  if (head !== undefined && !head.hasRivals) lock = await lockFolder(head.directory, `a head of the name "${head.name}"`);
  writeFile();
  await supervisor.start();
  const started: SupervisorStarted = {
    kind: "started",
    address: head === undefined ? heads.join(",") : address,
    heads,
    nodeId: supervisor.node?.nodeId ?? "",
    joinToken: supervisor.head?.joinToken,
    dashboardUrl: supervisor.dashboard?.url,
    isDashboardMoved: supervisor.dashboard?.isMoved === true,
  };
  log.write(`Runs: node ${started.nodeId} of the cluster at ${formatAddresses(heads)}.`);
  isStarted = true;
  if (preemption?.notice !== undefined) void watchForPreemption(preemption.notice);
  send(JSON.stringify(started));
} catch (error) {
  log.write(`Could not start: ${messageOf(error)}`);
  leave();
  send(failureLine(error), () => process.exit(1));
}

/** Removes the files by which others know this supervisor. */
function leave(): void {
  lock?.release();
  try {
    removeRunFile(id);
  } catch {
    // The folder is another user's, so this supervisor has nothing there.
  }
}
