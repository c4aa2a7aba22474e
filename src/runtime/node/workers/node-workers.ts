/**
 * Keeps the workers of a node, their runtime environments, and the actors that have a worker of their own.
 *
 * The file joins `worker-pool.ts` and `environment-service.ts`. It decides when the end of a worker is believed:
 * after everything that the worker wrote has been read. Leases learn of the end through their events. Everything else
 * that ends with a process is the daemon's task (`processGone`).
 */
import { timeoutAfterIo } from "../../base/time/timeout-after-io.ts";
import type { ProcessId } from "../../base/ids.ts";
import type { UnreadFrames } from "../../base/outbox.ts";
import type { Connection } from "../../rpc/connection.ts";
import type { HeadPeer, HeadService } from "../../rpc/head-service.ts";
import type { Message } from "../../rpc/peer-connection.ts";
import type { Handlers } from "../../wire/tables/message-table.ts";
import type { MessagesOfProcess } from "../../wire/tables/messages-to-daemon.ts";
import { type CancelRunningHeader, type LogHeader, MESSAGE, type WorkerExitedHeader } from "../../wire/messages.ts";
import type { NodeDaemonOptions } from "../daemon-options.ts";
import { type EnvironmentDescription, environmentRefusal } from "../environments/environment-table.ts";
import { FAILED_STARTS_MAX } from "./limits.ts";
import { EnvironmentService } from "../environments/environment-service.ts";
import type { LeaseEffect, LeaseEvent } from "../leases/lease-events.ts";
import type { PlacedActor } from "../membership/node-digest.ts";
import type { NodeLogs } from "../node-logs.ts";
import type { NodePeers } from "../node-peers.ts";
import { CallDeadlines } from "./call-deadlines.ts";
import { describeExit, type EndedWorker, WorkerPool } from "./worker-pool.ts";

/** Wait for the sockets of a dead process. The system closes them at once, unless another process has them, too. */
const CLOSE_AFTER_EXIT_MS = 1000;
const NO_BYTES = new Uint8Array(0);
/** Stands for a worker that ended before the daemon heard of it. */
const GONE = { pid: 0, address: "", remoteAddress: "" };

interface WorkerPorts {
  readonly peers: NodePeers;
  readonly logs: NodeLogs;
  readonly head: () => HeadService;
  readonly lease: (event: LeaseEvent) => void;
  /** Records the end of a worker before others hear of it. */
  readonly ended: (exit: WorkerExitedHeader, intended: boolean) => void;
  /** Handles the end of a worker that had said hello. */
  readonly processGone: (worker: ProcessId) => void;
}

export class NodeWorkers {
  readonly pool: WorkerPool;
  readonly environments: EnvironmentService;
  /** Actors by their workers. */
  readonly actors = new Map<ProcessId, PlacedActor>();
  readonly #ports: WorkerPorts;
  readonly #intendedExits = new Set<ProcessId>();
  /** Closed connections of workers whose end is not known yet. */
  readonly #closed = new Map<ProcessId, Connection>();
  readonly #daemonId: ProcessId;
  readonly #deadlines: CallDeadlines;
  #isClosing = false;
  /** Number of consecutive workers of the default environment whose processes the system did not start. */
  #notStarted = 0;

  constructor(options: NodeDaemonOptions, ports: WorkerPorts) {
    this.#ports = ports;
    this.#daemonId = options.processId;
    const { lease } = ports;
    const pool = new WorkerPool({
      launcher: options.launcher,
      newId: options.newProcessId,
      events: {
        onOutput: ({ text, environment, workerId, taskId, ...line }) => {
          this.#log({ ...line, lines: [text] }, environment);
          ports.logs.printed({ workerId, taskId, pid: line.pid, name: line.source, stream: line.stream, text });
        },
        onExit: (exit, worker) => {
          ports.logs.workerEnded(exit.workerId);
          this.#exited(exit, worker);
        },
        // The worker says so, too. Its caller may return the lease before that is read, and nothing is to begin in that process.
        onInterrupted: (id) => lease({ kind: "workerRetiring", worker: id }),
      },
    });
    this.pool = pool;
    this.#deadlines = new CallDeadlines({
      interrupt: (call) => pool.interruptWhereRun({ ...call, recursive: true }),
      kill: (call) => pool.killWhereRun({ ...call, recursive: true }),
    });
    this.environments = new EnvironmentService({
      build: options.buildEnvironment,
      folders: options.folders,
      // On an only node, all programs have described their environments to this daemon.
      ask: options.isOfDriver ? undefined : (key) => this.#askHead(options.processId, key),
      launch: (key, settings) => pool.spawn(key, settings),
      refuse: (environment, refusal) => lease({ kind: "environmentFailed", environment, refusal }),
      ended: (environment) => lease({ kind: "environmentEnded", environment }),
      workers: (environment) => pool.countOf(environment),
    });
  }

  get handlers(): Handlers<
    Pick<MessagesOfProcess, typeof MESSAGE.WORKER_EXIT | typeof MESSAGE.CANCEL_RUNNING | typeof MESSAGE.CALL_DEADLINE>,
    [peer: HeadPeer, message: Message]
  > {
    return {
      [MESSAGE.WORKER_EXIT]: (leaving, { id }) => {
        // An actor that ends by its own decision (terminate, exitActor) says so first.
        this.#intendedExits.add(id);
        if (leaving?.ending === "declined") this.actors.delete(id);
        this.#ports.head().workerLeaves(id, leaving);
      },
      [MESSAGE.CALL_DEADLINE]: ([callId, ms], { id }) => this.#deadlines.set({ caller: id, callId }, ms),
      [MESSAGE.CANCEL_RUNNING]: (header, peer) => this.#cancelRunning(peer, header),
    };
  }

  wanted(environment: string): void {
    if (this.#isClosing) return;
    if (environment === "") this.pool.spawn("", undefined);
    else this.environments.workerWanted(environment);
  }

  /** Notes that a process has said hello as a worker. */
  joined(worker: ProcessId): void {
    const environment = this.pool.ready(worker);
    if (environment === undefined) return;
    if (environment !== "") this.environments.workerStarted(environment);
    else this.#notStarted = 0;
    this.#ports.lease({ kind: "workerReady", worker, environment });
  }

  /** Notes that the connection of a worker has closed before its end is known. */
  left(worker: ProcessId, connection: Connection): void {
    this.#closed.set(worker, connection);
  }

  placed(placement: Extract<LeaseEffect, { kind: "placeActor" }>): void {
    const { actor, worker, accelerators } = placement;
    this.actors.set(worker, placement);
    // Reported even if the worker has just disconnected: its exit then counts as the actor's.
    const { holderId, pid, address, remoteAddress } = this.#ports.peers.local.get(worker) ?? { ...GONE, holderId: worker };
    this.#ports.head().placed(actor, { id: worker, holderId, pid, address, remoteAddress }, accelerators);
  }

  endActor(worker: ProcessId, { afterPending, reason }: { afterPending: boolean; reason: string }): void {
    if (afterPending) {
      this.#intendedExits.add(worker);
      this.#ports.peers.send(worker, MESSAGE.WORKER_EXIT, reason);
    } else {
      this.pool.kill(worker, reason);
    }
  }

  /** Stops: nothing is started any more, and no end is reported. */
  beginClose(): void {
    this.#isClosing = true;
    this.#deadlines.close();
    this.environments.close();
  }

  #cancelRunning(peer: HeadPeer, { worker, callId, recursive, kill }: CancelRunningHeader): void {
    if (this.actors.has(worker)) return;
    const call = { caller: peer.id, callId, recursive };
    if (kill && worker === peer.id) this.pool.killForCancellation(worker);
    else if (kill) this.pool.killFor(worker, call);
    else this.pool.interrupt(worker, call);
  }

  /** Returns the meaning of an environment's key, as the process that described it told the head. */
  async #askHead(daemonId: ProcessId, key: string): Promise<EnvironmentDescription> {
    const { peers, head } = this.#ports;
    const reply = await peers.remote.asked(MESSAGE.ENVIRONMENT_FETCH, (callId) => {
      head().receive(peers.remote.peer(daemonId), { type: MESSAGE.ENVIRONMENT_FETCH, callId, flags: 0, body: NO_BYTES }, key);
    });
    return reply.header;
  }

  /**
   * Reads first the worker's last frames. Holds in it are of refs that others have already, because they have its answers.
   */
  #exited(exit: WorkerExitedHeader, worker: EndedWorker): void {
    const connection = this.#ports.peers.local.get(exit.workerId)?.connection;
    if (connection === undefined || this.#isClosing) {
      this.#ended(exit, worker, this.#closed.get(exit.workerId));
      return;
    }
    const takeBack = timeoutAfterIo(CLOSE_AFTER_EXIT_MS, () => connection.drop("the process ended"));
    connection.onClose = () => {
      takeBack();
      this.#ended(exit, worker, connection);
    };
  }

  /**
   * Reads the worker's last messages to this daemon first, because its callers read answers about them next. All messages come before
   * anybody hears of the end.
   */
  #handOver(worker: ProcessId, unread: readonly UnreadFrames[], connection: Connection | undefined): void {
    for (const { reader, outbox, from, bytes } of unread)
      if (reader === this.#daemonId && outbox === connection?.outbox) connection.readRest(from, Buffer.from(bytes));
    for (const { reader, outbox, from, bytes } of unread) {
      if (reader !== this.#daemonId)
        this.#ports.peers.peer(reader as ProcessId)?.connection.send(MESSAGE.OUTBOX_REST, [worker, outbox, from], { parts: [bytes] });
    }
  }

  #ended(exit: WorkerExitedHeader, { wasReady, environment, unread }: EndedWorker, connection: Connection | undefined): void {
    const { peers, head, lease, processGone } = this.#ports;
    const id = exit.workerId;
    this.#closed.delete(id);
    this.#deadlines.callerGone(id);
    if (!this.#isClosing) this.#handOver(id, unread, connection);
    const wasActor = this.actors.delete(id);
    const intended = this.#intendedExits.delete(id);
    if (this.#isClosing) return;
    peers.local.delete(id);
    if (environment !== "") this.environments.workerExited(environment);
    if (wasReady) {
      this.#ports.ended(exit, intended);
      peers.tellProcesses(MESSAGE.WORKER_EXITED, exit);
      peers.remote.tellAll(MESSAGE.WORKER_EXITED, exit);
      if (wasActor) head().workerExited(id, exit, { intended });
      processGone(id);
      return;
    }
    if (environment !== "") this.environments.workerStartFailed(environment, exit.lastOutput);
    else if (exit.pid === 0) this.#refuseNotStarted(exit.lastOutput);
    lease({ kind: "workerStartFailed", environment });
    if (exit.reason !== undefined) return;
    const lines = [`A worker could not start (${describeExit(exit)}).`];
    this.#log({ pid: exit.pid, source: "worker", stream: "stderr", lines }, environment);
  }

  /**
   * Tells whoever waits for a worker that the system starts none. `environment-table.ts` does that for other
   * environments.
   */
  #refuseNotStarted(output: readonly string[]): void {
    this.#notStarted += 1;
    if (this.#notStarted < FAILED_STARTS_MAX) return;
    this.#notStarted = 0;
    const reason = `${FAILED_STARTS_MAX} workers of it died at their start`;
    this.#ports.lease({ kind: "environmentFailed", environment: "", refusal: environmentRefusal({ reason, output: [...output] }) });
  }

  /** Sends to the driver of the worker's job, which may be on another node or gone. */
  #log(line: LogHeader, environment: string): void {
    const { peers } = this.#ports;
    const entry: LogHeader = { ...line, job: this.environments.jobOf(environment) };
    peers.tellDrivers(MESSAGE.LOG, entry, entry.job);
    peers.remote.tellAll(MESSAGE.LOG, entry);
  }
}
