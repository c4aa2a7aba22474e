/**
 * Connects this daemon with the other nodes: their processes are peers here, and each message goes to the node that
 * it concerns.
 *
 * A process of another node is a peer like any other. A message to it travels to its daemon inside a ROUTED frame,
 * and from there to the process. Its own messages arrive here in the same way, and are handled as if it were
 * connected.
 *
 * A process may report on things that another node keeps: a ref counts where its owner is, a stored object where its bytes are, a lease
 * where its worker is. This file passes such reports on in their order. Each link is ordered, so the rule of holds (`ref-ledger.ts`) also
 * stands between nodes. A session without other nodes (`init` without an address) asks this file for nothing.
 */
import { timeoutAfterIo } from "../../base/time/timeout-after-io.ts";
import { type NodeTag, nodeTagOf, type ObjectId, type ProcessId } from "../../base/ids.ts";
import { ConnectionClosedError } from "../../rpc/connection.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import {
  type Message,
  openRequest,
  type OpenRequest,
  type PeerConnection,
  type Reply,
  type SendOptions,
} from "../../rpc/peer-connection.ts";
import { REQUEST_TIMEOUT_MS } from "../../rpc/limits.ts";
import { FRAME_FLAG } from "../../wire/frame.ts";
import type { RoutedHeader } from "../../wire/cluster/cluster-messages.ts";
import { extractFrom, type HeaderExtractors } from "../../wire/tables/message-table.ts";
import { MESSAGE } from "../../wire/messages.ts";
import type { ReplyTo } from "../../wire/tables/replies.ts";
import type { NodeCluster } from "../daemon-options.ts";
import { WireError, wireErrorHeader } from "../../wire/wire-error.ts";
import type { MessagesOfProcess } from "../../wire/tables/messages-to-daemon.ts";

interface RemoteNodesOptions {
  readonly cluster: Pick<NodeCluster, "linkTo" | "linked">;
  /** Processes of this node. */
  readonly local: ReadonlyMap<ProcessId, HeadPeer>;
}

interface PendingRequest extends OpenRequest {
  readonly tag: NodeTag;
  readonly takeBack: (() => void) | undefined;
}

/** Name of the head as a sender of messages. */
const HEAD = "head";

const ALL = Symbol("all nodes");
/** The nodes that a message concerns: an id names one, each row names its own, or all of them. */
type Route = string | readonly string[] | typeof ALL;

/** Messages by the nodes that they concern. Other messages concern this node or the head. */
const ROUTES: HeaderExtractors<MessagesOfProcess, Route | undefined> = {
  // A ref counts where its owner is.
  [MESSAGE.REF_HOLD]: (rows) => rows.map(([, owner]) => owner),
  [MESSAGE.REF_RELEASE]: (rows) => rows.map(([, , owner]) => owner),
  [MESSAGE.REF_WATCH]: ([, owner]) => owner,
  [MESSAGE.REF_LOST]: ([, owner]) => owner,
  [MESSAGE.CANCEL_REF]: ({ owner }) => owner,
  [MESSAGE.WHY_REF]: ({ owner }) => owner,
  [MESSAGE.NODE_EXTENSION]: ({ node }) => node,
  [MESSAGE.NODE_STATE]: ({ node }) => node,
  [MESSAGE.LOG_LIST]: ({ node }) => node,
  [MESSAGE.NODE_METRICS]: ({ node }) => node,
  [MESSAGE.NODE_SERIES]: ({ node }) => node,
  [MESSAGE.LOG_READ]: ({ node }) => node,
  [MESSAGE.INSPECT]: ({ node }) => node,
  [MESSAGE.INSPECT_READ]: ({ node }) => node,
  [MESSAGE.HELD_READ]: ([sender, , , asker]) => asker ?? sender,
  // The holds of messages are counted where the owners of the refs are.
  [MESSAGE.HELD_ENDED]: () => ALL,
  // A stored object is kept where its bytes are, and a lease where its worker is.
  [MESSAGE.STORE_FREED]: (rows) => rows.map(([location]) => location[0]),
  [MESSAGE.STORE_CLAIM]: (rows) => rows.map(([location]) => location[0]),
  [MESSAGE.ARENA_LOST]: ([arena]) => arena,
  [MESSAGE.CANCEL_RUNNING]: ({ worker }) => worker,
  [MESSAGE.LEASE_RETURN]: ([worker]) => worker,
  [MESSAGE.LEASE_ONCE]: ([worker]) => worker,
};

/** The ref whose value somebody waits for. */
const WATCHED_REF: HeaderExtractors<MessagesOfProcess, ObjectId> = {
  [MESSAGE.REF_WATCH]: ([id]) => id,
  [MESSAGE.REF_LOST]: ([id]) => id,
};

export class RemoteNodes {
  readonly #daemonId: ProcessId;
  readonly #options: RemoteNodesOptions;
  readonly #tag: NodeTag;
  readonly #dead = new Set<NodeTag>();
  readonly #requests = new Map<number, PendingRequest>();
  #nextRequestId = 1;

  constructor(daemonId: ProcessId, options: RemoteNodesOptions) {
    this.#daemonId = daemonId;
    this.#options = options;
    this.#tag = nodeTagOf(daemonId);
  }

  isHere(id: ProcessId | string): boolean {
    return nodeTagOf(id) === this.#tag;
  }

  /** Returns a process of another node. Whether it lives is not known here. */
  peer(id: ProcessId): HeadPeer {
    return { id, holderId: id, connection: this.#connectionTo(id) };
  }

  /** Returns another node's daemon, given its node alone. */
  daemonOf(tag: NodeTag): PeerConnection {
    return { ...this.#connectionTo(tag as string as ProcessId), send: (type, header) => this.tell(tag, type, header) };
  }

  /** Registers a question that travels another way, such as to the head. Its answer comes here. */
  asked<N extends number>(type: N, send: (callId: number) => void): Promise<Reply<ReplyTo<N>>> {
    return this.#await(type, { tag: this.#tag }, (callId) => {
      send(callId);
      return true;
    });
  }

  /** Sends a message of this daemon to another daemon. */
  tell(tag: NodeTag, type: number, header: unknown): void {
    this.#send(tag, [this.#daemonId, "", type, 0, 0, header]);
  }

  /** Sends a message to all nodes with which this one has spoken. */
  tellAll(type: number, header: unknown): void {
    for (const tag of this.#options.cluster.linked()) this.tell(tag, type, header);
  }

  isDead(tag: NodeTag): boolean {
    return this.#dead.has(tag);
  }

  /** Notes that a node is dead: nothing that was asked there is answered. */
  nodeGone(tag: NodeTag, reason: string): void {
    this.#dead.add(tag);
    for (const [id, pending] of this.#requests) {
      if (pending.tag !== tag) continue;
      this.#requests.delete(id);
      pending.takeBack?.();
      pending.reject(new ConnectionClosedError(reason));
    }
  }

  /**
   * Passes on the part of a message that concerns other nodes.
   *
   * @returns the rest of the header for this node; undefined when nothing is left
   */
  split(from: ProcessId, message: Message, header: unknown): { here: unknown } | undefined {
    const route = extractFrom(ROUTES, message.type, header);
    if (route === undefined) return { here: header };
    if (typeof route === "string") return this.#splitOne(from, message, header, route);
    if (route !== ALL) return Array.isArray(header) ? this.#splitRows(from, message, header, route) : undefined;
    for (const tag of this.#options.cluster.linked()) this.#send(tag, [from, "", message.type, 0, 0, header]);
    return { here: header };
  }

  #splitOne(from: ProcessId, message: Message, header: unknown, id: string): { here: unknown } | undefined {
    const tag = nodeTagOf(id);
    if (tag === this.#tag) return { here: header };
    const { type, callId, flags, body } = message;
    if (!this.#send(tag, [from, "", type, callId, flags, header], body)) this.#refuse(from, message, header);
    return undefined;
  }

  /** Splits rows by node. @param ids the id whose node a row is for */
  #splitRows(from: ProcessId, message: Message, rows: readonly unknown[], ids: readonly string[]): { here: unknown } {
    if (ids.every((id) => this.isHere(id))) return { here: rows };
    const { type, flags } = message;
    const parts = Map.groupBy(rows, (_, index) => nodeTagOf(ids[index] as string));
    for (const [tag, part] of parts) if (tag !== this.#tag) this.#send(tag, [from, "", type, 0, flags, part]);
    return { here: parts.get(this.#tag) ?? [] };
  }

  /** Notes that a node is gone. Waiting callers get the answer that a vanished process gives. */
  #refuse(from: ProcessId, { type, callId }: Message, header: unknown): void {
    const connection = this.#options.local.get(from)?.connection;
    const ref = extractFrom(WATCHED_REF, type, header);
    if (ref !== undefined) connection?.send(MESSAGE.REF_VALUE, [ref, undefined, "node"]);
    else if (callId !== 0) connection?.replyError(callId, new WireError("failed", "its node is gone"));
  }

  #connectionTo(id: ProcessId): PeerConnection {
    const tag = nodeTagOf(id);
    const daemonId = this.#daemonId;
    const send = (type: number, header: unknown, { callId = 0, flags = 0, parts }: SendOptions = {}): void => {
      this.#send(tag, [daemonId, id, type, callId, flags, header], ...(parts ?? []));
    };
    return {
      send,
      request: (type, header, { parts = [], timeoutMs } = {}) =>
        // The daemon knows whom to ask: a process answers its own daemon alone.
        this.#await(type, { tag, timeoutMs }, (callId) => this.#send(tag, [daemonId, "", type, callId, 0, header], ...parts)),
      reply: (callId, header, parts = []) => send(MESSAGE.REPLY, header, { callId, parts }),
      replyError: (callId, error) => send(MESSAGE.REPLY, wireErrorHeader(error), { callId, flags: FRAME_FLAG.ERROR }),
    };
  }

  /** Registers a question. A REPLY answers it, under the number that `send` receives. */
  #await<N extends number>(
    type: N,
    { tag, timeoutMs: withinMs = REQUEST_TIMEOUT_MS }: { tag: NodeTag; timeoutMs?: number | undefined },
    send: (callId: number) => boolean,
  ): Promise<Reply<ReplyTo<N>>> {
    const requestId = this.#nextRequestId;
    this.#nextRequestId = (requestId % 0xffffffff) + 1;
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        this.#requests.delete(requestId);
        reject(new ConnectionClosedError(`the other node did not answer within ${withinMs} ms`));
      };
      const takeBack = withinMs === 0 ? undefined : timeoutAfterIo(withinMs, expire);
      this.#requests.set(requestId, { ...openRequest(type, resolve, reject), tag, takeBack });
      if (send(requestId)) return;
      this.#requests.delete(requestId);
      takeBack?.();
      reject(new ConnectionClosedError("its node is gone"));
    });
  }

  /** Handles a REPLY from another node, or from the head. */
  answered(from: ProcessId, message: Message, header: unknown): void {
    const { callId } = message;
    const pending = this.#requests.get(callId);
    // Questions to the head are pending under this node. A process that was not asked has nothing to answer.
    if (pending === undefined || nodeTagOf(from) !== (pending.tag === this.#tag ? HEAD : pending.tag)) return;
    this.#requests.delete(callId);
    pending.takeBack?.();
    pending.answer(message, header);
  }

  #send(tag: NodeTag, header: RoutedHeader, ...parts: readonly Uint8Array[]): boolean {
    const link = this.#options.cluster.linkTo(tag);
    link?.send(MESSAGE.ROUTED, header, { parts });
    return link !== undefined;
  }
}
