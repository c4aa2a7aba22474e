/**
 * Objects between nodes, for a node daemon: what its processes fetch from elsewhere, and what it serves of its own.
 *
 * Puts the parts together (receiver, source, copies, store) and answers the processes: a process that asks for an object of another node gets a location on this one,
 * and counts as a reader of the copy until it lets go of it or ends. Called by the node daemon with messages of its processes and of other nodes, with transfer connections that others
 * open, and with the ends of processes and nodes. What it needs of them it is given: `connect` and `tell`.
 */
import { ObjectLostError } from "../../base/errors.ts";
import { nodeTagOf, type NodeTag, type ProcessId } from "../../base/ids.ts";
import { CopyCache } from "../../object/transfer/copy-cache.ts";
import type { StoreFolders } from "../../object/transfer/served-object.ts";
import type { Transport } from "../../platform/network/transport.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import type { Message } from "../../rpc/peer-connection.ts";
import { MESSAGE, type WireLocation } from "../../wire/messages.ts";
import { type CopyKey, type CopyStateHeader, type ObjectFetchHeader } from "../../wire/transfer-messages.ts";
import { copyKeyOf, isCopyKey } from "./copy-key.ts";
import { CopyStore } from "./copy-store.ts";
import { type FetchWaiter, ObjectReceiver } from "./object-receiver.ts";
import { type LocalCopy, ObjectSource } from "./object-source.ts";
import type { StoreService } from "./store-service.ts";

export interface ObjectTransferOptions extends StoreFolders {
  /** The daemon. */
  processId: ProcessId;
  store: StoreService;
  /** An authenticated stream to the transfer address of a node. */
  connect: (node: NodeTag) => Promise<Transport>;
  /** Says something to the daemon of another node, in order; what cannot be said as the node is dead is dropped. */
  tell: (node: NodeTag, type: number, header: unknown) => void;
  /** Whether chunks are checked here besides by the connection (which TLS does, and the loopback interface needs not). */
  checks: boolean;
  nowMs: () => number;
}

/** What the processes of this node are waiting for. */
interface Waiting extends FetchWaiter {
  readonly process: ProcessId;
  readonly of: CopyKey;
}

/** Pulls under way may take this part of the store. */
const BUDGET_FRACTION = 0.5;

export class ObjectTransfer {
  readonly #options: ObjectTransferOptions;
  readonly #nodeTag: NodeTag;
  readonly #cache = new CopyCache();
  readonly #copies: CopyStore;
  readonly #receiver: ObjectReceiver;
  readonly #source: ObjectSource;
  readonly #waiting = new Map<ProcessId, Set<Waiting>>();

  constructor(options: ObjectTransferOptions) {
    this.#options = options;
    const { processId, store, memoryDirectory, spillDirectory, tell } = options;
    const nodeTag = nodeTagOf(processId);
    this.#nodeTag = nodeTag;
    this.#copies = new CopyStore({ processId, store, memoryDirectory, spillDirectory, evict: (bytes) => this.#evict(bytes) });
    this.#source = new ObjectSource({
      nodeTag,
      memoryDirectory,
      spillDirectory,
      copyOf: (key) => this.#copyOf(key),
      hold: (location) => store.hold(location),
      letGo: (location) => store.letGo(location),
      tell,
    });
    this.#receiver = new ObjectReceiver({
      copies: this.#copies,
      connect: options.connect,
      checks: options.checks,
      budgetBytes: store.quotaBytes * BUDGET_FRACTION,
      nowMs: options.nowMs,
      onProgress: (key, availableBytes) => this.#source.progressed(key, availableBytes),
      onWhole: (copy) => this.#whole(copy),
      onGone: ({ key, of, pull }) => {
        this.#source.withdrawn(key);
        this.#tellState(of, pull, "gone");
      },
    });
    const copies = this.#copies;
    const cache = this.#cache;
    store.setNode({
      processId,
      receive: (type, header) => copies.receive(type, header),
      onFreed: (location) => this.#source.freed(location),
      get idleBytes() {
        return cache.idleBytes;
      },
      get comingBytes() {
        return copies.comingBytes;
      },
      makeRoom: (bytes) => this.#evict(bytes),
    });
  }

  /** For tests and statistics. */
  get counters(): { copies: number; fetching: number; serving: number; copied: number; sourcesLeft: number } {
    return {
      copies: this.#cache.size,
      fetching: this.#receiver.size,
      serving: this.#source.servingCount,
      copied: this.#source.copiedCount,
      sourcesLeft: this.#receiver.sourcesLeft,
    };
  }

  /**
   * A process wants an object of another node.
   *
   * @returns where it is on this node; the process reads it from now on
   * @throws ObjectLostError when its bytes are nowhere, ObjectStoreFullError or OutOfDiskError when they fit nowhere here
   */
  async fetch(process: ProcessId, [id, location, purpose]: ObjectFetchHeader): Promise<WireLocation> {
    const of: CopyKey = [id, location];
    if (!isCopyKey(of)) throw new ObjectLostError("Cannot fetch an object: that is not a place in a store", { reason: "no such place" });
    if (nodeTagOf(location[0]) === this.#nodeTag) return location;
    return this.#cache.acquire(copyKeyOf(of), process) ?? (await this.#wait(process, of, purpose));
  }

  /** @returns whether the message of a process of this node was about objects of others */
  receiveOfProcess(peer: HeadPeer, { type, callId }: Message, header: unknown): boolean {
    if (type === MESSAGE.OBJECT_FETCH) {
      this.fetch(peer.id, header as ObjectFetchHeader).then(
        (location) => peer.connection.reply(callId, location),
        (error: unknown) => peer.connection.replyError(callId, `${(error as Error).name}: ${(error as Error).message}`),
      );
      return true;
    }
    if (type === MESSAGE.COPY_RELEASE) {
      this.release(peer.id, header as WireLocation[]);
      return true;
    }
    return false;
  }

  /** A process needs these copies no more. */
  release(process: ProcessId, locations: readonly WireLocation[]): void {
    for (const location of locations) this.#free(this.#cache.release(location, process));
  }

  processGone(process: ProcessId): void {
    for (const waiter of this.#waiting.get(process) ?? []) {
      this.#receiver.unwant(waiter.of, waiter);
      waiter.reject(new Error("the process has ended"));
    }
    this.#waiting.delete(process);
    this.#free(this.#cache.processGone(process));
  }

  /** Another node, whose identity is known, has connected to this one's transfer address. */
  accept(node: NodeTag, transport: Transport): void {
    this.#source.accept(node, transport);
  }

  /** @returns whether the message of another node's daemon was about objects */
  receive(node: NodeTag, type: number, header: unknown): boolean {
    switch (type) {
      case MESSAGE.COPY_STATE:
        this.#source.copyState(node, header as CopyStateHeader);
        return true;
      case MESSAGE.COPY_FREED:
        if (isCopyKey(header) && nodeTagOf(header[1][0]) === node) this.#freedAtHome(header);
        return true;
      default:
        return false;
    }
  }

  /** A node has been declared dead. */
  nodeGone(node: NodeTag): void {
    this.#receiver.nodeGone(node);
    this.#source.nodeGone(node);
    this.#free(this.#cache.homeGone(node));
  }

  close(): void {
    this.#receiver.close();
    this.#source.close();
    this.#copies.close();
  }

  #wait(process: ProcessId, of: CopyKey, purpose: number): Promise<WireLocation> {
    return new Promise((resolve, reject) => {
      const forget = (): void => {
        const waiters = this.#waiting.get(process);
        waiters?.delete(waiter);
        if (waiters?.size === 0) this.#waiting.delete(process);
      };
      const waiter: Waiting = {
        process,
        of,
        purpose,
        resolve: () => {
          forget();
          // At once: whoever needs room next would have it from a copy that nobody reads.
          resolve(this.#cache.acquire(copyKeyOf(of), process) as WireLocation);
        },
        reject: (error) => {
          forget();
          reject(error);
        },
      };
      const waiters = this.#waiting.get(process);
      if (waiters === undefined) this.#waiting.set(process, new Set([waiter]));
      else waiters.add(waiter);
      this.#receiver.want(of, waiter);
    });
  }

  #whole({ key, of, pull, location }: { key: string; of: CopyKey; pull: number; location: WireLocation }): void {
    this.#cache.add({ key, of, home: nodeTagOf(of[1][0]), pull, location });
    this.#source.progressed(key, location[2]);
    this.#tellState(of, pull, "whole");
  }

  #copyOf(key: string): LocalCopy | undefined {
    const copy = this.#cache.find(key);
    return copy === undefined ? this.#receiver.comingCopy(key) : { location: copy.location, availableBytes: copy.location[2] };
  }

  #freedAtHome(of: CopyKey): void {
    const key = copyKeyOf(of);
    this.#free(this.#cache.freed(key), { isKnownAtHome: false });
    this.#receiver.freed(key);
  }

  #evict(bytes: number): void {
    this.#free(this.#cache.evict(bytes));
  }

  #free(copies: readonly { of: CopyKey; pull: number; location: WireLocation }[], { isKnownAtHome } = { isKnownAtHome: true }): void {
    for (const { of, pull, location } of copies) {
      this.#copies.free(location);
      if (isKnownAtHome) this.#tellState(of, pull, "gone");
    }
  }

  #tellState(of: CopyKey, pull: number, state: "whole" | "gone"): void {
    this.#options.tell(nodeTagOf(of[1][0]), MESSAGE.COPY_STATE, [of, pull, state]);
  }
}
