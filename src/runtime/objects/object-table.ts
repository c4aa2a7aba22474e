/**
 * Counts the references that keep an object of this process, and informs the node daemon.
 *
 * An entry is kept by its handles: ObjectRefs in the user's hands, found by the garbage collector or ended by `using`. It is also kept by
 * pins: a task in flight that needs it, an object that contains it, a mapped view over its bytes. An entry without any of these is dropped.
 * Bytes in the store that nobody else knows are freed at once. An object that has been sent to others is released at the daemon's ledger,
 * which tells the owner to free it when nobody holds it. Rule of the protocol (runtime/node/references/ref-ledger.ts): the sender of a ref
 * registers a hold for the receiver.
 */
import { ShoalError } from "../base/errors.ts";
import { type IdSource, type NodeTag, nodeTagOf, type ObjectId, type ProcessId } from "../base/ids.ts";
import type { StoredHeader, WireLocation } from "../wire/messages.ts";
import { KNOWN_VALUE_BYTES_MAX } from "./limits.ts";
import { type HandleToken, ObjectEntry } from "./object-entry.ts";
import { type ContainedRef, type Payload, storedPayload } from "./payload.ts";

/** The table's messages to the daemon, which are batched and never awaited. */
export interface RefChannel {
  hold(change: { id: ObjectId; owner: ProcessId; holder: ProcessId; message?: HeldNumber | undefined }): void;
  release(ref: { id: ObjectId; owner: ProcessId }, count: number): void;
  watch(id: ObjectId, owner: ProcessId): void;
  /** Hands the value of an object of which the daemon is the owner of record to it. */
  provide(id: ObjectId, payload: Payload): void;
  /** Tells the daemon the value of an object of this process, for readers that ask while this process computes. */
  known(id: ObjectId, payload: Payload): void;
  /** Says that this process owes the daemon the value of an object that the daemon owns. */
  adopt(id: ObjectId): void;
  /** No more messages with holds go to this receiver over a link. */
  heldEnded(receiver: ProcessId, link: number): void;
  /** Ends a link of objects that were stored for the receiver. */
  storeLinkEnded(receiver: ProcessId, link: number): void;
  /** Reports the last message with holds that this process has read from a link. */
  heldRead(read: HeldRead): void;
  /** Sends the gathered messages. */
  flush(): void;
}

export interface HeldRead {
  readonly sender: ProcessId;
  readonly link: number;
  readonly number: number;
  /** The daemon that has asked, as the link has ended: there will be no more. */
  readonly asker?: ProcessId | undefined;
}

/** Identifies a message with holds: the caller's link number, negative for a call, and the message's number on that link. */
export interface HeldNumber {
  readonly link: number;
  readonly number: number;
}

interface ObjectTableOptions {
  processId: ProcessId;
  /** The owner of record of what this process makes and sends on: a driver itself, a worker's node daemon. */
  ownerOfRecord: ProcessId;
  ids: IdSource;
  channel: RefChannel;
  /** Frees bytes that no process can reach any more. */
  freeStored: (location: WireLocation) => void;
  /** A settled entry in serialized form, also when it is a cached primitive or a failure made here. */
  payloadOf: (entry: ObjectEntry) => Payload;
  onUnseenFailure: (entry: ObjectEntry) => void;
  /** The daemon has the value, and frees its bytes. */
  onHandedOver?: (location: WireLocation) => void;
  /** Nothing in this process can reach the object any more. */
  onReleased?: (entry: ObjectEntry) => void;
  /** Called when only other processes need an object of this process. */
  onUnkept?: (entry: ObjectEntry) => void;
  /** Watches handles of stored objects, whose end is found earlier than the garbage collector tells of others. */
  storedHandles?: { watch(handle: object, sizeBytes: number, onGone: () => void): boolean; unwatch(handle: object): boolean } | undefined;
  /** A handle is counted of which only the garbage collector knows the end; so many there are now. */
  onHandle?: ((handles: number) => void) | undefined;
}

export class ObjectTable {
  readonly processId: ProcessId;
  readonly ownerOfRecord: ProcessId;
  readonly #ids: IdSource;
  readonly #channel: RefChannel;
  readonly #payloadOf: (entry: ObjectEntry) => Payload;
  readonly #freeStored: (location: WireLocation) => void;
  readonly #onUnseenFailure: (entry: ObjectEntry) => void;
  readonly #onReleased: ((entry: ObjectEntry) => void) | undefined;
  readonly #onHandedOver: ((location: WireLocation) => void) | undefined;
  readonly #onUnkept: ((entry: ObjectEntry) => void) | undefined;
  readonly #onHandle: ((handles: number) => void) | undefined;
  readonly #storedHandles: ObjectTableOptions["storedHandles"];
  #handles = 0;
  #watchesEnded: Error | undefined;
  /** Everything that has an owner: sent to others or received from them. */
  readonly #published = new Map<ObjectId, ObjectEntry>();
  readonly #unseen = new Set<ObjectEntry>();
  readonly #finalizers = new FinalizationRegistry<ObjectEntry>((entry) => this.#handleGone(entry));

  readonly #tokenFinalizers = new FinalizationRegistry<ObjectEntry[]>((entries) => {
    for (const entry of entries) this.#handleGone(entry);
  });

  constructor(options: ObjectTableOptions) {
    this.processId = options.processId;
    this.ownerOfRecord = options.ownerOfRecord;
    this.#ids = options.ids;
    this.#channel = options.channel;
    this.#payloadOf = options.payloadOf;
    this.#freeStored = options.freeStored;
    this.#onUnseenFailure = options.onUnseenFailure;
    this.#onReleased = options.onReleased;
    this.#onHandedOver = options.onHandedOver;
    this.#onUnkept = options.onUnkept;
    this.#onHandle = options.onHandle;
    this.#storedHandles = options.storedHandles;
  }

  /** Handles that are counted and have not ended. */
  get handleCount(): number {
    return this.#handles;
  }

  get publishedCount(): number {
    return this.#published.size;
  }

  idOf(entry: ObjectEntry): ObjectId {
    const known = entry.id;
    if (known !== undefined) return known;
    const id = entry.index < 0 ? this.#ids.putId(entry.sequence) : this.#ids.returnId(entry.sequence, entry.index);
    entry.id = id;
    return id;
  }

  lookup(id: ObjectId): ObjectEntry | undefined {
    return this.#published.get(id);
  }

  /**
   * Refuses an entry from an earlier session of this process, as the present daemon does not know it.
   *
   * @throws ShoalError for a ref that was made before the last shutdown
   */
  requireOfSession(entry: ObjectEntry): void {
    // An entry from another process has no sequence number here, and stays listed while it has a handle.
    const isOfSession = entry.sequence === 0 ? this.#published.get(entry.id as ObjectId) === entry : entry.sequence > this.#ids.before;
    if (isOfSession) return;
    throw new ShoalError("Cannot use an ObjectRef: its session has ended", {
      reason: "the ref was made before Shoal was shut down in this process",
      hint: "Await the values that are needed before shutdown(), and make new refs after init().",
    });
  }

  /** From now on the entry's end matters: its handle is watched. A handle that was disposed of does not count. `stored`: where its bytes lie in the store. */
  track(entry: ObjectEntry, handle: object | undefined, stored: StoredHeader | undefined = entry.payload?.stored): void {
    entry.tracked = true;
    if (handle === undefined) return;
    // A handle that is watched for its failure counts already. Unregistering it ends all registrations.
    if (entry.handles === 0 || !this.#unwatch(handle)) this.#addHandle(entry);
    if (stored !== undefined && this.#storedHandles?.watch(handle, stored.location[2], () => this.#handleGone(entry)) === true) return;
    this.#finalizers.register(handle, entry, handle);
  }

  /** The same for a handle that was made this moment, of which nothing is registered yet. */
  trackFresh(entry: ObjectEntry, handle: object): void {
    entry.tracked = true;
    this.#addHandle(entry);
    this.#finalizers.register(handle, entry, handle);
  }

  /** A handle's explicit end (`using`). */
  disposeHandle(entry: ObjectEntry, handle: object): void {
    if (this.#unwatch(handle)) this.#handleGone(entry);
    else if (entry.isSettled) this.#reportUnseen(entry);
  }

  #unwatch(handle: object): boolean {
    return this.#finalizers.unregister(handle) || this.#storedHandles?.unwatch(handle) === true;
  }

  watchToken(token: HandleToken): void {
    this.#tokenFinalizers.register(token, token.entries);
  }

  addToToken(token: HandleToken, entry: ObjectEntry): void {
    this.#addHandle(entry);
    token.entries.push(entry);
  }

  removeFromToken(token: HandleToken, entry: ObjectEntry): void {
    const index = token.entries.indexOf(entry);
    if (index < 0) return;
    token.entries.splice(index, 1);
    this.#handleGone(entry);
  }

  pin(entry: ObjectEntry): void {
    entry.pins += 1;
  }

  unpin(entry: ObjectEntry): void {
    entry.pins -= 1;
    this.#releaseIfUnkept(entry);
  }

  /** Registers an entry that is about to leave this process by name. Its reader may ask for the value at once. */
  publish(entry: ObjectEntry): ContainedRef {
    const ref = this.#publish(entry);
    if (ref.owner === this.processId && entry.state === "ready" && !entry.isKnown) this.#tellValue(entry, ref);
    return ref;
  }

  /** Sends a small value to the daemon. Values that contain refs stay here, as the daemon would have to hold those refs. */
  #tellValue(entry: ObjectEntry, { id, owner }: ContainedRef): void {
    entry.isKnown = true;
    const payload = this.#payloadOf(entry);
    const { stored, refs, definitions, buffers, inBand } = payload;
    if (refs.length > 0 || definitions.length > 0 || buffers.length > 0 || inBand.length > KNOWN_VALUE_BYTES_MAX) return;
    this.#channel.known(id, stored === undefined ? payload : { ...payload, stored: { id, owner, location: stored.location } });
  }

  #publish(entry: ObjectEntry): ContainedRef {
    this.requireOfSession(entry);
    const id = this.idOf(entry);
    if (entry.owner === undefined) {
      entry.owner = this.ownerOfRecord;
      entry.tracked = true;
      entry.holds += 1;
      this.#published.set(id, entry);
      this.#channel.hold({ id, owner: entry.owner, holder: this.processId });
      if (this.ownerOfRecord !== this.processId) this.#provideWhenSettled(entry, id);
    }
    return { id, owner: entry.owner };
  }

  /** Registers a hold for the process that is about to get a payload with these refs in it, and its stored bytes. */
  holdFor(receiver: ProcessId, payload: Payload, message?: HeldNumber): void {
    for (const ref of payload.refs) this.#channel.hold({ id: ref.id, owner: ref.owner, holder: receiver, message });
    const stored = payload.stored;
    if (stored !== undefined && stored.owner !== ("" as ProcessId))
      this.#channel.hold({ id: stored.id, owner: stored.owner, holder: receiver, message });
  }

  /** No more messages with holds go over a link: holds for those that its receiver has not read are given back. */
  heldEnded(receiver: ProcessId, link: number): void {
    this.#channel.heldEnded(receiver, link);
  }

  storeLinkEnded(receiver: ProcessId, link: number): void {
    this.#channel.storeLinkEnded(receiver, link);
  }

  /** Sends the daemon all messages about refs and stored objects now, not at the end of the tick. */
  flushChannel(): void {
    this.#channel.flush();
  }

  heldRead(read: HeldRead): void {
    this.#channel.heldRead(read);
  }

  /** Where another process reads an object without a question: its bytes are in the store, and are all that a reader needs. True while the object is held. */
  placeOf(id: ObjectId): WireLocation | undefined {
    const entry = this.#published.get(id);
    if (entry?.state !== "ready" || entry.payload === undefined) return undefined;
    const { stored, graph, refs, definitions } = entry.payload;
    return graph || refs.length > 0 || definitions.length > 0 ? undefined : stored?.location;
  }

  /** The value of a settled entry as it is sent to another process; bytes in the store need a published owner. */
  payloadFor(entry: ObjectEntry): Payload {
    const payload = this.#payloadOf(entry);
    if (payload.stored === undefined) return payload;
    const ref = this.#publish(entry);
    return { ...payload, stored: { id: ref.id, owner: ref.owner, location: payload.stored.location } };
  }

  /** A ref came from another process, with a hold for this one. The result is pinned: unpin it when the message is done with. */
  receive(ref: ContainedRef): ObjectEntry {
    let entry = this.#published.get(ref.id);
    if (entry === undefined) {
      entry = new ObjectEntry(0, 0);
      entry.id = ref.id;
      entry.owner = ref.owner;
      entry.tracked = true;
      this.#published.set(ref.id, entry);
      // An entry that was here before may know better: its object may have been lost from there, and be made again.
      if (ref.place !== undefined) entry.settlePayload(storedPayload({ id: ref.id, owner: ref.owner, location: ref.place }));
    }
    entry.holds += 1;
    entry.pins += 1;
    return entry;
  }

  /** An entry for something that the daemon owns, such as an actor that this process creates, with a hold of this process. */
  adoptForeign(ref: ContainedRef): ObjectEntry {
    const entry = new ObjectEntry(0, 0);
    entry.id = ref.id;
    entry.owner = ref.owner;
    entry.tracked = true;
    entry.holds = 1;
    this.#published.set(ref.id, entry);
    this.#channel.hold({ id: ref.id, owner: ref.owner, holder: this.processId });
    return entry;
  }

  /**
   * Receives a stored object that came with a message. An entry that waits for it settles with it.
   *
   * @param refs the received refs inside the object. A waiter may read the object at once, and then needs them.
   */
  receiveStored(stored: StoredHeader, payload: Payload, refs: readonly ObjectEntry[] = []): ObjectEntry {
    const entry = this.receive({ id: stored.id, owner: stored.owner });
    if (!entry.isSettled) {
      for (const inner of refs) this.pin(inner);
      this.contain(entry, refs.slice());
      entry.settlePayload(payload);
    }
    return entry;
  }

  /** A payload that came with holds for this process, and that nobody is going to read. */
  discard(payload: Payload): void {
    const refs = payload.refs.map((ref) => this.receive(ref));
    if (payload.stored !== undefined) this.unpin(this.receiveStored(payload.stored, payload, refs));
    for (const inner of refs) this.unpin(inner);
  }

  /** A borrowed ref is waited for: its owner is asked for the value, once. */
  watch(entry: ObjectEntry): void {
    if (entry.watched || entry.isSettled || entry.owner === undefined || entry.id === undefined) return;
    if (entry.owner === this.processId || entry.sequence !== 0) return;
    entry.watched = true;
    const ended = this.#watchesEnded;
    // In a microtask: the caller adds its waiter first.
    if (ended !== undefined) queueMicrotask(() => entry.fail(ended));
    else this.#channel.watch(entry.id, entry.owner);
  }

  /** The daemon has ended, through which owners are asked: every wait for a borrowed ref fails, now and later. */
  endWatches(failure: Error): void {
    this.#watchesEnded = failure;
    for (const entry of Array.from(this.#published.values())) if (entry.watched) entry.fail(failure);
  }

  /** Pending entries that a process of the given node owns. */
  ownedBy(tag: NodeTag): ObjectEntry[] {
    const isWaitedFor = (entry: ObjectEntry): boolean =>
      entry.watched && !entry.isSettled && entry.owner !== undefined && nodeTagOf(entry.owner) === tag;
    return Array.from(this.#published.values()).filter(isWaitedFor);
  }

  /**
   * Settles a watched ref with a value that arrived, and takes over its holds. An object that this process makes gets its value from its call alone, because
   * the daemon may answer a report of loss with another value.
   */
  receiveValue(id: ObjectId, payload: Payload): void {
    const entry = this.#published.get(id);
    const contained = payload.refs.map((ref) => this.receive(ref));
    if (entry === undefined || entry.isSettled || entry.sequence !== 0) {
      for (const inner of contained) this.unpin(inner);
      return;
    }
    this.contain(entry, contained);
    entry.settlePayload(payload);
  }

  /** `entry` keeps these (already pinned) as long as it lives. */
  contain(entry: ObjectEntry, contained: ObjectEntry[]): void {
    if (contained.length === 0) return;
    entry.contained = contained;
    entry.tracked = true;
  }

  /** The daemon says that nobody holds it. */
  free(id: ObjectId): void {
    const entry = this.#published.get(id);
    if (entry === undefined || entry.handles > 0 || entry.pins > 0) return;
    this.#published.delete(id);
    this.#drop(entry);
  }

  /** The call that makes the entry has ended; its ref may have been disposed of before. */
  madeHere(entry: ObjectEntry): void {
    this.#releaseIfUnkept(entry);
  }

  /** A failed entry that nobody has awaited: reported when its handle goes, or at the end of the process. */
  watchFailure(entry: ObjectEntry, handle: object): void {
    this.#unseen.add(entry);
    if (entry.handles === 0) {
      this.#addHandle(entry);
      this.#finalizers.register(handle, entry, handle);
    }
  }

  /** Reports the failures that no reader has seen, when the session ends. */
  reportAllUnseen(): void {
    for (const entry of this.#unseen) this.#reportUnseen(entry);
  }

  /** Failures that nobody has seen yet, for the report at the end. */
  reportUnseenFailure(entry: ObjectEntry): void {
    this.#reportUnseen(entry);
  }

  /** Drops a lost value and the refs inside it. The entry is pending again. */
  reopen(entry: ObjectEntry): void {
    const contained = entry.contained;
    entry.contained = undefined;
    entry.isKnown = false;
    entry.reopen();
    if (contained !== undefined) for (const inner of contained) this.unpin(inner);
    if (this.#isOwedToDaemon(entry)) this.#provideWhenSettled(entry, entry.id as ObjectId);
  }

  /** Pins an entry that this process had let go of, maybe so lately that the daemon's order to free it is still on the way. */
  pinAgain(entry: ObjectEntry): void {
    entry.pins += 1;
    if (entry.owner !== undefined && entry.holds === 0 && entry.sequence !== 0) {
      entry.holds = 1;
      // Another process may have sent the ref back meanwhile.
      if (!this.#published.has(entry.id as ObjectId)) this.#published.set(entry.id as ObjectId, entry);
      this.#channel.hold({ id: entry.id as ObjectId, owner: entry.owner, holder: this.processId });
    }
  }

  /** An object that this process made and let go of is to be made again; pinned until then. Others find it under the id that it had. */
  revive(entry: ObjectEntry): void {
    this.pinAgain(entry);
    if (entry.state !== "freed") return;
    entry.reopen();
    if (this.#isOwedToDaemon(entry)) this.#provideWhenSettled(entry, entry.id as ObjectId);
  }

  #isOwedToDaemon(entry: ObjectEntry): boolean {
    return entry.sequence !== 0 && entry.owner !== undefined && entry.owner !== this.processId;
  }

  #provideWhenSettled(entry: ObjectEntry, id: ObjectId): void {
    // Pinned until the daemon has the value: the ref may be dropped here long before its task ends.
    entry.pins += 1;
    if (entry.isSettled) {
      this.#provide(entry);
      return;
    }
    // Waiting processes then learn of this process's death.
    this.#channel.adopt(id);
    entry.addWaiter({ entrySettled: () => this.#provide(entry) });
  }

  #provide(entry: ObjectEntry): void {
    const payload = this.#payloadOf(entry);
    this.#channel.provide(entry.id as ObjectId, payload);
    if (payload.stored !== undefined) this.#onHandedOver?.(payload.stored.location);
    this.unpin(entry);
  }

  #addHandle(entry: ObjectEntry): void {
    entry.handles += 1;
    this.#handles += 1;
    this.#onHandle?.(this.#handles);
  }

  #handleGone(entry: ObjectEntry): void {
    entry.handles -= 1;
    this.#handles -= 1;
    if (entry.handles === 0) this.#reportUnseen(entry);
    this.#releaseIfUnkept(entry);
  }

  #reportUnseen(entry: ObjectEntry): void {
    this.#unseen.delete(entry);
    if (entry.state !== "failed" || entry.failureSeen) return;
    entry.failureSeen = true;
    this.#onUnseenFailure(entry);
  }

  #releaseIfUnkept(entry: ObjectEntry): void {
    if (!entry.tracked || entry.handles > 0 || entry.pins > 0) return;
    // An object that this process still makes is released once it has settled: its bytes cannot be freed earlier.
    if (!entry.isSettled && (entry.owner === undefined || entry.owner === this.processId)) return;
    if (entry.owner === undefined) {
      this.#drop(entry);
      return;
    }
    const id = entry.id as ObjectId;
    if (entry.owner === this.processId) this.#onUnkept?.(entry);
    const holds = entry.holds;
    entry.holds = 0;
    if (holds !== 0) this.#channel.release({ id, owner: entry.owner }, holds);
    // The owner keeps the value until the daemon says that nobody else holds it; a borrower has no more use for it.
    if (entry.owner !== this.processId) {
      if (this.#published.get(id) === entry) this.#published.delete(id);
      this.#forget(entry);
    }
  }

  /** The end of an object that this process owns alone. */
  #drop(entry: ObjectEntry): void {
    if (entry.state === "freed") return;
    const stored = entry.payload?.stored;
    if (stored !== undefined) this.#freeStored(stored.location);
    this.#forget(entry);
  }

  #forget(entry: ObjectEntry): void {
    // The end of the call that made it once more for others may find it gone.
    if (entry.state === "freed") return;
    entry.state = "freed";
    this.#onReleased?.(entry);
    entry.payload = undefined;
    const contained = entry.contained;
    entry.contained = undefined;
    if (contained !== undefined) for (const inner of contained) this.unpin(inner);
  }
}
