/**
 * Takes this process' tasks to workers: leases, how many tasks are in flight to each, retries.
 *
 * Tasks of one shape wait in one group, with the leases that the daemon granted for it. A lease is used for as long as there is a backlog
 * and given back when it has been idle for a moment, or when it is revoked. One worker gets about 5 ms of work ahead, or one task where the
 * time of a task is unknown, so that a slow task never hides behind another while a worker is free. When a worker dies, tasks that had not
 * begun are pushed elsewhere; those that had use up a retry (`ended-links.ts`).
 */
import { type NodeTag, nodeTagOf, type ProcessId } from "../../../runtime/base/ids.ts";
import { Fifo } from "../../../runtime/base/collections/fifo.ts";
import type { Connection } from "../../../runtime/rpc/connection.ts";
import { holdsOnlyCpus } from "../../../runtime/scheduling/lease-spec.ts";
import { LEASE_IDLE_MS } from "../../../runtime/scheduling/limits.ts";
import type { DeclinedHeader } from "../../../runtime/wire/calls/declined-header.ts";
import {
  type AcceleratorIds,
  type LeaseGrantHeader,
  type LeaseRefusedHeader,
  MESSAGE,
  type ReclaimedHeader,
  type WorkerExitedHeader,
} from "../../../runtime/wire/messages.ts";
import type { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import type { Payload } from "../../../runtime/objects/payload.ts";
import {
  BACKLOG_MAX,
  CALL_OVERHEAD_MS,
  EARLY_DEMAND_MAX,
  EXIT_REPORT_ELSEWHERE_WITHIN_MS,
  EXIT_REPORT_WITHIN_MS,
  IN_FLIGHT_MAX,
  QUICK_CALL_MS,
  TRAVEL_AGAIN_AFTER_MS,
  WINDOW_MS,
} from "../../limits.ts";
import { ArgumentPlaces, placeOf } from "./argument-places.ts";
import { type CallRecord, failedDependency, lacksDependency } from "../call-record.ts";
import { type EndedLink, EndedLinks, type Ending, splitBegun } from "../links/ended-links.ts";
import { type FirstCallOptions, FirstCalls, type Travelling } from "./first-calls.ts";
import { WorkerLink, type WorkerLinkEvents, type WorkerTarget } from "../links/worker-link.ts";

/** A worker as the one that its own nested tasks may run on. */
export interface OwnWorker {
  readonly id: ProcessId;
  link(events: WorkerLinkEvents): WorkerLink;
  isFree(shape: string): boolean;
  /** A nested task of this process can run now. */
  wake(): void;
}

interface SubmitterOptions {
  daemon: Connection;
  /** The node of this process, whose arguments need no other place. */
  node: NodeTag;
  connectWorker: (target: WorkerTarget, events: WorkerLinkEvents) => Promise<WorkerLink>;
  /** How calls travel with the demand for their lease; undefined where none does. */
  firstCalls: FirstCallOptions | undefined;
  /** A grant says that a worker has the call, perhaps for a while. */
  onHandedOn: (record: CallRecord) => void;
  /** Writes the gathered frames for the daemon at once. */
  flushDaemon: () => void;
  /** The worker of this process, for nested tasks; undefined in a driver. */
  ownWorker: OwnWorker | undefined;
  onPlainResult: WorkerLinkEvents["onPlainResult"];
  onResult: (record: CallRecord, returns: readonly Payload[]) => void;
  /** The worker under the task died; decides whether it is tried again. */
  onWorkerLost: (record: CallRecord, exit: WorkerExitedHeader | undefined) => void;
  /** No worker will ever be granted for it. */
  onRefused: (record: CallRecord, refusal: LeaseRefusedHeader) => void;
  /** An argument failed while the call was queued: the bytes were lost, and could not be made again. */
  failDependency: (record: CallRecord, dependency: ObjectEntry) => void;
  /** An argument is made again, and the call comes back once it is there. The call that makes the argument goes first, and may need the resources of this call. */
  awaitDependencies: (record: CallRecord) => void;
  /** A worker found arguments of the call lost, and the call has not begun there. */
  onArgumentsLost: (record: CallRecord, lost: DeclinedHeader["lost"]) => void;
  nowMs: () => number;
}

interface Lease {
  readonly id: number;
  readonly pid: number;
  readonly group: Group;
  /** Absent until the connection is there, which a first call does not wait for. */
  link: WorkerLink;
  readonly accelerators: AcceleratorIds | undefined;
  inFlight: number;
  queuedMs: number;
  revoked: boolean;
  idleSinceMs: number;
  /** The daemon knows that a task was sent under it that is never run again. */
  isOnce: boolean;
}

interface Group {
  readonly shape: string;
  /** Whether tasks hold more than CPUs. A lease then has one task at a time, as two tasks that interleave would share a GPU or a license. */
  readonly isExclusive: boolean;
  readonly queue: Fifo<CallRecord>;
  readonly leases: Lease[];
  sentBacklog: number;
  /** Counts the queued calls whose arguments lie elsewhere. */
  readonly places: ArgumentPlaces;
  /** Cancelled calls that are still in the queue. Never at its head. */
  dropped: number;
}

export class TaskSubmitter {
  readonly #options: SubmitterOptions;
  readonly #groups = new Map<string, Group>();
  readonly #links = new Map<ProcessId, Promise<WorkerLink>>();
  readonly #leaseOf = new Map<CallRecord, Lease>();
  /** Calls that were with a worker whose connection ended, until the cause is known. */
  readonly #ended = new EndedLinks();
  readonly #firsts: FirstCalls | undefined;
  /** Granted, and not connected yet; by the id of their worker and their own. */
  readonly #connecting = new Map<string, Lease>();
  #ownLease: Lease | undefined;
  #linkWithin: WorkerLink | undefined;
  #lastGroup: Group | undefined;
  /** Sent back by workers that take no task any more, since the last batch of answers. */
  readonly #declined: CallRecord[] = [];
  #demandScheduled = false;
  /** From when on calls travel with their demand. */
  #travelsFromMs = Number.NEGATIVE_INFINITY;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SubmitterOptions) {
    this.#options = options;
    const { firstCalls, daemon } = options;
    if (firstCalls !== undefined) this.#firsts = new FirstCalls(firstCalls, daemon);
  }

  get pendingCount(): number {
    let count = this.#leaseOf.size;
    for (const _record of this.#ended.calls()) count += 1;
    for (const group of this.#groups.values()) count += this.#waitingIn(group);
    return count;
  }

  /** Whether calls wait for a lease. */
  get hasQueued(): boolean {
    for (const group of this.#groups.values()) if (group.queue.size > group.dropped) return true;
    return false;
  }

  /** The calls that have been submitted and not answered. */
  *openCalls(): Generator<CallRecord> {
    yield* this.#leaseOf.keys();
    for (const group of this.#groups.values()) yield* group.queue;
    yield* this.#ended.calls();
    if (this.#firsts !== undefined) yield* this.#firsts.travelling();
  }

  /** How many calls of a group no worker is known to have. */
  #waitingIn(group: Group): number {
    const travelling = this.#firsts === undefined || this.#firsts.isEmpty ? 0 : this.#firsts.countOf(group.shape);
    return group.queue.size - group.dropped + travelling;
  }

  /** How many calls of a group are on their way back to leases that are free for them: they need no other lease. */
  #comingToFreeLeases(group: Group): number {
    const askedBack = this.#firsts === undefined || this.#firsts.isEmpty ? 0 : this.#firsts.countAskedBack(group.shape);
    if (askedBack === 0) return 0;
    return Math.min(askedBack, group.leases.filter(({ inFlight, revoked }) => inFlight === 0 && !revoked).length);
  }

  /** The worker that has the call, if it has been sent. */
  whereIs(record: CallRecord): { link: WorkerLink; pid: number | undefined } | undefined {
    const lease = this.#leaseOf.get(record);
    return lease === undefined ? undefined : { link: this.#firsts?.linkOf(record) ?? lease.link, pid: lease.pid };
  }

  /** Whether the call is with the daemon, and waits for its lease there. */
  isTravelling(record: CallRecord): boolean {
    return this.#firsts?.linkOf(record) !== undefined;
  }

  /** The call has ended before its answer. @returns the link by which it was sent, if it was */
  withdraw(record: CallRecord): WorkerLink | undefined {
    const sent = this.whereIs(record)?.link;
    if (sent !== undefined) return sent;
    const travelling = this.#firsts?.linkOf(record);
    if (travelling !== undefined) {
      // A worker that has the call already hears of the end.
      this.#firsts?.askBack(record.shape, record);
      return travelling;
    }
    const group = this.#groups.get(record.shape);
    if (!record.isQueued || group === undefined) return undefined;
    group.dropped += 1;
    // Many are taken out at once: each alone would move the whole queue.
    if (group.dropped * 2 > group.queue.size) {
      for (const dropped of group.queue.removeWhere((queued) => queued.isEnded)) {
        dropped.isQueued = false;
        if (!group.places.isEmpty) group.places.remove(dropped);
      }
      group.dropped = 0;
    }
    this.#dropHead(group);
    this.#scheduleDemand();
    return undefined;
  }

  #dropHead(group: Group): void {
    for (let head = group.queue.peek(); head?.isEnded === true; head = group.queue.peek()) {
      this.#dequeue(group);
      group.dropped -= 1;
    }
  }

  #takeHead(group: Group): void {
    this.#dequeue(group);
    if (group.dropped > 0) this.#dropHead(group);
  }

  #dequeue(group: Group): void {
    const record = group.queue.shift();
    if (record === undefined) return;
    record.isQueued = false;
    if (!group.places.isEmpty) group.places.remove(record);
  }

  submit(record: CallRecord): void {
    if (record.dependencies.length > 0 && this.#isHeldBack(record)) return;
    const group = this.#lastGroup?.shape === record.shape ? this.#lastGroup : this.#group(record.shape);
    this.#lastGroup = group;
    const place = record.dependencies.length === 0 ? undefined : placeOf(record, this.#options.node);
    if (place !== undefined) group.places.add(record, place);
    if (group.queue.size === 0) {
      const lease = place === undefined ? this.#leaseFor(group, record) : this.#idleLeaseOn(group, place.node);
      if (lease !== undefined) {
        if (place !== undefined) group.places.remove(record);
        this.#push(lease, record);
        if (lease.inFlight === 1) this.#leaveNow(lease.link);
        return;
      }
    }
    const isEarly = group.sentBacklog < this.#earlyMax(group, record);
    if (!isEarly || this.#isClosed || !this.#travel(group, record)) {
      record.isQueued = true;
      group.queue.push(record);
      if (isEarly) this.#demandNow(group);
    }
    this.#scheduleDemand();
  }

  /** The daemon starts a worker even if this process computes now. */
  #demandNow(group: Group): void {
    if (this.#isClosed) return;
    this.#sendDemand(group);
    this.#options.flushDaemon();
  }

  /** How many calls of the group may ask for a lease at once, and not at the end of the turn. */
  #earlyMax(group: Group, { target }: CallRecord): number {
    if (target.meanMs <= WINDOW_MS && group.leases.length > 0) return 0;
    return this.#options.ownWorker !== undefined || target.meanMs < QUICK_CALL_MS ? 1 : EARLY_DEMAND_MAX;
  }

  /** The call goes with the demand, and begins even if this process computes now. */
  #travel(group: Group, record: CallRecord): boolean {
    if (this.#options.nowMs() < this.#travelsFromMs || this.#firsts?.isAskingFor(group.shape) === true) return false;
    // The demand that is on its way must be for more, or it is none.
    if (group.sentBacklog > this.#waitingIn(group)) return false;
    const travelling = this.#firsts?.send(record, {
      ...this.linkEvents,
      onClosed: (link) =>
        this.#recoverFirst(
          link.finish().unanswered.map((lost) => ({ record: lost, hasBegun: true })),
          undefined,
        ),
    });
    if (travelling === undefined) return false;
    this.#sendDemand(group, travelling);
    this.#options.flushDaemon();
    return true;
  }

  /** The worker of these first calls has ended. */
  #recoverFirst(lost: readonly { record: CallRecord; hasBegun: boolean }[], exit: WorkerExitedHeader | undefined): void {
    for (const { record } of lost) {
      const lease = this.#leaseOf.get(record);
      this.#leaseOf.delete(record);
      if (lease === undefined) continue;
      lease.inFlight -= 1;
      lease.revoked = true;
      if (lease.inFlight === 0 && !this.#isClosed) this.#giveBack(lease);
    }
    if (this.#isClosed || lost.length === 0) return;
    for (const { record, hasBegun } of lost) if (hasBegun) this.#options.onWorkerLost(record, exit);
    this.#queueAgain(lost.filter(({ hasBegun }) => !hasBegun).map(({ record }) => record));
    for (const group of this.#groups.values()) this.#pump(group);
  }

  /** The daemon gives back calls that no worker has had. */
  firstCallsBack(numbers: readonly number[]): void {
    const records = this.#firsts?.cameBack(numbers) ?? [];
    // No worker was free for them, and a worker whose tasks all wait runs its calls itself.
    if (numbers.length > 0 && this.#options.ownWorker !== undefined) this.#travelsFromMs = this.#options.nowMs() + TRAVEL_AGAIN_AFTER_MS;
    if (this.#isClosed) return;
    this.#queueAgain(records);
    for (const group of this.#groups.values()) this.#pump(group);
    this.#options.ownWorker?.wake();
  }

  /** The worker of a first call says something. */
  relayed(number: number, chunk: Uint8Array): void {
    this.#firsts?.arrived(number, chunk);
  }

  /** The worker begins the call even if this process computes now. The holds and words for the daemon leave first, as at the end of a turn. */
  #leaveNow(link: WorkerLink): void {
    this.#options.flushDaemon();
    link.flushEarly();
  }

  /** Runs a nested task in this worker, which is idle and has its slot. */
  runOwn(shape: string): boolean {
    const own = this.#options.ownWorker;
    const group = this.#groups.get(shape);
    const record = group === undefined ? undefined : this.#nextOf(group);
    // Calls that travel come first: this worker keeps its slot until the daemon has given them back.
    if (group?.isExclusive === false && own?.isFree(shape) === true && this.#firsts?.isEmpty === false && this.#firsts.countOf(shape) > 0) {
      this.#firsts.askBack(shape);
      return true;
    }
    if (own === undefined || group === undefined || record === undefined || group.isExclusive || !own.isFree(shape)) return false;
    const link = this.#ownLink(own);
    if (this.#ownLease?.link !== link) {
      this.#ownLease = {
        id: 0,
        pid: process.pid,
        group,
        link,
        accelerators: undefined,
        inFlight: 0,
        queuedMs: 0,
        revoked: false,
        idleSinceMs: 0,
        isOnce: false,
      };
    }
    this.#takeHead(group);
    this.#push(this.#ownLease, record);
    return true;
  }

  /** Within the process. The worker drops an idle connection to itself like any other when a lease is taken back for others that starve. */
  #ownLink(own: OwnWorker): WorkerLink {
    if (this.#linkWithin === undefined || this.#linkWithin.isClosed)
      this.#linkWithin = own.link({ ...this.linkEvents, onClosed: (link) => this.#ownLinkClosed(link) });
    return this.#linkWithin;
  }

  /** The worker closes a connection that looks idle: calls that were on their way there have not begun. */
  #ownLinkClosed(link: WorkerLink): void {
    const { unanswered } = link.finish();
    for (const group of this.#groups.values())
      for (const lease of group.leases.filter((one) => one.link === link)) {
        group.leases.splice(group.leases.indexOf(lease), 1);
        this.#returnLease(link.processId, lease.id);
      }
    if (this.#isClosed || unanswered.length === 0) return;
    for (const record of unanswered) this.#leaseOf.delete(record);
    this.#queueAgain(unanswered);
    for (const group of this.#groups.values()) this.#pump(group);
  }

  granted(grant: LeaseGrantHeader): void {
    const group = this.#groups.get(grant.shape);
    if (group === undefined || this.#isClosed) {
      this.#returnLease(grant.workerId, grant.leaseId);
      return;
    }
    group.sentBacklog = Math.max(0, group.sentBacklog - 1);
    const lease: Omit<Lease, "link"> = {
      id: grant.leaseId,
      pid: grant.pid,
      group,
      accelerators: grant.accelerators,
      inFlight: 0,
      queuedMs: 0,
      revoked: false,
      idleSinceMs: this.#options.nowMs(),
      isOnce: false,
    };
    const first = this.#firsts?.handedOn(grant);
    if (first !== undefined) this.#handedOn(first, lease as Lease);
    const key = `${grant.workerId} ${grant.leaseId}`;
    this.#connecting.set(key, lease as Lease);
    this.#link(grant).then(
      (link) => {
        this.#connecting.delete(key);
        lease.idleSinceMs = this.#options.nowMs();
        const connected = Object.assign(lease, { link });
        group.leases.push(connected);
        if (connected.revoked && connected.inFlight === 0) this.#giveBack(connected);
        this.#pump(group);
        this.#watchIdle();
      },
      // The worker died before we reached it: the daemon notices that and takes the lease back.
      () => {
        this.#connecting.delete(key);
        // A call that the worker took along may travel again by now, by another link.
        const isRunning = this.#firsts?.runsUnder(grant.workerId, grant.leaseId) === true;
        const link = first === undefined || !isRunning ? undefined : this.#firsts?.linkOf(first);
        if (link !== undefined) group.leases.push(Object.assign(lease, { link, revoked: true }));
        else this.#returnLease(grant.workerId, grant.leaseId);
        this.#scheduleDemand();
      },
    );
  }

  /** The call is with the lease's worker, which may have answered it already. */
  #handedOn(record: CallRecord, lease: Lease): void {
    lease.inFlight = 1;
    lease.queuedMs = record.target.meanMs + CALL_OVERHEAD_MS;
    lease.isOnce = record.retry.maxRetries === 0;
    this.#leaseOf.set(record, lease);
    this.#options.onHandedOn(record);
  }

  /** Fails all calls of a shape that can never run. */
  refused(refusal: LeaseRefusedHeader): void {
    const group = this.#groups.get(refusal.shape);
    if (group === undefined) return;
    group.sentBacklog = 0;
    group.dropped = 0;
    group.places.clear();
    for (const record of this.#firsts?.refused(refusal.shape) ?? []) if (!record.isEnded) this.#options.onRefused(record, refusal);
    for (let record = group.queue.shift(); record !== undefined; record = group.queue.shift()) {
      record.isQueued = false;
      if (!record.isEnded) this.#options.onRefused(record, refusal);
    }
  }

  revoked(worker: ProcessId, leaseId: number): void {
    const connecting = this.#connecting.get(`${worker} ${leaseId}`);
    if (connecting !== undefined) connecting.revoked = true;
    for (const group of this.#groups.values()) {
      const lease = group.leases.find((candidate) => candidate.id === leaseId && candidate.link.processId === worker);
      if (lease === undefined) continue;
      lease.revoked = true;
      if (lease.inFlight === 0) this.#giveBack(lease);
      return;
    }
  }

  /** A lease is named with its worker, whose node granted it. */
  #returnLease(worker: ProcessId, leaseId: number): void {
    this.#options.daemon.send(MESSAGE.LEASE_RETURN, [worker, leaseId]);
  }

  workerExited(exit: WorkerExitedHeader): void {
    this.#ended.workerExited(exit);
    if (this.#firsts !== undefined && !this.#firsts.isEmpty) this.#recoverFirst(this.#firsts.workerExited(exit), exit);
  }

  /** The workers of a dead node say nothing more; their connections may stay open for long. */
  nodeGone(tag: NodeTag, reason: string): void {
    for (const [worker, link] of this.#links) {
      if (nodeTagOf(worker) !== tag) continue;
      this.#ended.workerExited({
        workerId: worker,
        pid: 0,
        exitCode: undefined,
        signal: undefined,
        lastOutput: [],
        reason: `its node died: ${reason}`,
      });
      link.then(
        (open) => open.drop("its node died"),
        () => {},
      );
    }
  }

  /** A worker was given to others while this process did not attend to its lease. */
  taken(worker: ProcessId, leaseId: number, read: ReclaimedHeader[2]): void {
    for (const group of this.#groups.values()) {
      removeLeasesOn(group, worker, leaseId);
      // The daemon has forgotten what this process asked for, too.
      group.sentBacklog = 0;
    }
    for (const [madeFor, count] of read) this.#ended.readOver(worker, madeFor, count);
    this.#scheduleDemand();
  }

  /** Everything still queued or in flight, for the end of the process. */
  close(): CallRecord[] {
    this.#isClosed = true;
    clearInterval(this.#idleTimer);
    const left = Array.from(this.#leaseOf.keys());
    for (const group of this.#groups.values()) left.push(...group.queue);
    left.push(...this.#ended.calls(), ...(this.#firsts?.travelling() ?? []));
    this.#ended.close();
    for (const link of this.#links.values()) {
      void link.then(
        (open) => open.close(),
        () => {},
      );
    }
    return left;
  }

  #group(shape: string): Group {
    let group = this.#groups.get(shape);
    if (group === undefined) {
      group = {
        shape,
        isExclusive: !holdsOnlyCpus(shape),
        queue: new Fifo(),
        leases: [],
        sentBacklog: 0,
        places: new ArgumentPlaces(),
        dropped: 0,
      };
      this.#groups.set(shape, group);
    }
    return group;
  }

  #pump(group: Group): void {
    for (;;) {
      const record = this.#nextOf(group);
      if (record === undefined) break;
      const node = group.places.isEmpty ? undefined : group.places.nodeOf(record);
      const lease = (node === undefined ? undefined : this.#idleLeaseOn(group, node)) ?? this.#leaseFor(group, record);
      if (lease === undefined) break;
      this.#takeHead(group);
      this.#push(lease, record);
    }
    // A lease is free for those that travel, or others would overtake them: they wait in the queue from now on.
    if (
      this.#firsts?.isEmpty === false &&
      (group.queue.size > 0 || group.leases.some(({ inFlight, revoked }) => inFlight === 0 && !revoked))
    )
      this.#firsts.askBack(group.shape);
    this.#scheduleDemand();
  }

  #nextOf(group: Group): CallRecord | undefined {
    for (;;) {
      const record = group.queue.peek();
      if (record === undefined || !this.#leavesHead(group, record)) return record;
    }
  }

  /** Whether an argument has been lost since the call was submitted. */
  #leavesHead(group: Group, record: CallRecord): boolean {
    if (record.dependencies.length === 0 || (failedDependency(record) === undefined && !lacksDependency(record))) return false;
    this.#takeHead(group);
    return this.#isHeldBack(record);
  }

  /** Fails the call with its argument, or lets the call wait until the argument is made again. */
  #isHeldBack(record: CallRecord): boolean {
    const failed = failedDependency(record);
    if (failed !== undefined) this.#options.failDependency(record, failed);
    else if (lacksDependency(record)) this.#options.awaitDependencies(record);
    else return false;
    return true;
  }

  #idleLeaseOn(group: Group, node: NodeTag): Lease | undefined {
    return group.leases.find(({ revoked, inFlight, link }) => !revoked && inFlight === 0 && nodeTagOf(link.processId) === node);
  }

  #leaseFor(group: Group, record: CallRecord): Lease | undefined {
    let best: Lease | undefined;
    for (const lease of group.leases) {
      if (!lease.revoked && (best === undefined || lease.inFlight < best.inFlight)) best = lease;
    }
    if (best === undefined) return undefined;
    if (best.inFlight === 0) return best;
    // Calls that are sent behind the last call of a worker come back.
    if (group.isExclusive || record.target.maxCalls === 1) return undefined;
    const expectedMs = record.target.meanMs + CALL_OVERHEAD_MS;
    return best.inFlight < IN_FLIGHT_MAX && best.queuedMs + expectedMs <= WINDOW_MS && !best.link.isCongested ? best : undefined;
  }

  #push(lease: Lease, record: CallRecord): void {
    lease.inFlight += 1;
    lease.queuedMs += record.target.meanMs + CALL_OVERHEAD_MS;
    this.#leaseOf.set(record, lease);
    record.hasParked = false;
    if (record.retry.maxRetries === 0 && !lease.isOnce) this.#tellOnce(lease);
    lease.link.push(record, lease.accelerators);
  }

  /** Tells the daemon before a call that may not run twice is sent. Once a lease, as more such calls are likely to follow. */
  #tellOnce(lease: Lease): void {
    lease.isOnce = true;
    if (lease !== this.#ownLease) this.#options.daemon.send(MESSAGE.LEASE_ONCE, [lease.link.processId, lease.id]);
  }

  #answered(record: CallRecord, durationUs: number): void {
    const target = record.target;
    const lease = this.#leaseOf.get(record);
    if (this.#firsts?.isEmpty === false) this.#firsts.answered(record);
    if (lease !== undefined) {
      this.#leaseOf.delete(record);
      lease.inFlight -= 1;
      lease.queuedMs = lease.inFlight === 0 ? 0 : Math.max(0, lease.queuedMs - target.meanMs - CALL_OVERHEAD_MS);
      if (lease.inFlight === 0) lease.idleSinceMs = this.#options.nowMs();
    }
    // A cancelled call tells nothing of how long the function takes.
    if (record.isEnded) return;
    const ms = durationUs / 1000;
    target.meanMs = target.meanMs === Number.POSITIVE_INFINITY ? ms : target.meanMs * 0.8 + ms * 0.2;
  }

  readonly linkEvents: Omit<WorkerLinkEvents, "onClosed"> = {
    onPlainResult: (record, bytes, flags, durationUs) => {
      this.#answered(record, durationUs);
      this.#options.onPlainResult(record, bytes, flags, durationUs);
    },
    onResult: (record, returns, durationUs) => {
      this.#answered(record, durationUs);
      this.#options.onResult(record, returns);
    },
    onDeclined: (record, lost) => {
      const lease = this.#leaseOf.get(record);
      // A worker that has ended since may have left this word behind; its leases are gone.
      if (lease !== undefined) {
        this.#leaseOf.delete(record);
        lease.inFlight -= 1;
        // Nothing more is sent under it; it is returned with the last answer.
        lease.revoked = true;
      }
      this.#firsts?.answered(record);
      if (record.isEnded) return;
      if (lost.length === 0) this.#declined.push(record);
      else this.#options.onArgumentsLost(record, lost);
    },
    onBatchEnd: () => this.#batchEnd(),
  };

  #batchEnd(): void {
    if (this.#declined.length > 0) this.#queueAgain(this.#declined.splice(0));
    for (const group of this.#groups.values()) {
      if (group.queue.size > 0) this.#pump(group);
      for (const lease of Array.from(group.leases)) if (lease.revoked && lease.inFlight === 0) this.#giveBack(lease);
    }
  }

  #link(grant: LeaseGrantHeader): Promise<WorkerLink> {
    const { ownWorker } = this.#options;
    if (ownWorker !== undefined && grant.workerId === ownWorker.id) return Promise.resolve(this.#ownLink(ownWorker));
    const known = this.#links.get(grant.workerId);
    if (known !== undefined) return known;
    const id = grant.workerId;
    const events: WorkerLinkEvents = {
      ...this.linkEvents,
      onClosed: (ended, { isWhole, sent }) => {
        // On one machine a connection breaks with its process, and what that had written is read to its end.
        const isRead = isWhole || !this.#isElsewhere(id);
        this.#linkClosed(ended, { worker: id, leaseId: grant.leaseId, sent, unanswered: ended.openCalls, isWhole: isRead });
      },
    };
    const link = this.#options.connectWorker({ address: grant.address, processId: id, incarnation: 0, leaseId: grant.leaseId }, events);
    this.#links.set(id, link);
    this.#ended.opened(id, grant.leaseId);
    link.catch(() => {
      this.#links.delete(id);
      this.#ended.forget(id);
    });
    return link;
  }

  #linkClosed(link: WorkerLink, ended: EndedLink): void {
    const { worker } = ended;
    this.#links.delete(worker);
    for (const group of this.#groups.values()) {
      for (const lease of removeLeasesOn(group, worker, Number.POSITIVE_INFINITY)) {
        if (this.#firsts?.runsUnder(worker, lease.id) === true) {
          // The first call continues over another connection, and the lease ends with the answer.
          group.leases.push(Object.assign(lease, { inFlight: 1, revoked: true }));
          continue;
        }
        // Where the worker lives on, the daemon does not know that these are of no use any more.
        this.#returnLease(worker, lease.id);
      }
    }
    for (const record of link.openCalls) this.#leaseOf.delete(record);
    if (this.#isClosed || link.inFlightCount === 0) {
      this.#ended.forget(worker);
      link.finish();
      return;
    }
    const withinMs = this.#isElsewhere(worker) ? EXIT_REPORT_ELSEWHERE_WITHIN_MS : EXIT_REPORT_WITHIN_MS;
    this.#ended.ended(ended, withinMs, (ending) => {
      const { unanswered, isRestRead } = link.finish();
      this.#recover({ ...ended, unanswered, isWhole: ended.isWhole || isRestRead }, ending);
    });
  }

  #isElsewhere(worker: ProcessId): boolean {
    return nodeTagOf(worker) !== this.#options.node;
  }

  #recover(link: EndedLink, ending: Ending | undefined): void {
    const { begun, notBegun } = splitBegun(link, ending);
    const exit = ending === undefined || "read" in ending ? undefined : ending;
    for (const record of begun) this.#options.onWorkerLost(record, exit);
    this.#queueAgain(notBegun);
    for (const group of this.#groups.values()) this.#pump(group);
  }

  /** Calls that have not begun, in the order in which they were sent, come before those that wait; a cancelled one is not tried again. */
  #queueAgain(records: readonly CallRecord[]): void {
    for (const record of records.toReversed()) {
      if (record.isEnded) continue;
      record.isQueued = true;
      this.#groups.get(record.shape)?.queue.unshift(record);
    }
  }

  #scheduleDemand(): void {
    if (this.#demandScheduled || this.#isClosed) return;
    this.#demandScheduled = true;
    process.nextTick(() => {
      this.#demandScheduled = false;
      for (const group of this.#groups.values()) this.#sendDemand(group);
    });
  }

  #sendDemand(group: Group, travelling?: Travelling): void {
    const backlog = Math.min(this.#waitingIn(group) - this.#comingToFreeLeases(group), BACKLOG_MAX);
    // A backlog that only shrinks needs no message until it is gone: the daemon counts down as it grants.
    if (backlog === group.sentBacklog || (backlog > 0 && backlog < group.sentBacklog)) return;
    group.sentBacklog = backlog;
    const { shape, places } = group;
    const header = { shape, backlog, ...(places.isEmpty ? {} : { near: places.near }) };
    if (travelling === undefined) this.#options.daemon.send(MESSAGE.LEASE_DEMAND, header);
    else this.#options.daemon.send(MESSAGE.LEASE_DEMAND, { ...header, first: travelling.first }, { parts: travelling.parts });
  }

  #watchIdle(): void {
    if (this.#idleTimer !== undefined) return;
    this.#idleTimer = setInterval(() => {
      const nowMs = this.#options.nowMs();
      let held = 0;
      for (const group of this.#groups.values()) {
        for (const lease of Array.from(group.leases)) {
          // The daemon may let a call in here that waits for its arguments' node, and needs this lease back for that.
          const isUnused = lease.inFlight === 0 && (group.queue.size === 0 || !group.places.isEmpty);
          if (isUnused && nowMs - lease.idleSinceMs >= LEASE_IDLE_MS) this.#giveBack(lease);
          else held += 1;
        }
      }
      if (held > 0) return;
      clearInterval(this.#idleTimer);
      this.#idleTimer = undefined;
    }, LEASE_IDLE_MS);
    this.#idleTimer.unref();
  }

  #giveBack(lease: Lease): void {
    const index = lease.group.leases.indexOf(lease);
    if (index < 0) return;
    lease.group.leases.splice(index, 1);
    this.#returnLease(lease.link.processId, lease.id);
    if (lease.group.queue.size > 0) this.#scheduleDemand();
  }
}

/** Removes the leases up to an id. @returns the removed leases */
function removeLeasesOn(group: Group, worker: ProcessId, leaseId: number): Lease[] {
  const removed: Lease[] = [];
  for (let index = group.leases.length - 1; index >= 0; index -= 1) {
    const lease = group.leases[index] as Lease;
    if (lease.link.processId === worker && lease.id <= leaseId) removed.push(...group.leases.splice(index, 1));
  }
  return removed;
}
