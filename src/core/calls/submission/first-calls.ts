/**
 * First calls: tasks that travel with the demand for their lease, so that they begin while this process computes.
 *
 * A call that travels is written as for a worker's connection, and the daemon hands that on to the worker that it leases. Until the grant
 * names the call, the call waits like any other; it is sent to another worker only after the daemon has given it back. What worker and
 * caller say to each other then passes through the daemon, over a separate link that ends with the answer. Owned by the submitter.
 * Invariant: a call is here, or in a queue, or with a worker, and never in two places.
 */
import type { ProcessId } from "../../../runtime/base/ids.ts";
import type { Connection } from "../../../runtime/rpc/connection.ts";
import type { RelayTransport } from "../../../runtime/rpc/relay-transport.ts";
import { markOfFirst } from "../../../runtime/os/processes/memory/interrupt-slot.ts";
import { type LeaseDemandHeader, type LeaseGrantHeader, MESSAGE, type WorkerExitedHeader } from "../../../runtime/wire/messages.ts";
import { isPythonId } from "../../python/python-code.ts";
import type { CallRecord } from "../call-record.ts";
import type { WorkerLink, WorkerLinkEvents } from "../links/worker-link.ts";

/** A link over the daemon, to a worker that is not known yet. */
interface RelayedLink {
  readonly link: WorkerLink & { readonly number: number };
  readonly transport: RelayTransport;
  /** The worker is known from now on. */
  opened(worker: ProcessId): void;
}

export interface FirstCallOptions {
  readonly taskIdPrefix: string;
  newLink(events: WorkerLinkEvents): RelayedLink;
}

interface FirstCall extends RelayedLink {
  readonly record: CallRecord;
  readonly shape: string;
  isAskedBack: boolean;
  /** The lease under which the call runs; undefined until a worker has the call. */
  leaseId: number | undefined;
}

/** The part of a demand that carries a call. */
export interface Travelling {
  readonly first: NonNullable<LeaseDemandHeader["first"]>;
  readonly parts: readonly Uint8Array[];
}

export class FirstCalls {
  readonly #options: FirstCallOptions;
  readonly #daemon: Connection;
  readonly #calls = new Map<number, FirstCall>();

  constructor(options: FirstCallOptions, daemon: Connection) {
    this.#options = options;
    this.#daemon = daemon;
  }

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  /** The calls that no worker is known to have. */
  *travelling(shape?: string): Generator<CallRecord> {
    for (const call of this.#calls.values())
      if (call.leaseId === undefined && (shape === undefined || call.shape === shape)) yield call.record;
  }

  /** The number of travelling calls that have not been cancelled. */
  countOf(shape: string): number {
    let count = 0;
    for (const record of this.travelling(shape)) if (!record.isEnded) count += 1;
    return count;
  }

  /** Whether calls of this shape are on their way back, which go before later ones. */
  isAskingFor(shape: string): boolean {
    return this.countAskedBack(shape) > 0;
  }

  /** The number of calls of this shape that are on their way back. */
  countAskedBack(shape: string): number {
    let count = 0;
    for (const call of this.#calls.values()) if (call.isAskedBack && call.leaseId === undefined && call.shape === shape) count += 1;
    return count;
  }

  /** @returns undefined for a call that cannot travel, as holds need a known receiver */
  send(record: CallRecord, events: WorkerLinkEvents): Travelling | undefined {
    if (!mayTravel(record)) return undefined;
    const relayed = this.#options.newLink({ ...events, onClosed: (link) => this.#closed(link, events) });
    const { link, transport } = relayed;
    this.#calls.set(link.number, { ...relayed, record, shape: record.shape, isAskedBack: false, leaseId: undefined });
    record.hasParked = false;
    link.push(record);
    link.flush();
    const once = record.retry.maxRetries === 0;
    return { first: { link: link.number, taskIdPrefix: this.#options.taskIdPrefix, once }, parts: transport.take() };
  }

  /** Asks the daemon for the calls of this shape, of which it gives back those that no worker has had. */
  askBack(shape: string, only?: CallRecord): void {
    const asked: number[] = [];
    for (const [number, call] of this.#calls) {
      if (call.leaseId !== undefined || call.isAskedBack || call.shape !== shape || (only !== undefined && call.record !== only)) continue;
      call.isAskedBack = true;
      asked.push(number);
    }
    if (asked.length > 0) this.#daemon.send(MESSAGE.FIRST_CALLS_BACK, asked);
  }

  /** @returns the calls, which are the submitter's again */
  cameBack(numbers: readonly number[]): CallRecord[] {
    return numbers.flatMap((number) => {
      const call = this.#calls.get(number);
      if (call !== undefined) this.#end(call);
      return call === undefined ? [] : [call.record];
    });
  }

  /** The shape is refused for good. @returns the calls */
  refused(shape: string): CallRecord[] {
    const refused = Array.from(this.#calls.values()).filter((call) => call.leaseId === undefined && call.shape === shape);
    for (const call of refused) this.#end(call);
    return refused.map(({ record }) => record);
  }

  /** A worker has it. @returns the call that the grant names */
  handedOn({ first, workerId, leaseId }: LeaseGrantHeader): CallRecord | undefined {
    const call = first === undefined ? undefined : this.#calls.get(first);
    if (call === undefined) return undefined;
    call.leaseId = leaseId;
    call.opened(workerId);
    const { number } = call.link;
    call.transport.open((chunk) => this.#daemon.send(MESSAGE.RELAYED, [workerId, -number], { parts: [chunk] }));
    return call.record;
  }

  /** The worker says something. */
  arrived(number: number, chunk: Uint8Array): void {
    this.#calls.get(number)?.transport.arrived(chunk);
  }

  /** The link by which the call travels, or went to a worker. */
  linkOf(record: CallRecord): WorkerLink | undefined {
    return this.#of(record)?.link;
  }

  /** Whether a call runs under this lease. */
  runsUnder(worker: ProcessId, leaseId: number): boolean {
    return this.#calls.values().some((call) => call.leaseId === leaseId && call.link.processId === worker);
  }

  /** The worker is done with it. */
  answered(record: CallRecord): void {
    const call = this.#of(record);
    if (call !== undefined) this.#end(call);
  }

  /** The worker has ended. @returns the calls that it had, and has not answered; one begins when the worker marks it */
  workerExited({ workerId, begun }: WorkerExitedHeader): { record: CallRecord; hasBegun: boolean }[] {
    const lost = Array.from(this.#calls.values()).filter((call) => call.leaseId !== undefined && call.link.processId === workerId);
    return lost.map((call) => {
      this.#end(call);
      const { record } = call;
      const mark = markOfFirst(call.leaseId ?? 0);
      return { record, hasBegun: record.hasParked || begun === undefined || begun.some(([madeFor]) => madeFor === mark) };
    });
  }

  #of(record: CallRecord): FirstCall | undefined {
    for (const call of this.#calls.values()) if (call.record === record) return call;
    return undefined;
  }

  /** Nothing more is sent or comes; a worker that had the call ends its part with the answer. */
  #end(call: FirstCall): void {
    this.#calls.delete(call.link.number);
    call.link.finish();
    call.transport.closed("the call has ended");
  }

  #closed(link: WorkerLink, { onClosed }: WorkerLinkEvents): void {
    const call = this.#calls.get(link.number ?? 0);
    if (call === undefined) return;
    this.#calls.delete(call.link.number);
    onClosed(link, { isWhole: true, sent: 1, reason: "its worker closed it" });
  }
}

/**
 * Python's workers take calls over their callers' connections alone. A generator that computes writes each item to its caller at once, which
 * only the caller's own connection does.
 */
function mayTravel({ target, args, dependencies, isRemade, stream }: CallRecord): boolean {
  if (isRemade || stream !== undefined || isPythonId(target.id) || dependencies.length > 0) return false;
  return args === undefined || (args.refs.length === 0 && args.stored === undefined);
}
