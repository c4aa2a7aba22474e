/**
 * References in the node daemon: the shell around the ledger of holds (`ref-ledger.ts`) and the values of refs that the node owns (`ref-values.ts`).
 *
 * Turns processes' reports of holds into frees. Routes requests for a value, and the values, to and from the ref's owner, and answers for refs that the daemon owns.
 * `runtime/node/daemon.ts` passes messages and the ends of processes. The receiver of a value holds the refs inside it from the moment of sending.
 */
import { copyBytes } from "../../base/collections/bytes.ts";
import { type ActorId, type NodeId, type NodeTag, nodeTagOf, type ObjectId, type ProcessId } from "../../base/ids.ts";
import type { HeadPeer, HeadService } from "../../rpc/head-service.ts";
import type { DefinitionHeader } from "../../wire/calls/definition-messages.ts";
import { MESSAGE, type WireLocation } from "../../wire/messages.ts";
import { KNOWN_VALUE_BYTES_MAX } from "../../objects/limits.ts";
import { AskedOwners } from "./asked-owners.ts";
import { DefinitionHolds } from "./definition-holds.ts";
import { KnownValues } from "./known-values.ts";
import { RefLedger, type FreedRef, type RefCount } from "./ref-ledger.ts";
import type { RefValue, RefValues } from "./ref-values.ts";
import { type MessageLink, UnacknowledgedBorrows } from "./unacknowledged-borrows.ts";
import type { Handlers } from "../../wire/tables/message-table.ts";
import type { MessagesOfProcess } from "../../wire/tables/messages-to-daemon.ts";
import type { Message } from "../../rpc/peer-connection.ts";

interface RefServiceOptions {
  /** The daemon: the owner of record of refs made in workers. */
  processId: ProcessId;
  nodeId: NodeId;
  values: RefValues;
  peers: RefPeers;
  objects: RefObjects;
  head: () => Pick<HeadService, "unheld" | "definitionUnheld">;
}

/** Processes, of whichever node. */
interface RefPeers {
  peer(id: ProcessId): HeadPeer | undefined;
  send(to: ProcessId, type: number, header: unknown): void;
  readonly remote: { isHere(id: ProcessId): boolean; tell(node: NodeTag, type: number, header: unknown): void };
}

/** The bytes of values, on whichever node. */
interface RefObjects {
  /** Takes over the duty to free an object. */
  adopt(location: WireLocation): void;
  /** Frees an object that no process needs. `reused`: its writer has the pages back already. */
  free(location: WireLocation, options: { reused: boolean }): void;
  /** Reports lost bytes. */
  arenaLost(location: WireLocation): void;
}

type ReferenceMessage =
  | typeof MESSAGE.REF_HOLD
  | typeof MESSAGE.HELD_READ
  | typeof MESSAGE.HELD_ENDED
  | typeof MESSAGE.REF_RELEASE
  | typeof MESSAGE.REF_ADOPT
  | typeof MESSAGE.REF_WATCH
  | typeof MESSAGE.REF_LOST
  | typeof MESSAGE.REF_KNOWN
  | typeof MESSAGE.REF_VALUE;

export class RefService {
  readonly #options: RefServiceOptions;
  readonly #ledger = new RefLedger();
  readonly #values: RefValues;
  readonly #unacknowledged = new UnacknowledgedBorrows();
  readonly #asked = new AskedOwners();
  readonly #known = new KnownValues();
  readonly #definitions: DefinitionHolds;

  constructor(options: RefServiceOptions) {
    this.#options = options;
    this.#values = options.values;
    const { processId, nodeId, head } = options;
    const forget = (reference: ObjectId): void => head().definitionUnheld(reference, nodeId);
    this.#definitions = new DefinitionHolds({ processId, count: (change) => this.count(change), forget });
  }

  /** Handlers of messages about references, from this node's processes and from others. */
  get handlers(): Handlers<Pick<MessagesOfProcess, ReferenceMessage>, [peer: HeadPeer, message: Message]> {
    return {
      [MESSAGE.REF_HOLD]: (rows, peer) => {
        for (const [id, owner, holder, link, number] of rows) {
          this.#add({ id, owner, holder, count: 1 });
          if (link !== undefined && number !== undefined && !this.#ledger.isGone(holder))
            this.#unacknowledged.held({ sender: peer.id, receiver: holder, link }, { number, id, owner });
        }
      },
      [MESSAGE.HELD_READ]: ([sender, link, read, asker], peer) => {
        const at = { sender, receiver: peer.id, link };
        if (asker === undefined) this.#unacknowledged.read(at, read);
        else this.#giveBack(at, read);
      },
      [MESSAGE.HELD_ENDED]: ([receiver, link], peer) => {
        if (receiver === undefined || link === undefined) this.#allSaid(this.#unacknowledged.linksOf(peer.id));
        else this.#allSaid([{ sender: peer.id, receiver, link }]);
      },
      [MESSAGE.REF_RELEASE]: (rows, peer) => {
        for (const [id, count] of rows) this.#add({ id, owner: undefined, holder: peer.id, count: -count });
      },
      [MESSAGE.REF_ADOPT]: (ids, peer) => {
        for (const id of ids) this.#values.adopt(id, peer.id);
      },
      [MESSAGE.REF_WATCH]: (asked, peer) => this.#watch(peer, asked),
      [MESSAGE.REF_LOST]: (lost, peer) => this.#lost(peer, lost),
      [MESSAGE.REF_KNOWN]: (rows, peer, { body }) => this.#told(peer, rows, body),
      [MESSAGE.REF_VALUE]: (value, peer, { body }) => this.#provided(peer, value, body),
    };
  }

  /** The definition itself is the head's; its counted reference is this node's. */
  defined(header: DefinitionHeader): void {
    this.#definitions.defined(header);
  }

  /** The process whose call makes the object, be the daemon its owner of record or not. */
  makerOf({ id, owner }: { id: ObjectId; owner: ProcessId }): ProcessId | undefined {
    return owner === this.#options.processId ? this.#values.makerOf(id) : owner;
  }

  /** Processes, of whichever node, for whom refs are counted here. */
  holders(): Set<ProcessId> {
    return this.#ledger.holders();
  }

  /** Values that it was to make do not come, and what only it held is freed. */
  processGone(process: ProcessId): void {
    for (const { id, watchers } of this.#values.makerGone(process)) {
      for (const watcher of watchers) this.#options.peers.send(watcher, MESSAGE.REF_VALUE, [id, undefined]);
    }
    for (const { id, reader } of this.#asked.ownerGone(process)) this.#options.peers.send(reader, MESSAGE.REF_VALUE, [id, undefined]);
    const { freed, orphaned } = this.#ledger.processGone(process);
    for (const id of orphaned) this.#known.forget(id);
    this.#freeAll(freed);
    this.#unacknowledged.receiversGone((receiver) => receiver === process);
    // Messages of another node's process may still be on the way: its daemon reports when all have arrived.
    if (nodeTagOf(process) === nodeTagOf(this.#options.processId)) this.#allSaid(this.#unacknowledged.linksOf(process));
  }

  /** No more holds come for these links; only the receiver knows what it has read. */
  #allSaid(links: readonly MessageLink[]): void {
    for (const at of links) {
      const { sender, receiver, link } = at;
      if (!this.#unacknowledged.has(at)) continue;
      if (this.#options.peers.peer(receiver) === undefined) this.#giveBack(at, 0);
      else this.#options.peers.send(receiver, MESSAGE.HELD_ENDED, [sender, link, this.#options.processId]);
    }
  }

  /** Holds of messages that their receiver will never read. */
  #giveBack(at: MessageLink, read: number): void {
    for (const { id } of this.#unacknowledged.ended(at, read)) this.#add({ id, owner: undefined, holder: at.receiver, count: -1 });
  }

  /** The same for all processes of a node. */
  nodeGone(tag: NodeTag): void {
    this.#values.watchersGone(tag);
    this.#freeAll(this.#ledger.nodeGone(tag));
    this.#unacknowledged.receiversGone((receiver) => nodeTagOf(receiver) === tag);
    this.#allSaid(this.#unacknowledged.linksOfNode(tag));
  }

  #freeAll(refs: readonly FreedRef[]): void {
    for (const ref of refs) this.#freed(ref);
  }

  /** Counts a change in a process's holds, on the node of the ref's owner. */
  count({ id, owner, holder, count }: RefCount): void {
    const { remote } = this.#options.peers;
    if (remote.isHere(owner)) this.#add({ id, owner, holder, count });
    else if (count > 0) remote.tell(nodeTagOf(owner), MESSAGE.REF_HOLD, [[id, owner, holder]]);
    else remote.tell(nodeTagOf(owner), MESSAGE.REF_RELEASE, [[id, -count, owner]]);
  }

  #add(change: { id: ObjectId; owner: ProcessId | undefined; holder: ProcessId; count: number }): void {
    const freed = this.#ledger.add(change);
    if (freed !== undefined) this.#freed(freed);
  }

  #freed(ref: FreedRef): void {
    this.#known.forget(ref.id);
    if (ref.owner !== this.#options.processId) {
      this.#options.peers.send(ref.owner, MESSAGE.REF_FREE, [ref.id]);
      return;
    }
    if (ref.id.endsWith("ffffffff")) {
      this.#options.head().unheld(ref.id.slice(0, -8) as ActorId);
      return;
    }
    if (this.#definitions.unheld(ref.id)) return;
    const freed = this.#values.free(ref.id);
    if (freed === undefined) return;
    // The maker keeps the object's lineage.
    if (freed.values.some(({ header: { stored, refs } }) => stored !== undefined || refs.length > 0))
      this.#options.peers.send(freed.maker, MESSAGE.REF_FREE, [ref.id]);
    for (const value of freed.values) {
      const { stored } = value.header;
      if (stored !== undefined) this.#options.objects.free(stored.location, { reused: false });
      this.#letGoOf(value);
    }
  }

  /** Drops a value and the holds of the refs inside it. */
  #letGoOf(value: RefValue): void {
    for (const [id, owner] of value.header.refs) this.count({ id, owner, holder: this.#options.processId, count: -1 });
  }

  /** Passes a question on to the process that owns the object and answers the reader; with a place where its bytes are not. */
  #askOwner(peer: HeadPeer, [id, owner, ...location]: [ObjectId, ProcessId, WireLocation?]): void {
    const isLost = location.length > 0;
    const target = this.#options.peers.peer(owner);
    if (target === undefined) {
      peer.connection.send(MESSAGE.REF_VALUE, isLost ? [id, undefined, "bytes"] : [id, undefined]);
      return;
    }
    this.#asked.asked(owner, { id, reader: peer.id });
    target.connection.send(isLost ? MESSAGE.REF_LOST : MESSAGE.REF_WATCH, [id, peer.id, ...location]);
  }

  #watch(peer: HeadPeer, asked: [ObjectId, ProcessId]): void {
    const [id, owner] = asked;
    if (owner !== this.#options.processId) {
      const known = this.#known.get(id);
      if (known === undefined || this.#options.peers.peer(owner) === undefined) this.#askOwner(peer, asked);
      else this.#deliver(id, peer.id, known);
      return;
    }
    const value = this.#values.watch(id, peer.id);
    if (value === "lost") peer.connection.send(MESSAGE.REF_VALUE, [id, undefined]);
    else if (value !== undefined) this.#deliver(id, peer.id, value);
  }

  /** The bytes of a value are gone: whoever made it makes it again, and who asks gets the new value. */
  #lost(peer: HeadPeer, lost: [ObjectId, ProcessId, WireLocation]): void {
    const [id, owner, location] = lost;
    if (owner !== this.#options.processId) {
      this.#known.forget(id);
      this.#askOwner(peer, lost);
      return;
    }
    const effect = this.#values.bytesLost(id, peer.id, location);
    if (effect.gone !== undefined) this.#gone(effect.gone);
    if (effect.kind === "deliver") this.#deliver(id, peer.id, effect.value);
    else if (effect.kind === "lost") peer.connection.send(MESSAGE.REF_VALUE, [id, undefined, "bytes"]);
    // Also where the maker has said so: it may have read by a ref that had come back, which knows nothing of how the object was made.
    else if (effect.kind === "remake")
      this.#options.peers.send(effect.maker, MESSAGE.REF_LOST, [id, this.#options.processId, effect.toldAt]);
  }

  #gone(value: RefValue): void {
    const { objects } = this.#options;
    const location = value.header.stored?.location;
    if (location !== undefined) {
      objects.arenaLost(location);
      objects.free(location, { reused: true });
    }
    this.#letGoOf(value);
  }

  #provided(peer: HeadPeer, [id, receiver, header]: MessagesOfProcess[typeof MESSAGE.REF_VALUE], body: Uint8Array): void {
    if (receiver !== this.#options.processId) {
      this.#asked.answered(peer.id, { id, reader: receiver });
      this.#options.peers.peer(receiver)?.connection.send(MESSAGE.REF_VALUE, [id, header], { parts: [body] });
      return;
    }
    if (header === undefined) {
      for (const watcher of this.#values.giveUp(id)) this.#options.peers.send(watcher, MESSAGE.REF_VALUE, [id, undefined, "bytes"]);
      return;
    }
    const value: RefValue = { header, body: copyBytes(body) };
    if (header.stored !== undefined) this.#options.objects.adopt(header.stored.location);
    const { watchers, isKept } = this.#values.provide(id, peer.id, value);
    if (!isKept) this.#letGoOf(value);
    for (const watcher of watchers) this.#deliver(id, watcher, value);
  }

  /** Takes values from their owner. Values without a holder are dropped, because they would stay for good; another owner's are not believed. */
  #told(peer: HeadPeer, rows: MessagesOfProcess[typeof MESSAGE.REF_KNOWN], body: Uint8Array): void {
    let at = 0;
    for (const [id, header] of rows) {
      const value = { header, body: copyBytes(body, at, at + header.inBand) };
      at += header.inBand;
      const isPlain = header.refs.length === 0 && header.buffers.length === 0 && header.inBand <= KNOWN_VALUE_BYTES_MAX;
      if (isPlain && this.#ledger.ownerOf(id) === peer.id) this.#known.told(id, value);
    }
  }

  /** Sends a value to its reader, which from now on holds the refs inside it. */
  #deliver(id: ObjectId, receiver: ProcessId, value: RefValue): void {
    for (const [inner, owner] of value.header.refs) this.count({ id: inner, owner, holder: receiver, count: 1 });
    this.#options.peers.peer(receiver)?.connection.send(MESSAGE.REF_VALUE, [id, value.header], { parts: [value.body] });
  }
}
