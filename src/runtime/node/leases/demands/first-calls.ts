/**
 * First calls: tasks that travel with the demand for their lease, so that they begin while their caller computes.
 *
 * A call waits here until a worker of this node is leased to its caller under its shape; it then goes to the worker, and the grant says
 * so. The caller may ask for it back, and has it back unless a worker has had it, so it never begins twice. Frames of caller and worker
 * then pass through here, too, so answers outlive the worker as all else that it tells its daemon. Invariant: a call is either here, or
 * with one worker, or its caller's again.
 */
import { copyBytes } from "../../../base/collections/bytes.ts";
import type { ProcessId } from "../../../base/ids.ts";
import type { Connection } from "../../../rpc/connection.ts";
import { type FirstCallHeader, type HelloHeader, type LeaseDemandHeader, MESSAGE } from "../../../wire/messages.ts";
import type { Peer } from "../../node-peers.ts";
import type { LeaseEffect } from "../lease-events.ts";

interface FirstCall {
  readonly caller: HelloHeader & { readonly link: number };
  readonly shape: string;
  readonly once: boolean;
  readonly body: Uint8Array;
}

interface Relay {
  readonly caller: ProcessId;
  readonly link: number;
  readonly worker: ProcessId;
}

interface HandedOn {
  readonly first: number;
  /** Whether the call may not run twice. */
  readonly once: boolean;
}

const NOTHING: readonly Uint8Array[] = [];

export class FirstCalls {
  readonly #local: ReadonlyMap<ProcessId, Peer>;
  /** By caller, in the order of their coming. */
  readonly #waiting = new Map<ProcessId, FirstCall[]>();
  /** Connections of calls that a worker has, by caller and number. */
  readonly #relays = new Map<string, Relay>();

  constructor(local: ReadonlyMap<ProcessId, Peer>) {
    this.#local = local;
  }

  came(id: ProcessId, { first, shape }: LeaseDemandHeader, body: Uint8Array): void {
    const peer = this.#local.get(id);
    if (first === undefined || peer === undefined) return;
    const { holderId, kind, pid, address, jobId } = peer;
    const { link, taskIdPrefix, once } = first;
    const caller = { processId: id, holderId, kind, pid, address, taskIdPrefix, jobId, link };
    const waiting = this.#waiting.get(id);
    const call: FirstCall = { caller, shape, once, body: copyBytes(body) };
    if (waiting === undefined) this.#waiting.set(id, [call]);
    else waiting.push(call);
  }

  /** Hands the oldest call of this owner and shape to the leased worker. @returns the call, for the grant */
  granted({ owner, worker, leaseId, accelerators, spec }: Extract<LeaseEffect, { kind: "grant" }>): HandedOn | undefined {
    // A caller that shares its worker with the call has to come to an end first, and knows its own calls: they end with their parents.
    if (owner === worker) return undefined;
    const waiting = this.#waiting.get(owner);
    const index = waiting?.findIndex(({ shape }) => shape === spec.key) ?? -1;
    const connection = index < 0 ? undefined : this.#connectionOf(worker);
    if (waiting === undefined || connection === undefined) return undefined;
    const [call] = waiting.splice(index, 1) as [FirstCall];
    if (waiting.length === 0) this.#waiting.delete(owner);
    const { caller, once, body } = call;
    const { link } = caller;
    this.#relays.set(keyOf(owner, link), { caller: owner, link, worker });
    const header: FirstCallHeader = { caller, leaseId, accelerators };
    connection.send(MESSAGE.FIRST_CALL, header, { parts: [body] });
    return { first: link, once };
  }

  /** By shape, how many calls of this owner wait for a lease. */
  waitingOf(owner: ProcessId): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { shape } of this.#waiting.get(owner) ?? []) counts.set(shape, (counts.get(shape) ?? 0) + 1);
    return counts;
  }

  /** @returns the calls that no worker has had */
  askedBack(caller: ProcessId, links: readonly number[]): number[] {
    const asked = new Set(links);
    return this.#take(caller, ({ caller: { link } }) => asked.has(link));
  }

  /** The shape is refused for good, and the caller knows. */
  refused(caller: ProcessId, shape: string): void {
    this.#take(caller, (call) => call.shape === shape);
  }

  #take(caller: ProcessId, isTaken: (call: FirstCall) => boolean): number[] {
    const waiting = this.#waiting.get(caller) ?? [];
    const left = waiting.filter((call) => !isTaken(call));
    if (left.length === 0) this.#waiting.delete(caller);
    else this.#waiting.set(caller, left);
    return waiting.filter(isTaken).map((call) => call.caller.link);
  }

  /** Passes bytes on from one end to the other. */
  relayed(from: ProcessId, to: ProcessId, link: number, body: Uint8Array): void {
    const key = link < 0 ? keyOf(from, -link) : keyOf(to, link);
    const relay = this.#relays.get(key);
    // The other end has gone, or a stranger speaks.
    if (relay === undefined || (link < 0 ? relay.caller : relay.worker) !== from) return;
    if (body.length === 0) this.#relays.delete(key);
    this.#connectionOf(link < 0 ? relay.worker : relay.caller)?.send(MESSAGE.RELAYED, [from, link], {
      parts: body.length === 0 ? NOTHING : [body],
    });
  }

  processGone(process: ProcessId): void {
    this.#waiting.delete(process);
    for (const [key, { caller, link, worker }] of this.#relays) {
      if (caller !== process && worker !== process) continue;
      this.#relays.delete(key);
      // WORKER_EXITED tells callers of a worker's end.
      if (caller === process) this.#connectionOf(worker)?.send(MESSAGE.RELAYED, [caller, -link]);
    }
  }

  #connectionOf(process: ProcessId): Pick<Connection, "send"> | undefined {
    return this.#local.get(process)?.connection;
  }
}

function keyOf(caller: ProcessId, link: number): string {
  return `${caller} ${link}`;
}
