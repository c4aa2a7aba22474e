/**
 * The bytes of objects, for the rest of a node daemon: the node's own store, and the copies that it fetches from other nodes and serves to them.
 *
 * Connects `store-service.ts` and `object-transfer.ts`, and routes each question about a place to that place's node. `references/ref-service.ts` above it decides which
 * processes hold objects.
 */
import { type NodeTag, nodeTagOf, type ObjectId, type ProcessId } from "../../base/ids.ts";
import type { Transport } from "../../os/network/transport.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import type { Message } from "../../rpc/peer-connection.ts";
import type { Handlers } from "../../wire/tables/message-table.ts";
import type { MessagesOfProcess } from "../../wire/tables/messages-to-daemon.ts";
import { MESSAGE, type WireLocation } from "../../wire/messages.ts";
import type { NodeDaemonOptions } from "../daemon-options.ts";
import type { RemoteNodes } from "../membership/remote-nodes.ts";
import type { NodePeers } from "../node-peers.ts";
import { answerLocate, type LocatingNode } from "./object-locations.ts";
import { ObjectTransfer } from "./object-transfer.ts";
import { StoreService } from "./store-service.ts";

export class NodeObjects {
  readonly store: StoreService;
  readonly #daemonId: ProcessId;
  readonly #remote: RemoteNodes;
  readonly #transfer: ObjectTransfer;
  readonly #locating: LocatingNode;

  /** `keeps`: whether the daemon is responsible for the value of an object. */
  constructor(options: NodeDaemonOptions, { peers, keeps }: { peers: NodePeers; keeps: (id: ObjectId) => boolean }) {
    const { processId, cluster, nowMs } = options;
    const { remote, local, send, warn } = peers;
    this.#daemonId = processId;
    this.#remote = remote;
    const store = new StoreService({
      quotaBytes: options.objectStoreMemoryBytes,
      disk: options.spillDisk,
      unlink: options.unlinkArena,
      send,
      warn,
      nowMs,
    });
    const transfer = new ObjectTransfer({
      processId,
      store,
      ...cluster.folders,
      connect: cluster.openTransfer,
      tell: (node, type, header) => remote.tell(node, type, header),
      // TLS checks every byte by itself, and what is not TLS does not leave the machine.
      checks: false,
      nowMs,
      isOwned: ({ of: [id], owner }) => local.has(owner) || keeps(id),
    });
    this.store = store;
    this.#transfer = transfer;
    this.#locating = {
      nodeTag: nodeTagOf(processId),
      isOnDisk: (location) => store.isOnDisk(location),
      copiesOf: (of) => transfer.copiesOf(of),
      isDead: (node) => remote.isDead(node),
      ask: async (node, objects) => (await remote.daemonOf(node).request(MESSAGE.OBJECT_LOCATE, objects)).header,
    };
  }

  /** Handlers of processes' messages about stored objects and other nodes' objects. */
  get handlers(): StoreService["handlers"] &
    ObjectTransfer["handlers"] &
    Handlers<Pick<MessagesOfProcess, typeof MESSAGE.OBJECT_LOCATE>, [peer: HeadPeer, message: Message]> {
    return {
      ...this.store.handlers,
      ...this.#transfer.handlers,
      [MESSAGE.OBJECT_LOCATE]: (objects, peer, { callId }) => answerLocate(this.#locating, objects, { peer, callId }),
    };
  }

  /** Handlers of other daemons' messages about copies. */
  get copyHandlers(): ObjectTransfer["copyHandlers"] {
    return this.#transfer.copyHandlers;
  }

  /** Accepts another node's connection for fetching objects. */
  acceptTransfer(node: NodeTag, transport: Transport): void {
    if (this.#remote.isDead(node)) transport.destroy();
    else this.#transfer.accept(node, transport);
  }

  /** The bytes are this daemon's to free, from now on. */
  adopt(location: WireLocation): void {
    if (this.#remote.isHere(location[0])) this.store.adopt(location, this.#daemonId);
    else this.#tellHome(location, MESSAGE.STORE_ADOPT, [location, this.#daemonId]);
  }

  free(location: WireLocation, { reused }: { reused: boolean }): void {
    if (this.#remote.isHere(location[0])) {
      this.store.free(location, { reused });
      return;
    }
    this.#transfer.freedElsewhere(location);
    this.#tellHome(location, MESSAGE.STORE_FREED, [[location, reused]]);
  }

  arenaLost(location: WireLocation): void {
    if (this.#remote.isHere(location[0])) this.store.arenaLost(location);
    else this.#tellHome(location, MESSAGE.ARENA_LOST, location);
  }

  /** Handles an object that a process of this node has freed; other nodes' copies of it go, too. */
  freedByProcess(location: WireLocation): void {
    if (!this.#remote.isHere(location[0])) this.#transfer.freedElsewhere(location);
  }

  processGone(process: ProcessId): void {
    this.store.processGone(process);
    this.#transfer.processGone(process);
  }

  nodeGone(node: NodeTag): void {
    this.store.nodeGone(node);
    this.#transfer.nodeGone(node);
  }

  close(): void {
    this.#transfer.close();
    this.store.close();
  }

  #tellHome(location: WireLocation, type: number, header: unknown): void {
    this.#remote.tell(nodeTagOf(location[0]), type, header);
  }
}
