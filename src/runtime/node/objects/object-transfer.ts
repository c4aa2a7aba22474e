/**
 * Object transfer in a node daemon: fetches what its processes need from other nodes, and serves this node's objects.
 *
 * Joins the parts (receiver, source, copies, store) and answers the processes. A process that asks for an object of another node gets a location on this one, and
 * counts as a reader of the copy until it releases it or ends. For objects that processes of this node own, it replaces their homes once these are dead
 * (`orphaned-objects.ts`). The daemon calls it with messages, with transfer connections from other nodes, and with the ends of processes and nodes; it is
 * given `connect` and `tell`.
 */
import { SetMap } from "../../base/collections/set-map.ts";
import { ObjectLostError, ObjectStoreFullError, OutOfDiskError, ShoalError } from "../../base/errors.ts";
import { nodeTagOf, type NodeTag, type ProcessId } from "../../base/ids.ts";
import { PULLS_PART_OF_STORE } from "../../objects/limits.ts";
import { type Copy, CopyCache } from "../../objects/transfer/copy-cache.ts";
import { type OrphanEffect, OrphanedObjects, type IsOwned } from "../../objects/transfer/orphaned-objects.ts";
import type { StoreFolders } from "../../objects/transfer/served-object.ts";
import type { Transport } from "../../os/network/transport.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import type { Message } from "../../rpc/peer-connection.ts";
import { MESSAGE, type WireLocation } from "../../wire/messages.ts";
import type { CopyKeepHeader, CopyKey, CopyStateHeader, ObjectFetchHeader } from "../../wire/objects/transfer-messages.ts";
import { handle, type Handlers } from "../../wire/tables/message-table.ts";
import { copyKeyOf, isCopyKey } from "./copy-key.ts";
import { CopyStore } from "./copy-store.ts";
import { type FetchWaiter, ObjectReceiver, type Wanted } from "./object-receiver.ts";
import { type LocalCopy, ObjectSource } from "./object-source.ts";
import type { StoreService } from "./store-service.ts";
import { WireError, type WireErrorCode } from "../../wire/wire-error.ts";
import type { MessagesBetweenDaemons, MessagesOfProcess } from "../../wire/tables/messages-to-daemon.ts";

interface ObjectTransferOptions extends StoreFolders {
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
  /** Whether somebody on this node is responsible for an object: a process that lives, or the daemon. */
  isOwned: IsOwned;
}

/** A fetch for which processes of this node wait. */
interface Waiting extends FetchWaiter {
  readonly process: ProcessId;
  readonly of: CopyKey;
}

export type CopyMessage = typeof MESSAGE.COPY_STATE | typeof MESSAGE.COPY_FREED | typeof MESSAGE.COPY_KEEP;

export class ObjectTransfer {
  readonly #options: ObjectTransferOptions;
  readonly #nodeTag: NodeTag;
  readonly #cache = new CopyCache();
  readonly #copies: CopyStore;
  readonly #receiver: ObjectReceiver;
  readonly #source: ObjectSource;
  /** Copies that any node has of what processes of this one own elsewhere. */
  readonly #orphans: OrphanedObjects;
  readonly #dead = new Set<NodeTag>();
  readonly #waiting = new SetMap<ProcessId, Waiting>();

  constructor(options: ObjectTransferOptions) {
    this.#options = options;
    const { processId, store, memoryDirectory, spillDirectory, tell } = options;
    const nodeTag = nodeTagOf(processId);
    this.#nodeTag = nodeTag;
    this.#copies = new CopyStore({ processId, store, memoryDirectory, spillDirectory, evict: (bytes) => this.#evict(bytes) });
    this.#orphans = new OrphanedObjects(nodeTag, options.isOwned);
    this.#source = new ObjectSource({
      nodeTag,
      memoryDirectory,
      spillDirectory,
      copyOf: (key) => this.#copyOf(key),
      adoptedSource: (request) => this.#adoptedSource(request),
      isStored: (location) => store.holds(location),
      hold: (location) => store.hold(location),
      letGo: (location) => store.letGo(location),
      tell,
    });
    this.#receiver = new ObjectReceiver({
      nodeTag,
      copies: this.#copies,
      connect: options.connect,
      checks: options.checks,
      budgetBytes: store.quotaBytes * PULLS_PART_OF_STORE,
      nowMs: options.nowMs,
      onProgress: (key, availableBytes) => this.#source.progressed(key, availableBytes),
      onWhole: (copy) => this.#whole(copy),
      onGone: ({ key, ...copy }) => {
        this.#source.withdrawn(key);
        this.#tellState(copy, "gone");
      },
      orphanSource: (request) => this.#orphans.wanted({ ...request, node: nodeTag }),
    });
    const copies = this.#copies;
    const cache = this.#cache;
    store.setNode({
      processId,
      receive: (type, header) => void handle(copies.handlers, type, header),
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
  get counters(): { copies: number; fetching: number; serving: number; copied: number; orphans: number; sourcesLeft: number } {
    return {
      orphans: this.#orphans.size,
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
  async fetch(process: ProcessId, [id, location, purpose, owner]: ObjectFetchHeader): Promise<WireLocation> {
    const of: CopyKey = [id, location];
    if (!isCopyKey(of)) throw new ObjectLostError("Cannot fetch an object: that is not a place in a store", { reason: "no such place" });
    if (nodeTagOf(location[0]) === this.#nodeTag) return location;
    return this.#cache.acquire(copyKeyOf(of), process) ?? (await this.#wait(process, { of, owner }, purpose));
  }

  /** Handlers of own processes' messages about other nodes' objects. */
  readonly handlers: Handlers<
    Pick<MessagesOfProcess, typeof MESSAGE.OBJECT_FETCH | typeof MESSAGE.COPY_RELEASE>,
    [peer: HeadPeer, message: Message]
  > = {
    [MESSAGE.OBJECT_FETCH]: (wanted, { id, connection }, { callId }) =>
      void this.fetch(id, wanted).then(
        (location) => connection.reply(callId, location),
        (error: Error) => connection.replyError(callId, fetchError(error)),
      ),
    [MESSAGE.COPY_RELEASE]: (locations, { id }) => this.release(id, locations),
  };

  /** A process needs these copies no more. */
  release(process: ProcessId, locations: readonly WireLocation[]): void {
    for (const location of locations) this.#free(this.#cache.release(location, process));
  }

  processGone(process: ProcessId): void {
    for (const waiter of this.#waiting.take(process)) {
      this.#receiver.unwant(waiter.of, waiter);
      waiter.reject(new Error("the process has ended"));
    }
    this.#free(this.#cache.processGone(process));
    this.#applyOrphanEffects(this.#orphans.ownerGone(process));
  }

  /** Frees an object on another node, because no process here needs it or its bytes are lost. */
  freedElsewhere([arena, offset]: WireLocation): void {
    if (this.#orphans.size > 0) this.#applyOrphanEffects(this.#orphans.freed(`${arena}/${offset}`));
  }

  /** Nodes with a whole copy of an object, as far as this one knows: all of them where the object's bytes, or its owner, are here. */
  copiesOf(of: CopyKey): NodeTag[] {
    const key = copyKeyOf(of);
    const nodes = new Set([...this.#source.copiesOf(key), ...this.#orphans.wholeAt(key)]);
    if (this.#cache.find(key) !== undefined) nodes.add(this.#nodeTag);
    return Array.from(nodes);
  }

  /** Accepts the transfer connection of another node, whose identity is proven. */
  accept(node: NodeTag, transport: Transport): void {
    this.#source.accept(node, transport);
  }

  /** Handlers of other daemons' messages about copies. */
  readonly copyHandlers: Handlers<Pick<MessagesBetweenDaemons, CopyMessage>, [node: NodeTag]> = {
    [MESSAGE.COPY_STATE]: (said, node) => this.#copyState(node, said),
    [MESSAGE.COPY_FREED]: (of, node) => {
      if (isCopyKey(of)) this.#freedElsewhere(node, of);
    },
    [MESSAGE.COPY_KEEP]: (said, node) => this.#kept(node, said),
  };

  /** A node has been declared dead. */
  nodeGone(node: NodeTag): void {
    this.#dead.add(node);
    // First of all, because questions to this node in place of the dead one are answered from it.
    this.#applyOrphanEffects(this.#orphans.nodeGone(node));
    this.#receiver.nodeGone(node);
    this.#source.nodeGone(node);
    this.#free(this.#cache.nodeGone((other) => this.#dead.has(other)));
  }

  close(): void {
    this.#receiver.close();
    this.#source.close();
    this.#copies.close();
  }

  #wait(process: ProcessId, wanted: Wanted, purpose: number): Promise<WireLocation> {
    const { of } = wanted;
    return new Promise((resolve, reject) => {
      const waiter: Waiting = {
        process,
        of,
        purpose,
        resolve: () => {
          this.#waiting.delete(process, waiter);
          // At once, because the next request for room would evict a copy without readers.
          resolve(this.#cache.acquire(copyKeyOf(of), process) as WireLocation);
        },
        reject: (error) => {
          this.#waiting.delete(process, waiter);
          reject(error);
        },
      };
      this.#waiting.add(process, waiter);
      this.#receiver.want(wanted, waiter);
    });
  }

  #whole(copy: Omit<Copy, "home">): void {
    const { key, of, location } = copy;
    const home = nodeTagOf(of[1][0]);
    // A dead home sends no release. The owner's node, if it lives, decides about the copy.
    const isKept = copy.owner !== undefined && this.#dead.has(home) && !this.#dead.has(nodeTagOf(copy.owner));
    this.#cache.add({ ...copy, home }, { isKept });
    this.#source.progressed(key, location[2]);
    this.#tellState(copy, "whole");
  }

  #copyOf(key: string): LocalCopy | undefined {
    const copy = this.#cache.find(key);
    return copy === undefined ? this.#receiver.comingCopy(key) : { location: copy.location, availableBytes: copy.location[2] };
  }

  /** The object's home says that it was freed, or its owner's node, which both say it to all. */
  #freedElsewhere(node: NodeTag, of: CopyKey): void {
    const key = copyKeyOf(of);
    const copy = this.#cache.find(key);
    const isHome = nodeTagOf(of[1][0]) === node;
    if (!isHome && copy !== undefined && (copy.owner === undefined || nodeTagOf(copy.owner) !== node)) return;
    this.#free(this.#cache.freed(key), { knownAt: node });
    this.#receiver.freed(key);
  }

  /** Handles another node's report of its copy: of an object of this node, or of an owner here. */
  #copyState(node: NodeTag, header: CopyStateHeader): void {
    const [of, pull, state, owner] = header;
    if (!isCopyKey(of)) return;
    if (nodeTagOf(of[1][0]) === this.#nodeTag) this.#source.copyState(node, header);
    else if (owner !== undefined && nodeTagOf(owner) === this.#nodeTag) this.#noteOrphanCopy({ of, owner, node, pull }, state);
  }

  #noteOrphanCopy(copy: { of: CopyKey; owner: ProcessId; node: NodeTag; pull: number }, state: "whole" | "gone"): void {
    const report = { key: copyKeyOf(copy.of), home: nodeTagOf(copy.of[1][0]), ...copy };
    this.#applyOrphanEffects(state === "whole" ? this.#orphans.whole(report) : this.#orphans.gone(report));
  }

  #applyOrphanEffects(effects: readonly OrphanEffect[]): void {
    for (const effect of effects) {
      const { kind, node, of } = effect;
      if (node === this.#nodeTag) {
        if (kind === "keep") this.#cache.decided(copyKeyOf(of), effect);
        else this.#freedElsewhere(node, of);
      } else if (kind === "keep") this.#options.tell(node, MESSAGE.COPY_KEEP, [of, effect.isKept]);
      else this.#options.tell(node, MESSAGE.COPY_FREED, of);
    }
  }

  /** The node of an object's owner stands in for its dead home, and has decided about the copy here. */
  #kept(node: NodeTag, [of, isKept]: CopyKeepHeader): void {
    if (!isCopyKey(of)) return;
    const key = copyKeyOf(of);
    const owner = this.#cache.find(key)?.owner;
    if (owner !== undefined && nodeTagOf(owner) === node) this.#cache.decided(key, { isKept });
  }

  #adoptedSource(request: { key: string; node: NodeTag; pull: number; avoid: readonly string[] }): NodeTag | undefined {
    // Without a copy here it is asked because the home is dead, be it that this node has not heard of that.
    const isAsked = this.#orphans.hasAdopted(request.key) || this.#copyOf(request.key) === undefined;
    return isAsked ? this.#orphans.wanted(request) : undefined;
  }

  #evict(bytes: number): void {
    this.#free(this.#cache.evict(bytes));
  }

  /** `knownAt`: the node that had said so. */
  #free(copies: readonly Copy[], { knownAt }: { knownAt?: NodeTag } = {}): void {
    for (const copy of copies) {
      this.#copies.free(copy.location);
      this.#tellState(copy, "gone", knownAt);
    }
  }

  /** Reports a copy's state to the home, and to the owner's node for the case of the home's death. */
  #tellState({ of, owner, pull }: Pick<Copy, "of" | "owner" | "pull">, state: "whole" | "gone", knownAt?: NodeTag): void {
    const home = nodeTagOf(of[1][0]);
    if (home !== knownAt && !this.#dead.has(home)) this.#options.tell(home, MESSAGE.COPY_STATE, [of, pull, state]);
    if (owner === undefined) return;
    const adopter = nodeTagOf(owner);
    if (adopter === home || adopter === knownAt || this.#dead.has(adopter)) return;
    if (adopter === this.#nodeTag) this.#noteOrphanCopy({ of, owner, node: adopter, pull }, state);
    else this.#options.tell(adopter, MESSAGE.COPY_STATE, [of, pull, state, owner]);
  }
}

const FETCH_CODES: ReadonlyMap<string, WireErrorCode> = new Map([
  [ObjectLostError.code, "objectLost"],
  [ObjectStoreFullError.code, "objectStoreFull"],
  [OutOfDiskError.code, "outOfDisk"],
]);

/** Makes the error for a process of this node, which turns it into its own error. */
function fetchError(error: Error): WireError {
  return new WireError((error instanceof ShoalError ? FETCH_CODES.get(error.code) : undefined) ?? "failed", error.message);
}
