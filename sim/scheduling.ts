/**
 * Scheduling over many nodes in virtual time: the cluster scheduler, the spillback and the lease manager of each node as they are, drivers and the network as a model.
 *
 * A discrete-event simulation. Every message takes `latencyMs`, the head serves one after the other and needs `headCostMs` for each; tasks
 * arrive at the drivers by a Poisson process and take `taskMs`. A driver behaves as `core/calls/submission/task-submitter.ts` does: it tells its
 * backlog, uses a lease while it has tasks and returns it when it has been idle. The results are waiting times, the leases from other
 * nodes, and the head's load, as functions of the number of nodes. `checkBooks` holds that no node ever grants more than it has.
 */
import { type NodeId, nodeTagOf, type ProcessId } from "../src/runtime/base/ids.ts";
import { resourceVector } from "../src/runtime/base/resources.ts";
import { ClusterScheduler, type SchedulerEffect, type SchedulerEvent } from "../src/runtime/head/placement/cluster-scheduler.ts";
import type { LeaseEffect, LeaseEvent } from "../src/runtime/node/leases/lease-events.ts";
import { LeaseManager } from "../src/runtime/node/leases/lease-manager.ts";
import { Spillback, type SpillEffect, type SpillEvent } from "../src/runtime/node/leases/spillback/spillback.ts";
import { parseLeaseSpec } from "../src/runtime/scheduling/lease-spec.ts";
import { checked } from "./checked.ts";

interface SchedulingOptions {
  readonly nodes: number;
  readonly slots: number;
  /** How many of the nodes have a driver. */
  readonly drivers: number;
  readonly taskMs: number;
  /** Offered work as a part of all slots. */
  readonly load: number;
  readonly durationMs: number;
  readonly seed: number;
  readonly latencyMs?: number;
  readonly headCostMs?: number;
}

interface SchedulingResult {
  readonly tasks: number;
  readonly tasksPerSecond: number;
  readonly waitP50Ms: number;
  readonly waitP99Ms: number;
  readonly leases: number;
  /** Part of the leases that another node granted. */
  readonly remotePart: number;
  /** Demands that a node dropped because the view was old, for each remote lease. */
  readonly dropsPerRemoteLease: number;
  readonly asksPerTask: number;
  /** Part of the time in which the head was busy, in the model. */
  readonly headUse: number;
  /** Real time that the scheduler's decisions took, for each. */
  readonly decisionUs: number;
  /** Tasks that never began. */
  readonly left: number;
  readonly unfairness: number;
}

const LEASE_IDLE_MS = 10;
const TICK_MS = 50;
/** Reports of all nodes together in a second, and the shortest time between two of one node. */
const REPORTS_PER_SECOND = 20_000;
const REPORT_AFTER_MS = 50;
const SHAPE = resourceVector({ CPU: 1 }).key;
const SPEC = parseLeaseSpec(SHAPE);

interface Lease {
  readonly node: SimulatedNode;
  readonly id: number;
  isRevoked: boolean;
  isBusy: boolean;
}

interface Driver {
  readonly id: ProcessId;
  readonly node: SimulatedNode;
  readonly waiting: number[];
  head: number;
  sentBacklog: number;
  readonly idle: Lease[];
  done: number;
}

interface SimulatedNode {
  readonly id: NodeId;
  readonly leases: LeaseManager;
  readonly spillback: Spillback;
  hasOwners: boolean;
  isTicking: boolean;
  reportAtMs: number | undefined;
  reviewAtMs: number;
  sequence: number;
  granted: number;
}

export class SchedulingSimulation {
  readonly #options: SchedulingOptions;
  readonly #latencyMs: number;
  readonly #headCostMs: number;
  readonly #events = new EventQueue();
  readonly #nodes = new Map<string, SimulatedNode>();
  readonly #drivers = new Map<string, Driver>();
  readonly #scheduler: ClusterScheduler;
  readonly #waits: number[] = [];
  readonly #leaseOf = new Map<string, Lease>();
  #random: number;
  #nowMs = 0;
  #headFreeMs = 0;
  #headBusyMs = 0;
  #asks = 0;
  #granted = 0;
  #remote = 0;
  #drops = 0;
  #decisionMs = 0;
  #decisions = 0;
  #isArriving = true;

  constructor(options: SchedulingOptions) {
    this.#options = options;
    this.#latencyMs = options.latencyMs ?? 0.5;
    this.#headCostMs = options.headCostMs ?? 0.02;
    this.#random = options.seed >>> 0 || 1;
    this.#scheduler = new ClusterScheduler(new Map(), options.seed);
    const total = resourceVector({ CPU: options.slots });
    for (let index = 0; index < options.nodes; index += 1) {
      const id = index.toString(16).padStart(16, "0") as NodeId;
      const leases = checked(new LeaseManager({ total, cpuCount: options.slots, nodeId: id, isClustered: true }));
      const spillback = new Spillback(id);
      const times = { isTicking: false, reportAtMs: undefined, reviewAtMs: Number.POSITIVE_INFINITY, sequence: 0, granted: 0 };
      this.#nodes.set(id, { id, leases, spillback, hasOwners: false, ...times });
      this.#scheduler.handle({ kind: "nodeJoined", node: leases.view() });
      leases.start();
      for (let slot = 0; slot < options.slots; slot += 1)
        leases.handle({ kind: "workerReady", worker: `${id}w${slot}` as ProcessId, environment: "" });
    }
    const nodes = Array.from(this.#nodes.values());
    for (let index = 0; index < options.drivers; index += 1) {
      const node = nodes[Math.floor((index * nodes.length) / options.drivers)] as SimulatedNode;
      node.hasOwners = true;
      const id = `${node.id}driver${index}` as ProcessId;
      this.#drivers.set(id, { id, node, waiting: [], head: 0, sentBacklog: 0, idle: [], done: 0 });
    }
  }

  run(): SchedulingResult {
    const { durationMs, drivers, nodes, slots, load, taskMs } = this.#options;
    const betweenMs = (taskMs * drivers) / (nodes * slots * load);
    for (const driver of this.#drivers.values()) this.#arriveLater(driver, betweenMs);
    this.#at(this.#nowMs + TICK_MS, () => this.#headTick());
    this.#events.runUntil(durationMs, (time) => this.#passed(time));
    // No more tasks come: waiting tasks must be served, or the scheduler has forgotten one.
    this.#isArriving = false;
    const tasks = this.#waits.length;
    this.#events.runUntil(durationMs + 20 * taskMs + 5000, (time) => this.#passed(time));
    const sorted = Float64Array.from(this.#waits.slice(0, tasks)).sort();
    const done = Array.from(this.#drivers.values(), (driver) => driver.done);
    let left = 0;
    for (const driver of this.#drivers.values()) left += driver.waiting.length - driver.head;
    return {
      tasks,
      tasksPerSecond: (tasks / durationMs) * 1000,
      waitP50Ms: sorted[Math.floor(sorted.length / 2)] ?? 0,
      waitP99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      leases: this.#granted,
      remotePart: this.#granted === 0 ? 0 : this.#remote / this.#granted,
      dropsPerRemoteLease: this.#remote === 0 ? 0 : this.#drops / this.#remote,
      asksPerTask: this.#asks / Math.max(1, tasks),
      headUse: this.#headBusyMs / this.#nowMs,
      decisionUs: (1000 * this.#decisionMs) / Math.max(1, this.#decisions),
      left,
      unfairness: Math.max(...done) / Math.max(1, Math.min(...done)),
    };
  }

  #passed(timeMs: number): void {
    this.#nowMs = timeMs;
  }

  #at(timeMs: number, run: () => void): void {
    this.#events.add(timeMs, run);
  }

  #sent(run: () => void): void {
    this.#at(this.#nowMs + this.#latencyMs, run);
  }

  // ---- drivers

  #arriveLater(driver: Driver, betweenMs: number): void {
    this.#at(this.#nowMs - betweenMs * Math.log(1 - this.#draw()), () => {
      if (!this.#isArriving) return;
      driver.waiting.push(this.#nowMs);
      this.#pump(driver);
      this.#arriveLater(driver, betweenMs);
    });
  }

  #pump(driver: Driver): void {
    while (driver.head < driver.waiting.length) {
      const lease = driver.idle.pop();
      if (lease === undefined) break;
      this.#runNext(driver, lease);
    }
    const backlog = Math.min(1024, driver.waiting.length - driver.head);
    if (backlog === driver.sentBacklog || (backlog > 0 && backlog < driver.sentBacklog)) return;
    driver.sentBacklog = backlog;
    this.#demand(driver, backlog);
  }

  #runNext(driver: Driver, lease: Lease): void {
    const arrivedMs = driver.waiting[driver.head] as number;
    driver.head += 1;
    if (driver.head > 4096) {
      driver.waiting.splice(0, driver.head);
      driver.head = 0;
    }
    this.#waits.push(this.#nowMs - arrivedMs);
    lease.isBusy = true;
    this.#at(this.#nowMs + this.#options.taskMs, () => {
      lease.isBusy = false;
      driver.done += 1;
      if (lease.isRevoked) this.#giveBack(driver, lease);
      else if (driver.head < driver.waiting.length) this.#runNext(driver, lease);
      else this.#becomeIdle(driver, lease);
    });
  }

  #becomeIdle(driver: Driver, lease: Lease): void {
    driver.idle.push(lease);
    const sinceMs = this.#nowMs;
    this.#at(sinceMs + LEASE_IDLE_MS, () => {
      const at = driver.idle.indexOf(lease);
      if (at < 0) return;
      driver.idle.splice(at, 1);
      this.#giveBack(driver, lease);
    });
  }

  #giveBack(driver: Driver, lease: Lease): void {
    this.#leaseOf.delete(`${lease.node.id}/${lease.id}`);
    const give = () => this.#lease(lease.node, { kind: "leaseReturned", leaseId: lease.id, owner: driver.id });
    if (lease.node === driver.node) give();
    else this.#sent(give);
    this.#pump(driver);
  }

  #grantArrived(driver: Driver, node: SimulatedNode, leaseId: number): void {
    driver.sentBacklog = Math.max(0, driver.sentBacklog - 1);
    const lease: Lease = { node, id: leaseId, isRevoked: false, isBusy: false };
    this.#leaseOf.set(`${node.id}/${leaseId}`, lease);
    if (driver.head < driver.waiting.length) this.#runNext(driver, lease);
    else this.#becomeIdle(driver, lease);
    this.#pump(driver);
  }

  // ---- nodes

  #demand(driver: Driver, backlog: number): void {
    const { node } = driver;
    const nowMs = this.#nowMs;
    this.#spill(node, { kind: "demand", owner: driver.id, spec: SPEC, backlog, near: [], nowMs });
    const elsewhere = node.spillback.elsewhereOf(driver.id, SPEC);
    this.#lease(node, { kind: "demand", owner: driver.id, nested: false, spec: SPEC, backlog, nowMs, elsewhere });
  }

  #lease(node: SimulatedNode, event: LeaseEvent): void {
    this.#applyLeases(node, node.leases.handle(event));
    this.#checkBooks(node);
    this.#review(node);
    this.#reportLater(node);
    if (node.leases.hasUnmetDemand && !node.isTicking) {
      node.isTicking = true;
      this.#at(this.#nowMs + TICK_MS, () => {
        node.isTicking = false;
        this.#lease(node, { kind: "tick", nowMs: this.#nowMs });
      });
    }
  }

  #checkBooks(node: SimulatedNode): void {
    if ((node.leases.available()["CPU"] ?? 0) < 0) throw new Error(`node ${node.id} granted more than it has`);
  }

  #applyLeases(node: SimulatedNode, effects: readonly LeaseEffect[]): void {
    for (const effect of effects) {
      if (effect.kind === "grant") this.#grant(node, effect);
      if (effect.kind === "revoke") this.#revoke(node, effect);
      if (effect.kind === "spillDropped") {
        const { owner, spec, count } = effect;
        const home = (this.#drivers.get(owner) as Driver).node;
        this.#drops += count;
        this.#sent(() => {
          this.#spill(home, { kind: "dropped", nodeId: nodeTagOf(node.id), owner, spec, count, nowMs: this.#nowMs });
          this.#review(home);
        });
      }
    }
  }

  #grant(node: SimulatedNode, { owner, leaseId }: Extract<LeaseEffect, { kind: "grant" }>): void {
    const driver = this.#drivers.get(owner) as Driver;
    this.#granted += 1;
    if (driver.node === node) {
      this.#at(this.#nowMs, () => this.#grantArrived(driver, node, leaseId));
      return;
    }
    this.#remote += 1;
    this.#sent(() => {
      this.#spill(driver.node, { kind: "granted", nodeId: nodeTagOf(node.id), owner, spec: SPEC });
      this.#grantArrived(driver, node, leaseId);
      this.#review(driver.node);
    });
  }

  #revoke(node: SimulatedNode, { owner, leaseId }: Extract<LeaseEffect, { kind: "revoke" }>): void {
    const driver = this.#drivers.get(owner) as Driver;
    this.#sent(() => {
      const lease = this.#leaseOf.get(`${node.id}/${leaseId}`);
      if (lease === undefined) return;
      lease.isRevoked = true;
      const at = driver.idle.indexOf(lease);
      if (at < 0) return;
      driver.idle.splice(at, 1);
      this.#giveBack(driver, lease);
    });
  }

  #review(node: SimulatedNode): void {
    if (!node.hasOwners) return;
    this.#spill(node, { kind: "review", overflows: node.leases.overflow(), nowMs: this.#nowMs });
    const wakeAtMs = node.spillback.wakeAtMs;
    if (wakeAtMs === undefined || wakeAtMs >= node.reviewAtMs) return;
    node.reviewAtMs = Math.max(wakeAtMs, this.#nowMs);
    this.#at(node.reviewAtMs, () => {
      node.reviewAtMs = Number.POSITIVE_INFINITY;
      this.#review(node);
    });
  }

  #spill(node: SimulatedNode, event: SpillEvent): void {
    for (const effect of node.spillback.handle(event)) this.#applySpill(node, effect);
  }

  #applySpill(node: SimulatedNode, effect: SpillEffect): void {
    switch (effect.kind) {
      case "ask": {
        const { number, owner, count, isFromFull, knows } = effect.question;
        this.#asks += 1;
        const ask = { id: number, from: node.id, owner, shape: SHAPE, count, isFromFull, knows };
        this.#toHead(() => ({ kind: "leasesWanted", ask, nowMs: this.#nowMs }));
        return;
      }
      case "demand": {
        const { nodeId, owner, spec, nested, count, placement, waitMs } = effect;
        const other = this.#nodes.get(nodeId) as SimulatedNode;
        this.#sent(() => this.#lease(other, { kind: "remoteDemand", owner, spec, nested, count, placement, waitMs, nowMs: this.#nowMs }));
        return;
      }
      case "grantedElsewhere":
      case "elsewhere":
      case "settled":
        this.#applyLeases(node, node.leases.handle(effect));
        return;
      case "refused":
      case "infeasible":
        throw new Error(`nothing is ${effect.kind} here`);
    }
  }

  #reportLater(node: SimulatedNode): void {
    if (node.reportAtMs !== undefined) return;
    node.reportAtMs = this.#nowMs + Math.max(REPORT_AFTER_MS, (1000 * this.#nodes.size) / REPORTS_PER_SECOND);
    this.#at(node.reportAtMs, () => {
      node.reportAtMs = undefined;
      node.sequence += 1;
      const { free, freeOfActors } = node.leases.amounts();
      const report = { sequence: node.sequence, free: new Map(free), freeOfActors, settled: node.leases.takeSettled() };
      this.#toHead(() => ({ kind: "nodeReported", nodeId: node.id, report, nowMs: this.#nowMs }));
    });
  }

  // ---- the head

  /** The head serves one message after the other. */
  #toHead(event: () => SchedulerEvent): void {
    this.#sent(() => {
      const startMs = Math.max(this.#nowMs, this.#headFreeMs);
      this.#headFreeMs = startMs + this.#headCostMs;
      this.#headBusyMs += this.#headCostMs;
      this.#at(this.#headFreeMs, () => this.#decide(event()));
    });
  }

  #headTick(): void {
    this.#decide({ kind: "tick", nowMs: this.#nowMs });
    this.#at(this.#nowMs + TICK_MS, () => this.#headTick());
  }

  #decide(event: SchedulerEvent): void {
    const begun = performance.now();
    const effects = this.#scheduler.handle(event);
    this.#decisionMs += performance.now() - begun;
    this.#decisions += 1;
    for (const effect of effects) this.#applyDecision(effect);
  }

  #applyDecision(effect: SchedulerEffect): void {
    if (effect.kind !== "answer") return;
    const { ask, answer } = effect;
    const node = this.#nodes.get(ask.from) as SimulatedNode;
    this.#sent(() => {
      this.#spill(node, { kind: "answered", question: ask.id, answer, nowMs: this.#nowMs });
      this.#review(node);
    });
  }

  #draw(): number {
    let value = this.#random;
    value ^= value << 13;
    value ^= value >>> 17;
    value ^= value << 5;
    this.#random = value >>> 0;
    return this.#random / 2 ** 32;
  }
}

/** A binary heap of future events; of equal times the first added comes first. */
class EventQueue {
  readonly #heap: { timeMs: number; order: number; run: () => void }[] = [];
  #order = 0;

  add(timeMs: number, run: () => void): void {
    this.#order += 1;
    const heap = this.#heap;
    const event = { timeMs, order: this.#order, run };
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent] as typeof event)) break;
      heap[at] = heap[parent] as typeof event;
      at = parent;
    }
    heap[at] = event;
  }

  runUntil(timeMs: number, passed: (timeMs: number) => void): void {
    for (let first = this.#heap[0]; first !== undefined && first.timeMs <= timeMs; first = this.#heap[0]) {
      this.#removeFirst();
      passed(first.timeMs);
      first.run();
    }
    passed(timeMs);
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as typeof last, heap[child] as typeof last)) child += 1;
      if (!isBefore(heap[child] as typeof last, last)) break;
      heap[at] = heap[child] as typeof last;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: { timeMs: number; order: number }, b: { timeMs: number; order: number }): boolean {
  return a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.order < b.order);
}
