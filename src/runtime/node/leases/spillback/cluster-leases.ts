/**
 * Leases between nodes, as messages: this node's requests to other nodes, and theirs to this one.
 *
 * Part of a cluster's daemon; the shell around `spillback.ts`, which decides. After each change of the leases it reviews the demands without room here. Questions go to
 * the head, demands to the daemons that it names, and grants of other nodes pass through here to their owners.
 */
import { type NodeId, nodeTagOf, type NodeTag, type ProcessId } from "../../../base/ids.ts";
import type { HeadService } from "../../../rpc/head-service.ts";
import { parseLeaseSpec } from "../../../scheduling/lease-spec.ts";
import type {
  LeaseAnswerHeader,
  LeaseSpillDroppedHeader,
  LeaseSpillHeader,
  NodeReportHeader,
} from "../../../wire/cluster/cluster-messages.ts";
import { type LeaseDemandHeader, type LeaseGrantHeader, type LeaseRefusedHeader, MESSAGE } from "../../../wire/messages.ts";
import type { LeaseEffect, LeaseEvent } from "../lease-events.ts";
import type { LeaseDemand, LeaseRouting } from "../lease-routing.ts";
import type { LeaseManager } from "../lease-manager.ts";
import { Spillback, type SpillEffect, type SpillEvent } from "./spillback.ts";

interface ClusterLeasesOptions {
  readonly nodeId: NodeId;
  readonly leases: LeaseManager;
  readonly head: () => HeadService;
  readonly nowMs: () => number;
  readonly lease: (event: LeaseEvent) => void;
  /** A message for a process of this node. */
  readonly send: (to: ProcessId, type: number, header: unknown) => void;
  readonly remote: LeaseNodes;
  readonly warn: (text: string) => void;
  /** Called when free resources have changed, so that the head is informed. */
  readonly viewChanged: () => void;
  /** Counts connected programs, and objects in the store. */
  readonly others: () => { drivers: number; objects: number };
}

/** The daemons of other nodes. */
interface LeaseNodes {
  tell(node: NodeTag, type: number, header: unknown): void;
}

/** Delay of reports of free resources, which change with each grant: the head needs some twenty a second. */
const REPORT_AFTER_MS = 50;
/** Objects and programs come and go without a lease: the node looks this often whether it has become idle. */
const LOOKS_AT_HOLDS_EVERY_MS = 1000;
/** A node reports at most so many waiting shapes. */
const WAITING_SHAPES_MAX = 512;
/** A count that changes by less than a tenth or so is not worth a report. */
const COUNT_STEPS = 8;
/** Limit on the reports of all nodes together: with more than a thousand nodes each reports less often. */
const REPORTS_PER_SECOND = 20_000;

export class ClusterLeases implements LeaseRouting {
  readonly #options: ClusterLeasesOptions;
  readonly #spillback: Spillback;
  #timer: NodeJS.Timeout | undefined;
  #reportTimer: NodeJS.Timeout | undefined;
  /** How many report to the head. */
  nodeCount = 0;
  readonly #holdsTimer: NodeJS.Timeout;
  #isReviewing = false;
  #isChanged = false;
  #isClosed = false;
  #reportSequence = 0;
  /** The free resources of the last report. */
  #reported = "";
  /** Leases that had been granted at the last report. */
  #grantedBefore = 0;

  constructor(options: ClusterLeasesOptions) {
    this.#options = options;
    this.#spillback = new Spillback(options.nodeId, options.leases.view().labels);
    this.#holdsTimer = setInterval(() => this.#reportLater(), LOOKS_AT_HOLDS_EVERY_MS).unref();
  }

  /** A process of this node says what it wants. */
  demand(asked: LeaseDemand, { near = [] }: LeaseDemandHeader): void {
    const { owner, spec, backlog, nowMs } = asked;
    // No review in between: demands kept from this node are not among its own yet.
    this.#isReviewing = true;
    this.#handle({ kind: "demand", owner, spec, backlog, near, nowMs });
    this.#options.lease({ kind: "demand", ...asked, elsewhere: this.#spillback.elsewhereOf(owner, spec) });
    this.#isReviewing = false;
    this.review();
  }

  /** A process of another node seeks leases here. */
  spilled({ owner, shape, count, nested, placement, waitMs }: LeaseSpillHeader): void {
    const spec = parseLeaseSpec(shape);
    this.#options.lease({ kind: "remoteDemand", owner, spec, count, nested, placement, waitMs, nowMs: this.#options.nowMs() });
  }

  /** Handles leases that another node's daemon gave up, which this node had sought there. */
  spillDropped(from: ProcessId, [owner, shape, count]: LeaseSpillDroppedHeader): void {
    const spec = parseLeaseSpec(shape);
    this.#handle({ kind: "dropped", nodeId: nodeTagOf(from), owner, spec, count, nowMs: this.#options.nowMs() });
    this.review();
  }

  /** The grant of another node is on its way to a process of this one. */
  granted(to: ProcessId, { workerId, shape }: LeaseGrantHeader): void {
    this.#handle({ kind: "granted", nodeId: nodeTagOf(workerId), owner: to, spec: parseLeaseSpec(shape) });
  }

  refused(to: ProcessId, { shape }: LeaseRefusedHeader): void {
    this.#handle({ kind: "refusedElsewhere", owner: to, spec: parseLeaseSpec(shape) });
  }

  answered(question: number, answer: LeaseAnswerHeader): void {
    this.#handle({ kind: "answered", question, answer, nowMs: this.#options.nowMs() });
    this.review();
  }

  processGone(process: ProcessId): void {
    this.#handle({ kind: "ownerGone", owner: process });
  }

  nodeGone(tag: NodeTag): void {
    this.#handle({ kind: "nodeGone", nodeId: tag });
    this.review();
  }

  /** Asks a new head again all open questions. */
  headUp(): void {
    this.#handle({ kind: "headUp" });
    this.review();
  }

  /** Carries out the lease manager's decisions for other nodes. */
  decided(effect: Extract<LeaseEffect, { kind: "spillDropped" | "actorFull" | "groupPrepared" }>): void {
    const { nodeId, remote, head } = this.#options;
    switch (effect.kind) {
      case "spillDropped": {
        const dropped: LeaseSpillDroppedHeader = [effect.owner, effect.spec.key, effect.count];
        remote.tell(nodeTagOf(effect.owner), MESSAGE.LEASE_SPILL_DROPPED, dropped);
        return;
      }
      case "actorFull":
        head().actorFull(effect.actor, nodeId);
        return;
      case "groupPrepared":
        head().groupPrepared(effect.group, { attempt: effect.attempt, isHeld: effect.isHeld, nodeId });
        return;
    }
  }

  /** Returns this node's free resources, for the head. */
  report(): NodeReportHeader {
    const { nodeId, leases } = this.#options;
    this.#reported = this.#viewKey();
    const { free, freeOfActors, isDraining } = leases.amounts();
    const { granted, ...held } = leases.holdings();
    const hasWorked = granted !== this.#grantedBefore;
    this.#grantedBefore = granted;
    this.#reportSequence += 1;
    return {
      nodeId,
      sequence: this.#reportSequence,
      total: Array.from(leases.view().total),
      free: Array.from(free),
      freeOfActors: Array.from(freeOfActors),
      settled: leases.takeSettled(),
      isDraining,
      waiting: Array.from(leases.unmet()).slice(0, WAITING_SHAPES_MAX),
      holds: { ...held, ...this.#options.others() },
      hasWorked,
    };
  }

  /** Something about the leases has changed. */
  review(): void {
    this.#isChanged = true;
    // The present review also covers the changes that it makes.
    if (this.#isReviewing || this.#isClosed) return;
    this.#isReviewing = true;
    while (this.#isChanged) {
      this.#isChanged = false;
      this.#handle({ kind: "review", overflows: this.#options.leases.overflow(), nowMs: this.#options.nowMs() });
    }
    this.#isReviewing = false;
    this.#wakeLater();
    this.#reportLater();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#reportTimer);
    clearInterval(this.#holdsTimer);
  }

  /** Reports free resources to the head later, in one message for simultaneous changes. */
  #reportLater(): void {
    if (this.#reportTimer !== undefined) return;
    const { leases, viewChanged } = this.#options;
    this.#reportTimer = setTimeout(
      () => {
        this.#reportTimer = undefined;
        if (leases.hasSettled || this.#reported !== this.#viewKey()) viewChanged();
      },
      Math.max(REPORT_AFTER_MS, (1000 * this.nodeCount) / REPORTS_PER_SECOND),
    );
    this.#reportTimer.unref();
  }

  #wakeLater(): void {
    clearTimeout(this.#timer);
    const { wakeAtMs } = this.#spillback;
    if (wakeAtMs === undefined) return;
    this.#timer = setTimeout(() => this.review(), Math.max(1, wakeAtMs - this.#options.nowMs()));
    this.#timer.unref();
  }

  #handle(event: SpillEvent): void {
    for (const effect of this.#spillback.handle(event)) this.#apply(effect);
  }

  #apply(effect: SpillEffect): void {
    const { nodeId, head, lease, remote, send, warn, nowMs } = this.#options;
    const { owner, spec } = effect.kind === "ask" ? effect.question : effect;
    switch (effect.kind) {
      case "ask": {
        const { number, count, isFromFull, argumentBytes, knows } = effect.question;
        head().leasesWanted(nodeId, { number, owner, shape: spec.key, count, isFromFull, argumentBytes, knows });
        return;
      }
      case "demand": {
        const { count, nested, placement, waitMs } = effect;
        const spill: LeaseSpillHeader = { owner, shape: spec.key, count, nested, placement, waitMs };
        remote.tell(effect.nodeId, MESSAGE.LEASE_SPILL, spill);
        return;
      }
      case "elsewhere":
      case "grantedElsewhere":
      case "settled":
        lease(effect);
        return;
      case "refused":
        lease({ kind: "demand", owner, nested: false, spec, backlog: 0, nowMs: nowMs() });
        if (effect.refusal !== undefined) send(owner, MESSAGE.LEASE_REFUSED, { shape: spec.key, ...effect.refusal });
        return;
      case "infeasible":
        warn(`A task ${effect.text}`);
        return;
    }
  }

  /** Returns the facts for the head as text: a report is sent when they change. */
  #viewKey(): string {
    const { leases, others } = this.#options;
    const { free, freeOfActors, isDraining } = leases.amounts();
    const { granted, ...held } = leases.holdings();
    const isHeld = Object.values({ ...held, ...others() }).some((number) => number > 0);
    const waiting = Array.from(leases.unmet(), ([shape, count]) => [shape, Math.round(COUNT_STEPS * Math.log2(count))]);
    // Work between two reports is told once it is over: it ends the time for which the node was idle.
    const worked = isHeld ? 0 : granted;
    return JSON.stringify([Array.from(free.values()), Array.from(freeOfActors.values()), isDraining, isHeld, worked, waiting]);
  }
}
