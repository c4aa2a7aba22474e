/**
 * Fetches objects from other nodes: the shell around the plan of pulls.
 *
 * Turns requests and received data into events of the plan, and the plan's effects into messages, space in the store, and answers. Handles events one after the
 * other, never inside an effect. Owns the incoming objects and their waiters. Complete objects are passed on: it keeps no copies.
 */
import { asError } from "../../base/texts/describe.ts";
import { ObjectLostError } from "../../base/errors.ts";
import { nodeTagOf, type NodeTag, type ProcessId } from "../../base/ids.ts";
import type { ObjectExtent } from "../../objects/arenas/object-extent.ts";
import { type Arrival, IncomingObject } from "../../objects/transfer/incoming-object.ts";
import { type PullEffect, type PullEvent, type PullFailure, PullPlan } from "../../objects/transfer/pull-plan.ts";
import type { Transport } from "../../os/network/transport.ts";
import { readAs } from "../../wire/tables/message-table.ts";
import { MESSAGES_OF_SOURCE } from "../../wire/tables/messages-of-nodes.ts";
import { MESSAGE, type WireLocation } from "../../wire/messages.ts";
import { type CopyKey, type TransferEndHeader } from "../../wire/objects/transfer-messages.ts";
import { copyKeyOf } from "./copy-key.ts";
import type { CopyStore } from "./copy-store.ts";
import type { LocalCopy } from "./object-source.ts";
import { TransferLinks } from "./transfer-links.ts";

interface ObjectReceiverOptions {
  nodeTag: NodeTag;
  copies: CopyStore;
  connect: (node: NodeTag) => Promise<Transport>;
  /** Whether chunks are checked: connections that check every byte themselves need it no second time. */
  checks: boolean;
  budgetBytes: number;
  nowMs: () => number;
  /** Everything of an object is here; `pull` names it to its home. */
  onWhole: (copy: { key: string; of: CopyKey; owner: ProcessId | undefined; pull: number; location: WireLocation }) => void;
  /** Called when more bytes of an object have arrived. */
  onProgress: (key: string, availableBytes: number) => void;
  /** Called when a copy here is lost; its home knows the copy by `pull`. */
  onGone: (gone: { key: string; of: CopyKey; owner: ProcessId | undefined; pull: number }) => void;
  /** Where this node itself is to have an object from for whose dead home it stands in; undefined when nobody has it. */
  orphanSource: (request: { key: string; pull: number; avoid: readonly string[] }) => NodeTag | undefined;
}

/** An object, and whose it is where the reader knows. */
export interface Wanted {
  readonly of: CopyKey;
  readonly owner: ProcessId | undefined;
}

/** A reader that waits for an object. */
export interface FetchWaiter {
  readonly purpose: number;
  resolve(): void;
  reject(error: Error): void;
}

interface Fetch {
  readonly key: string;
  readonly of: CopyKey;
  readonly owner: ProcessId | undefined;
  waiters: FetchWaiter[];
  incoming: IncomingObject | undefined;
  /** The number under which the home was last asked. */
  homePull: number;
  /** Why there was no room. */
  fullBy: Error | undefined;
}

const TICK_MS = 250;
/** A tick that comes so late tells of this process, which stood still: what sources sent meanwhile lies unread. */
const LATE_MS = 1000;

export class ObjectReceiver {
  /** How often a source was left for another, as it stalled, refused or broke. */
  sourcesLeft = 0;
  readonly #options: ObjectReceiverOptions;
  readonly #plan: PullPlan;
  readonly #links: TransferLinks;
  readonly #fetches = new Map<string, Fetch>();
  readonly #events: PullEvent[] = [];
  #isHandling = false;
  #timer: NodeJS.Timeout | undefined;
  #tickedMs = 0;
  /** Or passed over, as it came late. */
  #hasTicked = true;
  #isClosed = false;

  constructor(options: ObjectReceiverOptions) {
    this.#options = options;
    this.#plan = new PullPlan({ budgetBytes: options.budgetBytes });
    this.#links = new TransferLinks({
      connect: options.connect,
      onMessage: (frame) => {
        if (frame.type === MESSAGE.TRANSFER_END) this.#ended(frame.callId, readAs(MESSAGES_OF_SOURCE, MESSAGE.TRANSFER_END, frame));
      },
      onChunkBytes: (head, offset, bytes) => this.#incomingOf(head.pull)?.bytes(head, offset, bytes),
      onChunkEnd: (head) => this.#incomingOf(head.pull)?.end(head),
      onLost: (node) => this.#handle({ kind: "linkLost", node }),
      nowMs: options.nowMs,
    });
  }

  /** Objects on their way. */
  get size(): number {
    return this.#fetches.size;
  }

  want({ of, owner }: Wanted, waiter: FetchWaiter): void {
    const key = copyKeyOf(of);
    let fetch = this.#fetches.get(key);
    if (fetch === undefined) {
      fetch = { key, of, owner, waiters: [], incoming: undefined, homePull: 0, fullBy: undefined };
      this.#fetches.set(key, fetch);
    }
    fetch.waiters.push(waiter);
    const adopter = fetch.owner === undefined ? undefined : nodeTagOf(fetch.owner);
    this.#handle({ kind: "wanted", key, sizeBytes: of[1][2], home: nodeTagOf(of[1][0]), adopter, purpose: waiter.purpose });
    if (this.#timer !== undefined) return;
    this.#tickedMs = this.#options.nowMs();
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** A waiter has gone. */
  unwant(of: CopyKey, waiter: FetchWaiter): void {
    const key = copyKeyOf(of);
    const fetch = this.#fetches.get(key);
    if (fetch === undefined || !fetch.waiters.includes(waiter)) return;
    fetch.waiters = fetch.waiters.filter((other) => other !== waiter);
    this.#handle({ kind: "unwanted", key, purpose: waiter.purpose });
    if (fetch.waiters.length === 0) this.#drop(fetch);
  }

  /** Returns the present part of an arriving object. */
  comingCopy(key: string): LocalCopy | undefined {
    const extent = this.#fetches.get(key)?.incoming?.extent;
    if (extent === undefined) return undefined;
    const { arena, offset, sizeBytes, kind } = extent.location;
    return { location: [arena, offset, sizeBytes, kind], availableBytes: this.#plan.haveBytes(key) };
  }

  /** Handles the home's notice that an object was freed. */
  freed(key: string): void {
    this.#handle({ kind: "freed", key });
  }

  nodeGone(node: NodeTag): void {
    this.#links.reset(node, "the node is dead");
    this.#handle({ kind: "nodeGone", node });
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#links.close();
    for (const fetch of Array.from(this.#fetches.values())) {
      for (const waiter of fetch.waiters) waiter.reject(new Error("the node ends"));
      this.#drop(fetch);
    }
  }

  #handle(event: PullEvent): void {
    this.#events.push(event);
    if (this.#isHandling || this.#isClosed) return;
    this.#isHandling = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift())
        for (const effect of this.#plan.handle(next, this.#options.nowMs())) this.#apply(effect);
    } finally {
      this.#isHandling = false;
    }
  }

  #apply(effect: PullEffect): void {
    switch (effect.kind) {
      case "allocate":
        this.#allocate(effect.key, { avoidMemory: false });
        return;
      case "open": {
        const fetch = this.#fetches.get(effect.key);
        if (fetch === undefined) return;
        fetch.incoming?.begin(effect.pull, this.#plan.haveBytes(effect.key));
        if (effect.node === this.#plan.homeOf(effect.key)) fetch.homePull = effect.pull;
        if (effect.avoid.length > 0) this.sourcesLeft += 1;
        if (effect.node === this.#options.nodeTag) {
          this.#askHere(effect);
          return;
        }
        const header = { key: fetch.of, avoid: effect.avoid, checks: this.#options.checks };
        this.#links.send(effect.node, MESSAGE.TRANSFER_OPEN, { pull: effect.pull, header });
        return;
      }
      case "read":
        if (effect.node === this.#options.nodeTag) return;
        this.#links.send(effect.node, MESSAGE.TRANSFER_READ, { pull: effect.pull, header: [effect.offset, effect.sizeBytes] });
        return;
      case "close":
        if (effect.node === this.#options.nodeTag) return;
        this.#links.send(effect.node, MESSAGE.TRANSFER_END, { pull: effect.pull, header: [effect.isDone ? "done" : "cancelled"] });
        return;
      case "reset":
        this.#links.reset(effect.node, "it did not answer");
        this.#handle({ kind: "linkLost", node: effect.node });
        return;
      case "complete":
        this.#complete(effect.key);
        return;
      case "failed":
        this.#failed(effect.key, effect.reason);
        return;
      case "abandoned": {
        const fetch = this.#fetches.get(effect.key);
        if (fetch !== undefined) this.#abandon(fetch);
        return;
      }
    }
  }

  /** Asks this node itself, which replaces the home. */
  #askHere({ pull, key, avoid }: Extract<PullEffect, { kind: "open" }>): void {
    const node = this.#options.orphanSource({ key, pull, avoid });
    this.#handle(node === undefined || node === this.#options.nodeTag ? { kind: "refused", pull } : { kind: "redirected", pull, node });
  }

  #allocate(key: string, options: { avoidMemory: boolean }): void {
    const fetch = this.#fetches.get(key);
    if (fetch === undefined) return;
    const ok = this.#newExtent(fetch, options);
    this.#handle({ kind: "allocated", key, ok });
  }

  #newExtent(fetch: Fetch, options: { avoidMemory: boolean }): boolean {
    const { copies, checks } = this.#options;
    let extent: ObjectExtent;
    try {
      extent = copies.allocate(fetch.of[1][2], options);
    } catch (error) {
      fetch.fullBy = asError(error);
      return false;
    }
    fetch.incoming = new IncomingObject(extent, { checks, onArrival: (pull, arrival) => this.#arrived(fetch, pull, arrival) });
    return true;
  }

  #arrived(fetch: Fetch, pull: number, arrival: Arrival): void {
    if (arrival.kind === "damaged") {
      this.#handle({ kind: "damaged", pull });
      return;
    }
    if (arrival.kind === "full") {
      this.#full(fetch, pull, arrival.error);
      return;
    }
    this.#handle({ kind: "received", pull, sizeBytes: arrival.sizeBytes });
    // Not after the last bytes.
    if (this.#fetches.get(fetch.key) === fetch) this.#options.onProgress(fetch.key, this.#plan.haveBytes(fetch.key));
  }

  /** The file system had less room than it had said: memory is left for disk, and a disk that is full is the end. */
  #full(fetch: Fetch, pull: number, error: Error): void {
    const wasInMemory = fetch.incoming?.extent.location.kind === "memory";
    this.#abandon(fetch);
    fetch.fullBy = error;
    const hasRoom = wasInMemory && this.#newExtent(fetch, { avoidMemory: true });
    this.#handle(hasRoom ? { kind: "restarted", pull } : { kind: "noRoom", pull });
  }

  #complete(key: string): void {
    const fetch = this.#fetches.get(key);
    if (fetch?.incoming === undefined) return;
    this.#fetches.delete(key);
    const location = this.#options.copies.seal(fetch.incoming.extent);
    this.#options.onWhole({ key, of: fetch.of, owner: fetch.owner, pull: fetch.homePull, location });
    for (const waiter of fetch.waiters) waiter.resolve();
  }

  #failed(key: string, why: PullFailure): void {
    const fetch = this.#fetches.get(key);
    if (fetch === undefined) return;
    const error = failureOf(fetch, why);
    this.#drop(fetch);
    for (const waiter of fetch.waiters) waiter.reject(error);
  }

  #drop(fetch: Fetch): void {
    this.#fetches.delete(fetch.key);
    this.#abandon(fetch);
  }

  #abandon(fetch: Fetch): void {
    const { incoming } = fetch;
    if (incoming === undefined) return;
    fetch.incoming = undefined;
    // Before its pages can be another's.
    this.#options.onGone({ key: fetch.key, of: fetch.of, owner: fetch.owner, pull: fetch.homePull });
    this.#options.copies.abandon(incoming.extent, () => incoming.abandon());
  }

  #incomingOf(pull: number): IncomingObject | undefined {
    const key = this.#plan.keyOf(pull);
    return key === undefined ? undefined : this.#fetches.get(key)?.incoming;
  }

  #ended(pull: number, [how, node]: TransferEndHeader): void {
    if (how === "elsewhere") this.#handle({ kind: "redirected", pull, node: nodeTagOf(node) });
    else this.#handle({ kind: "refused", pull });
  }

  #tick(): void {
    const nowMs = this.#options.nowMs();
    const isLate = nowMs - this.#tickedMs > LATE_MS && this.#hasTicked;
    // Never two in a row, so that a process which is always late gives up a source at last.
    this.#hasTicked = !isLate;
    this.#tickedMs = nowMs;
    if (isLate) return;
    this.#handle({ kind: "tick" });
    this.#links.closeIdle();
    if (this.#fetches.size > 0 || this.#links.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const WHY: Record<PullFailure, string> = {
  lost: "its node has it no more",
  unreachable: "its node does not answer",
  noRoom: "there is no room for it here",
  damaged: "what came was damaged, again and again",
};

function failureOf({ of: [id, location], fullBy }: Fetch, why: PullFailure): Error {
  if (why === "noRoom" && fullBy !== undefined) return fullBy;
  const reason = WHY[why];
  return new ObjectLostError(`Cannot fetch an object from another node: ${reason}`, {
    reason,
    details: { id, location, node: nodeTagOf(location[0]) },
  });
}
