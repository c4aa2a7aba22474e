/**
 * Serves the bytes of this node's objects and copies to other nodes: the shell around the directory of copies.
 *
 * The directory chooses receivers for objects of this node, and `OrphanedObjects` for those of a dead node; other copies are served as far as they have arrived. Owns the
 * open file of each pull, and holds its pages until the pull ends, also by a broken connection. Each connection reads one chunk while it sends the previous one. A chunk
 * of an arriving copy waits for its bytes.
 */
import { SetMap } from "../../base/collections/set-map.ts";
import { nodeTagOf, type NodeTag } from "../../base/ids.ts";
import { CHUNK_BYTES } from "../../objects/limits.ts";
import { CHUNK_HEAD_BYTES } from "../../objects/transfer/chunk-parser.ts";
import { CopyDirectory } from "../../objects/transfer/copy-directory.ts";
import { openServed, type ServedObject, type StoreFolders } from "../../objects/transfer/served-object.ts";
import { TransferLink } from "../../objects/transfer/transfer-link.ts";
import { checksumOf } from "../../os/digest.ts";
import type { Transport } from "../../os/network/transport.ts";
import { handle, type Handlers, readHeader } from "../../wire/tables/message-table.ts";
import { MESSAGES_OF_RECEIVER, type MessagesOfReceiver } from "../../wire/tables/messages-of-nodes.ts";
import { MESSAGE, type WireLocation } from "../../wire/messages.ts";
import {
  type CopyKey,
  type CopyStateHeader,
  type TransferOpenHeader,
  type TransferReadHeader,
} from "../../wire/objects/transfer-messages.ts";
import { copyKeyOf, isCopyKey, locationOf } from "./copy-key.ts";
import { placeOf } from "../../objects/wire-location.ts";

/** A copy of another node's object: its place here, and its present bytes. */
export interface LocalCopy {
  location: WireLocation;
  availableBytes: number;
}

interface ObjectSourceOptions extends StoreFolders {
  nodeTag: NodeTag;
  /** Returns this node's copy of another node's object, as far as it has arrived. */
  copyOf: (key: string) => LocalCopy | undefined;
  /** Where another node is to have an object from that is owned here and whose home is dead: here, or elsewhere; undefined when that is not known here. */
  adoptedSource: (request: { key: string; node: NodeTag; pull: number; avoid: readonly string[] }) => NodeTag | undefined;
  /** Whether an object of this node is in the books of the store: not before its writer's notice has come, and no more once it is freed. */
  isStored: (location: WireLocation) => boolean;
  /** The pages of a place are not written again until they are let go of. */
  hold: (location: WireLocation) => void;
  letGo: (location: WireLocation) => void;
  /** Says something to another node on the ordered way between the two. */
  tell: (node: NodeTag, type: number, header: unknown) => void;
}

interface Serving {
  readonly key: string;
  readonly link: Peer;
  readonly pull: number;
  readonly object: ServedObject;
  readonly location: WireLocation;
  readonly checks: boolean;
  /** Bytes that may be sent by now. */
  availableBytes: number;
  isEnded: boolean;
}

interface Peer {
  readonly node: NodeTag;
  link: TransferLink;
  readonly pulls: Map<number, Serving>;
  /** The requested ranges, in order. */
  reads: { serving: Serving; offset: number; sizeBytes: number }[];
  isReading: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** Limit on a connection's open requests. A receiver asks a window ahead in each of some dozens of pulls; more means that it does not read. */
const READS_MAX = 100_000;

export class ObjectSource {
  readonly #options: ObjectSourceOptions;
  readonly #directory: CopyDirectory;
  readonly #peers = new Set<Peer>();
  readonly #serving = new SetMap<string, Serving>();
  /** Keys of this node's objects that the directory may know, by place. */
  readonly #keysAt = new SetMap<string, string>();

  constructor(options: ObjectSourceOptions) {
    this.#options = options;
    this.#directory = new CopyDirectory(options.nodeTag);
  }

  /** Pulls that are being served. */
  get servingCount(): number {
    let count = 0;
    for (const peer of this.#peers) count += peer.pulls.size;
    return count;
  }

  /** Nodes that have all of an object of this node. */
  copiesOf(key: string): NodeTag[] {
    return this.#directory.wholeHolders(key);
  }

  /** Objects of this node of which others have copies. */
  get copiedCount(): number {
    return this.#directory.size;
  }

  /** Accepts the connection of another node, whose identity is proven, for fetching objects. */
  accept(node: NodeTag, transport: Transport): void {
    const peer: Peer = {
      node,
      link: undefined as unknown as TransferLink,
      pulls: new Map(),
      reads: [],
      isReading: false,
      timer: undefined,
    };
    this.#peers.add(peer);
    peer.link = new TransferLink(transport, {
      onMessage: (frame) => void handle(this.#handlers, frame.type, readHeader(MESSAGES_OF_RECEIVER, frame), peer, frame.callId),
      // A source never receives bytes.
      onChunkBytes: () => peer.link.close("a chunk came that nobody asked for"),
      onChunkEnd: () => {},
      onDrain: () => void this.#pump(peer),
      onClose: () => this.#closed(peer),
    });
    peer.link.setKeepsProcessAlive(false);
  }

  /** Handles another node's report of its copy. */
  copyState(node: NodeTag, [key, pull, state]: CopyStateHeader): void {
    if (!isCopyKey(key)) return;
    const change = { key: copyKeyOf(key), node, pull };
    if (state === "whole" && this.#options.isStored(key[1])) {
      this.#directory.whole(change);
      return;
    }
    this.#directory.gone(change);
    if (state === "whole") this.#freedBefore(node, key);
  }

  /**
   * Releases the copy of an object that was freed before the node asked for it. Its file still existed, and no later message would release the copy. While it was served,
   * the object might have been so new that its writer's notice had not arrived. A release by mistake costs one fetch at most, because readers keep the copy.
   */
  #freedBefore(node: NodeTag, key: CopyKey): void {
    const name = copyKeyOf(key);
    if (this.#directory.holdersOf(name).length === 0) {
      this.#keysAt.delete(placeOf(key[1]), name);
    }
    this.#options.tell(node, MESSAGE.COPY_FREED, key);
  }

  /** An object of this node was freed, or its bytes are lost: its copies go. */
  freed(location: WireLocation): void {
    for (const key of this.#keysAt.take(placeOf(location))) {
      const holders = this.#directory.freed(key);
      const [id] = key.split("/", 1) as [string];
      for (const node of holders) this.#options.tell(node, MESSAGE.COPY_FREED, [id, location]);
    }
  }

  nodeGone(node: NodeTag): void {
    this.#directory.nodeGone(node);
    for (const peer of Array.from(this.#peers)) if (peer.node === node) peer.link.close("the node is dead");
  }

  /** Continues requests that waited for these bytes of a copy. */
  progressed(key: string, availableBytes: number): void {
    for (const serving of this.#serving.get(key)) {
      serving.availableBytes = availableBytes;
      void this.#pump(serving.link);
    }
  }

  /** Withdraws an arriving copy that was given up: its receivers ask another source. */
  withdrawn(key: string): void {
    for (const serving of Array.from(this.#serving.get(key))) {
      serving.link.link.send(MESSAGE.TRANSFER_END, serving.pull, ["gone"]);
      this.#end(serving);
    }
  }

  close(): void {
    for (const peer of Array.from(this.#peers)) peer.link.close("the node ends");
  }

  readonly #handlers: Handlers<MessagesOfReceiver, [peer: Peer, pull: number]> = {
    [MESSAGE.TRANSFER_OPEN]: (request, peer, pull) => this.#open(peer, pull, request),
    [MESSAGE.TRANSFER_READ]: (read, peer, pull) => this.#read(peer, pull, read),
    [MESSAGE.TRANSFER_END]: (_how, peer, pull) => {
      const serving = peer.pulls.get(pull);
      if (serving !== undefined) this.#end(serving);
    },
  };

  #open(peer: Peer, pull: number, { key, avoid, checks }: TransferOpenHeader): void {
    if (!isCopyKey(key)) {
      peer.link.close("a transfer began that names no object");
      return;
    }
    const name = copyKeyOf(key);
    const isHome = nodeTagOf(key[1][0]) === this.#options.nodeTag;
    const found = isHome ? this.#ownObject(peer, { pull, key, name, avoid }) : this.#copy(peer, { pull, name, avoid });
    if (found === undefined || "node" in found) {
      peer.link.send(MESSAGE.TRANSFER_END, pull, found === undefined ? ["gone"] : ["elsewhere", found.node]);
      return;
    }
    const before = peer.pulls.get(pull);
    if (before !== undefined) this.#end(before);
    const serving: Serving = { key: name, link: peer, pull, checks, isEnded: false, ...found };
    peer.pulls.set(pull, serving);
    this.#serving.add(name, serving);
    this.#options.hold(found.location);
  }

  #ownObject(
    peer: Peer,
    { pull, key, name, avoid }: { pull: number; key: CopyKey; name: string; avoid: string[] },
  ): Pick<Serving, "object" | "location" | "availableBytes"> | { node: NodeTag } | undefined {
    const location = key[1];
    const object = openServed(locationOf(location), this.#options);
    if (object === undefined) {
      const node = this.#directory.wholeAt(name, { for: peer.node, avoid });
      return node === undefined ? undefined : { node };
    }
    const node = this.#directory.wanted({ key: name, sizeBytes: location[2], node: peer.node, pull, avoid });
    this.#keysAt.add(placeOf(location), name);
    if (node === this.#options.nodeTag) return { object, location, availableBytes: location[2] };
    object.close();
    return { node };
  }

  #copy(
    peer: Peer,
    { pull, name, avoid }: { pull: number; name: string; avoid: string[] },
  ): Pick<Serving, "object" | "location" | "availableBytes"> | { node: NodeTag } | undefined {
    const node = this.#options.adoptedSource({ key: name, node: peer.node, pull, avoid });
    if (node !== undefined && node !== this.#options.nodeTag) return { node };
    const copy = this.#options.copyOf(name);
    const object = copy === undefined ? undefined : openServed(locationOf(copy.location), this.#options);
    return copy === undefined || object === undefined ? undefined : { object, ...copy };
  }

  #read(peer: Peer, pull: number, [offset, sizeBytes]: TransferReadHeader): void {
    const serving = peer.pulls.get(pull);
    // The pull was sent elsewhere or has ended while its reads were under way.
    if (serving === undefined) return;
    const isValid =
      Number.isSafeInteger(offset) && offset >= 0 && Number.isSafeInteger(sizeBytes) && sizeBytes > 0 && sizeBytes <= CHUNK_BYTES;
    if (!isValid || offset + sizeBytes > serving.object.sizeBytes || peer.reads.length >= READS_MAX) {
      peer.link.close("a read that is no part of its object");
      return;
    }
    peer.reads.push({ serving, offset, sizeBytes });
    void this.#pump(peer);
  }

  /** Sends requested bytes that have arrived, while the connection takes them. */
  async #pump(peer: Peer): Promise<void> {
    if (peer.isReading) return;
    peer.isReading = true;
    try {
      for (let next = this.#nextRead(peer); next !== undefined; next = this.#nextRead(peer)) {
        const memory = peer.link.takeMemory();
        if (memory === undefined) {
          peer.reads.unshift(next);
          // A socket reports only when all bytes have left, and for few bytes not even that. Chunks that are freed earlier keep it busy.
          peer.timer ??= setTimeout(() => {
            peer.timer = undefined;
            void this.#pump(peer);
          }, 1).unref();
          return;
        }
        const { serving, offset, sizeBytes } = next;
        const bytes = memory.bytes.subarray(CHUNK_HEAD_BYTES, CHUNK_HEAD_BYTES + sizeBytes);
        const isThere = await serving.object.read(offset, bytes).catch(() => false);
        if (!isThere || serving.isEnded) {
          peer.link.returnMemory(memory);
          if (serving.isEnded) continue;
          // The file was cut short.
          peer.link.send(MESSAGE.TRANSFER_END, serving.pull, ["gone"]);
          this.#end(serving);
          continue;
        }
        const checksum = serving.checks ? checksumOf(bytes) : 0;
        peer.link.sendChunk(memory, { pull: serving.pull, offset, sizeBytes, checksum });
      }
    } finally {
      peer.isReading = false;
    }
  }

  /** The first whose bytes are here; the others wait for theirs. */
  #nextRead(peer: Peer): Peer["reads"][0] | undefined {
    const { reads } = peer;
    for (let index = 0; index < reads.length; index += 1) {
      const read = reads[index] as Peer["reads"][0];
      if (!read.serving.isEnded && read.offset + read.sizeBytes > read.serving.availableBytes) continue;
      reads.splice(index, 1);
      if (!read.serving.isEnded) return read;
      index -= 1;
    }
    return undefined;
  }

  #end(serving: Serving): void {
    if (serving.isEnded) return;
    serving.isEnded = true;
    serving.object.close();
    serving.link.pulls.delete(serving.pull);
    this.#serving.delete(serving.key, serving);
    this.#options.letGo(serving.location);
  }

  #closed(peer: Peer): void {
    this.#peers.delete(peer);
    clearTimeout(peer.timer);
    for (const serving of Array.from(peer.pulls.values())) this.#end(serving);
    peer.reads = [];
  }
}
