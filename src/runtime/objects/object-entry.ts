/**
 * The state of one object in one process, with its waiters and the handles and pins that keep it.
 *
 * An entry begins pending and settles once, as a value or as an error. Most entries are small results that only their handle refers to: they
 * cost one JavaScript object, and the garbage collector is all they need. An entry becomes tracked (see `object-table.ts`) when
 * there are bytes in the store or other processes to tell; only then are its handles counted.
 */
import type { ActorId, ObjectId, ProcessId } from "../base/ids.ts";
import type { Payload } from "./payload.ts";

/** Notified once, when the entry settles. */
export interface Waiter {
  entrySettled(entry: ObjectEntry): void;
}

/** Stands for several handles that are watched together. The entries are a separate list, as they may outlive the token by a moment. */
export interface HandleToken {
  readonly entries: ObjectEntry[];
}

type EntryState = "pending" | "ready" | "failed" | "freed";

/** The table's data of an entry that is named, counted or contains others. Most entries never have it. */
class Tracking {
  /** Made lazily: most entries never leave the process and need no id. */
  id: ObjectId | undefined = undefined;
  owner: ProcessId | undefined = undefined;
  tracked = false;
  handles = 0;
  holds = 0;
  watched = false;
  isKnown = false;
  contained: ObjectEntry[] | undefined = undefined;
  callSite: string | undefined = undefined;
}

export class ObjectEntry {
  state: EntryState = "pending";
  /** The value itself where it is a primitive, which needs no copy for each reader. */
  primitive: unknown = undefined;
  isPrimitive = false;
  payload: Payload | undefined = undefined;
  /** A failure that was never serialized: made in this process. */
  failure: unknown = undefined;
  /** Whether somebody has seen the failure. One that nobody saw is reported when the entry goes. */
  failureSeen = false;
  #waiters: Waiter | Waiter[] | undefined = undefined;

  /** The number in the object's id, together with the index. */
  readonly sequence: number;
  readonly index: number;
  /** The name of the task that makes it, for messages. */
  label = "";
  /** The call of this process that computes it, until it has ended. */
  maker: object | undefined = undefined;
  /** The ObjectRef that the call gave out, until it has ended: a ref whose call is pending is not collected. */
  returned: object | undefined = undefined;
  /** The serial actor that computes it: an actor that waits for itself never ends. */
  actor: ActorId | undefined = undefined;

  /** Stamp of the last `wait` that met it: finds duplicates without a set per call. */
  waitStamp = 0;

  // The rest is the table's.
  pins = 0;
  #tracking: Tracking | undefined = undefined;

  constructor(sequence: number, index: number) {
    this.sequence = sequence;
    this.index = index;
  }

  get isSettled(): boolean {
    return this.state !== "pending";
  }

  get id(): ObjectId | undefined {
    return this.#tracking?.id;
  }

  set id(id: ObjectId) {
    this.#track().id = id;
  }

  /** The process to ask for the value; undefined while the object has never left this process. */
  get owner(): ProcessId | undefined {
    return this.#tracking?.owner;
  }

  set owner(owner: ProcessId) {
    this.#track().owner = owner;
  }

  /** Whether its end matters, so that its handles are counted. */
  get tracked(): boolean {
    return this.#tracking?.tracked === true;
  }

  set tracked(tracked: boolean) {
    this.#track().tracked = tracked;
  }

  get handles(): number {
    return this.#tracking?.handles ?? 0;
  }

  set handles(handles: number) {
    this.#track().handles = handles;
  }

  /** Holds that others have registered at the daemon for this process. */
  get holds(): number {
    return this.#tracking?.holds ?? 0;
  }

  set holds(holds: number) {
    this.#track().holds = holds;
  }

  /** Whether its owner has been asked for the value. */
  get watched(): boolean {
    return this.#tracking?.watched === true;
  }

  set watched(watched: boolean) {
    if (watched || this.#tracking !== undefined) this.#track().watched = watched;
  }

  /** Whether the daemon was told the value, or is not to be. */
  get isKnown(): boolean {
    return this.#tracking?.isKnown === true;
  }

  set isKnown(isKnown: boolean) {
    if (isKnown || this.#tracking !== undefined) this.#track().isKnown = isKnown;
  }

  get contained(): ObjectEntry[] | undefined {
    return this.#tracking?.contained;
  }

  set contained(contained: ObjectEntry[] | undefined) {
    if (contained !== undefined || this.#tracking !== undefined) this.#track().contained = contained;
  }

  /** The stack of the call that failed with an error of another process, where it is known. */
  get callSite(): string | undefined {
    return this.#tracking?.callSite;
  }

  set callSite(callSite: string | undefined) {
    if (callSite !== undefined || this.#tracking !== undefined) this.#track().callSite = callSite;
  }

  #track(): Tracking {
    this.#tracking ??= new Tracking();
    return this.#tracking;
  }

  addWaiter(waiter: Waiter): void {
    if (this.#waiters === undefined) this.#waiters = waiter;
    else if (Array.isArray(this.#waiters)) this.#waiters.push(waiter);
    else this.#waiters = [this.#waiters, waiter];
  }

  removeWaiter(waiter: Waiter): void {
    if (this.#waiters === waiter) this.#waiters = undefined;
    else if (Array.isArray(this.#waiters)) this.#waiters = this.#waiters.filter((other) => other !== waiter);
  }

  settlePrimitive(value: unknown): void {
    if (this.state !== "pending") return;
    this.payload = undefined;
    this.isPrimitive = true;
    this.primitive = value;
    this.#settle("ready");
  }

  settlePayload(payload: Payload): void {
    if (this.state !== "pending") return;
    this.payload = payload;
    this.#settle(payload.error ? "failed" : "ready");
  }

  fail(failure: unknown): void {
    if (this.state !== "pending") return;
    this.payload = undefined;
    this.failure = failure;
    this.#settle("failed");
  }

  /**
   * Returns to pending, because the value is lost and is made again. A call that was about to be sent may still carry the old payload: its receiver then
   * finds the bytes gone and asks.
   */
  reopen(): void {
    this.state = "pending";
    this.isPrimitive = false;
    this.primitive = undefined;
    this.failure = undefined;
    this.watched = false;
    // A reader is about to see the failure.
    this.failureSeen = true;
  }

  #settle(state: EntryState): void {
    this.state = state;
    const waiters = this.#waiters;
    this.#waiters = undefined;
    if (waiters === undefined) return;
    if (Array.isArray(waiters)) for (const waiter of waiters) waiter.entrySettled(this);
    else waiters.entrySettled(this);
  }
}
