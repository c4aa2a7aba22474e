/**
 * The leases of a node: the shell around the lease manager.
 *
 * Turns messages into events, and effects into messages, workers and calls of the head. Informs the parts that follow the leases: the clock
 * of waiting requests, the search on other nodes, and the memory watch. No decision is made here. Called with events by the daemon and its
 * parts.
 */
import type { ActorId, ProcessId } from "../../base/ids.ts";
import { resourceVector } from "../../base/resources.ts";
import type { HeadPeer, HeadService } from "../../rpc/head-service.ts";
import type { Message } from "../../rpc/peer-connection.ts";
import { parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { Handlers } from "../../wire/tables/message-table.ts";
import type { MessagesOfProcess } from "../../wire/tables/messages-to-daemon.ts";
import { type LeaseDemandHeader, MESSAGE, type ReclaimedHeader, type SlotHeader } from "../../wire/messages.ts";
import type { NodeDaemonOptions } from "../daemon-options.ts";
import type { NodePeers } from "../node-peers.ts";
import { MemoryGuard, roomForProcesses } from "../workers/memory-guard.ts";
import type { NodeWorkers } from "../workers/node-workers.ts";
import { ClusterLeases } from "./spillback/cluster-leases.ts";
import type { LeaseEffect, LeaseEvent } from "./lease-events.ts";
import { LeaseManager } from "./lease-manager.ts";
import { obstacleText } from "./demands/lease-obstacles.ts";
import { FirstCalls } from "./demands/first-calls.ts";
import { leaseReport } from "./reports/lease-report.ts";
import { type LeaseRouting, leasesOfOnlyNode } from "./lease-routing.ts";
import { LeaseWatch } from "./lease-watch.ts";

interface LeasePorts {
  readonly peers: NodePeers;
  readonly workers: NodeWorkers;
  readonly head: () => HeadService;
  /** Counts connected programs, and objects in the store. */
  readonly others: () => { drivers: number; objects: number };
}

type LeaseMessage =
  | typeof MESSAGE.LEASE_DEMAND
  | typeof MESSAGE.FIRST_CALLS_BACK
  | typeof MESSAGE.RELAYED
  | typeof MESSAGE.LEASE_ONCE
  | typeof MESSAGE.LEASE_RECLAIMED
  | typeof MESSAGE.LEASE_RETURN
  | typeof MESSAGE.WORKER_PARK
  | typeof MESSAGE.WORKER_UNPARK
  | typeof MESSAGE.WORKER_RETIRING
  | typeof MESSAGE.WHY_LEASE;

export class NodeLeases {
  readonly manager: LeaseManager;
  /** Undefined on the only node, which seeks nothing elsewhere. */
  readonly cluster: ClusterLeases | undefined;
  readonly memory: MemoryGuard | undefined;
  readonly #options: NodeDaemonOptions;
  readonly #ports: LeasePorts;
  readonly #watch: LeaseWatch;
  readonly #routing: LeaseRouting;
  readonly #firstCalls: FirstCalls;

  constructor(options: NodeDaemonOptions, ports: LeasePorts) {
    this.#options = options;
    this.#ports = ports;
    const { nodeId, nowMs, labels, accelerators, isOfDriver } = options;
    const { peers, workers, head } = ports;
    const manager = new LeaseManager({
      total: resourceVector(options.resources),
      cpuCount: options.resources["CPU"] ?? 0,
      nodeId,
      labels,
      accelerators,
      isClustered: !isOfDriver,
      parkedPerCpu: options.waitingProcessesPerCpu,
      mayGrow: options.memory === undefined ? undefined : roomForProcesses(options.memory, nowMs),
    });
    this.manager = manager;
    this.#firstCalls = new FirstCalls(peers.local);
    const lease = (event: LeaseEvent): void => this.handle(event);
    const describe = (actor: ActorId): string | undefined => head().describe(actor);
    const { send, warn } = peers;
    const tick = (): void => lease({ kind: "tick", nowMs: nowMs() });
    const trim = (): void => lease({ kind: "trim" });
    this.#watch = new LeaseWatch({ leases: manager, nowMs, tick, trim, warn, nameOf: describe });
    if (!isOfDriver) {
      const { viewChanged } = options.cluster;
      const { others } = ports;
      this.cluster = new ClusterLeases({
        nodeId,
        leases: manager,
        nowMs,
        lease,
        head,
        send,
        remote: peers.remote,
        warn,
        viewChanged,
        others,
      });
    }
    this.#routing = this.cluster ?? leasesOfOnlyNode(lease);
    if (options.memory !== undefined)
      this.memory = new MemoryGuard(options.memory, { workers: workers.pool, leases: manager, peers: peers.local, describe });
  }

  start(): void {
    this.#apply(this.manager.start());
  }

  handle(event: LeaseEvent): void {
    this.#apply(this.manager.handle(event));
  }

  /** Messages of processes about their leases, and of workers about themselves. */
  get handlers(): Handlers<Pick<MessagesOfProcess, LeaseMessage>, [peer: HeadPeer & { kind?: string }, message: Message]> {
    return {
      [MESSAGE.LEASE_DEMAND]: (header, peer, { body }) => {
        this.#firstCalls.came(peer.id, header, body);
        this.#demand(header, { owner: peer.id, nested: peer.kind === "worker" });
      },
      [MESSAGE.FIRST_CALLS_BACK]: (links, { id }) =>
        this.#ports.peers.send(id, MESSAGE.FIRST_CALLS_BACK, this.#firstCalls.askedBack(id, links)),
      [MESSAGE.RELAYED]: ([to, link], { id }, { body }) => this.#firstCalls.relayed(id, to, link, body),
      [MESSAGE.LEASE_ONCE]: ([, leaseId]) => this.memory?.runsOnce(leaseId),
      [MESSAGE.LEASE_RECLAIMED]: (reclaimed, { id }) => this.#reclaimed(id, reclaimed),
      [MESSAGE.LEASE_RETURN]: ([, leaseId], { id }) => this.handle({ kind: "leaseReturned", leaseId, owner: id }),
      [MESSAGE.WORKER_PARK]: (parked, { id }) => this.handle({ kind: "parked", worker: id, ...parked }),
      [MESSAGE.WORKER_UNPARK]: (shape, { id }) => this.handle({ kind: "unpark", worker: id, spec: parseLeaseSpec(shape) }),
      [MESSAGE.WORKER_RETIRING]: (_nothing, { id }) => this.handle({ kind: "workerRetiring", worker: id }),
      [MESSAGE.WHY_LEASE]: (asked, { connection }, { callId }) => {
        const { peers, head, workers } = this.#ports;
        const environments = this.#options.isOfDriver ? undefined : workers.environments;
        connection.reply(callId, leaseReport(asked, { leases: this.manager, head: head(), peers: peers.local, environments }));
      },
    };
  }

  processGone(process: ProcessId): void {
    this.#firstCalls.processGone(process);
    this.handle({ kind: "processGone", process });
    this.#routing.processGone(process);
  }

  close(): void {
    this.#watch.close();
    this.#routing.close();
    this.memory?.close();
  }

  #demand(header: LeaseDemandHeader, asker: { owner: ProcessId; nested: boolean }): void {
    const { shape, backlog } = header;
    this.#routing.demand({ ...asker, spec: parseLeaseSpec(shape), backlog, nowMs: this.#options.nowMs() }, header);
  }

  #reclaimed(worker: ProcessId, [owner, leaseId, read]: ReclaimedHeader): void {
    this.#ports.peers.send(owner, MESSAGE.LEASE_TAKEN, [worker, leaseId, read]);
    this.handle({ kind: "leaseReclaimed", worker, owner, leaseId });
    // All that the owner wanted is forgotten, but its calls that are here wait still, and it may compute for long.
    const nested = this.#ports.peers.local.get(owner)?.kind === "worker";
    for (const [shape, backlog] of this.#firstCalls.waitingOf(owner)) this.#demand({ shape, backlog }, { owner, nested });
  }

  #apply(effects: readonly LeaseEffect[]): void {
    const { peers, workers, head } = this.#ports;
    const { send } = peers;
    for (const effect of effects) {
      switch (effect.kind) {
        case "spawn":
          workers.wanted(effect.environment);
          break;
        case "grant":
          this.#grant(effect);
          break;
        case "refused":
          this.#firstCalls.refused(effect.owner, effect.spec.key);
          send(effect.owner, MESSAGE.LEASE_REFUSED, { shape: effect.spec.key, ...effect.refusal });
          break;
        case "actorRefused":
          head().refused(effect.actor, effect.refusal);
          break;
        case "groupReserved":
          head().groupReserved(effect.group, this.#options.nodeId);
          break;
        case "slot":
          // The accelerators only where it is an actor's, as those of a task came with its lease.
          send(effect.worker, MESSAGE.WORKER_SLOT, slotHeader(effect));
          break;
        case "apart":
          send(effect.worker, MESSAGE.WORKER_APART, undefined);
          break;
        case "leaseEnded":
          send(effect.worker, MESSAGE.WORKER_SLOT, effect.isLast);
          break;
        case "reclaim":
          send(effect.worker, MESSAGE.LEASE_RECLAIM, [effect.owner, effect.leaseId]);
          break;
        case "revoke":
          send(effect.owner, MESSAGE.LEASE_REVOKE, [effect.worker, effect.leaseId]);
          break;
        case "infeasible": {
          const actorName = head().describe(effect.owner as ActorId);
          peers.warn(`${actorName === undefined ? "A task" : `Actor ${actorName}`} ${obstacleText(effect.obstacle)}`);
          break;
        }
        case "placeActor":
          this.memory?.actorPlaced(effect);
          workers.placed(effect);
          break;
        case "endWorker":
          workers.pool.kill(effect.worker, effect.reason);
          break;
        case "workerRetiring":
          send(effect.worker, MESSAGE.WORKER_EXIT, undefined);
          break;
        default:
          this.#routing.decided(effect);
      }
    }
    this.#watch.update();
    this.#routing.review();
  }

  #grant(effect: Extract<LeaseEffect, { kind: "grant" }>): void {
    const { peers } = this.#ports;
    const { leaseId, owner, worker: workerId, accelerators } = effect;
    const worker = peers.local.get(workerId);
    const handedOn = this.#firstCalls.granted(effect);
    peers.send(owner, MESSAGE.LEASE_GRANT, {
      leaseId,
      shape: effect.spec.key,
      workerId,
      address: (peers.remote.isHere(owner) ? worker?.address : worker?.remoteAddress) ?? "",
      pid: worker?.pid ?? 0,
      accelerators,
      ...(handedOn === undefined ? {} : { first: handedOn.first }),
    });
    this.memory?.granted(effect);
    if (handedOn?.once === true) this.memory?.runsOnce(leaseId);
  }
}

function slotHeader({ shape, isAnswer, isLeased, accelerators }: Extract<LeaseEffect, { kind: "slot" }>): SlotHeader {
  return accelerators === undefined ? [shape, isAnswer, isLeased] : [shape, isAnswer, isLeased, accelerators];
}
