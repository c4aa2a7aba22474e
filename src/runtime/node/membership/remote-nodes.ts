/**
 * The other nodes as this daemon sees them: their processes as peers, and which message is whose business.
 *
 * A process of another node is a peer like any other. What is sent to it goes to its daemon inside a ROUTED frame and from there to it; what it says arrives here the
 * same way and is handled as if it were connected. What a process of this node says of things that another node keeps (a ref counts where its owner is, a
 * stored object where its bytes are, a lease where its worker is) is passed on, in the order in which it was said. Each link is ordered, so the rule of holds
 * (`ref-ledger.ts`) stands between nodes, too. Without other nodes (`init` without an address) nothing of this is asked.
 */
import { timeoutAfterIo } from "../../base/timeout-after-io.ts";
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
import type { RoutedHeader } from "../../wire/cluster-messages.ts";
import { extractFrom, type HeaderExtractors } from "../../wire/message-table.ts";
import { MESSAGE } from "../../wire/messages.ts";
import type { ReplyTo } from "../../wire/replies.ts";
import type { NodeCluster } from "../daemon-options.ts";
import { WireError, wireErrorHeader } from "../../wire/wire-error.ts";
import type { MessagesOfProcess } from "../../wire/messages-to-daemon.ts";

interface RemoteNodesOptions {
  readonly cluster: Pick<NodeCluster, "linkTo" | "linked">;
  /** The processes of this node. */
  readonly local: ReadonlyMap<ProcessId, HeadPeer>;
}

interface PendingRequest extends OpenRequest {
  readonly tag: NodeTag;
  readonly takeBack: (() => void) | undefined;
}

/** How the head signs what it says. */
const HEAD = "head";

const ALL = Symbol("all nodes");
/** Whose business a message is: that of the node of an id in it, of one for each of its rows, or all nodes'. */
type Route = string | readonly string[] | typeof ALL;

/** Messages that are not here are this node's, or the head's. */
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
  [MESSAGE.HELD_READ]: ([sender, , , asker]) => asker ?? sender,
  // The holds of messages are counted where the owners of the refs are.
  [MESSAGE.HELD_ENDED]: () => ALL,
  // A stored object is kept where its bytes are, a lease where its worker is.
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

  /** A process of another node; that it lives is not known here. */
  peer(id: ProcessId): HeadPeer {
    return { id, holderId: id, connection: this.#connectionTo(id) };
  }

  /** Another node's daemon, by its node alone. */
  daemonOf(tag: NodeTag): PeerConnection {
    return { ...this.#connectionTo(tag as string as ProcessId), send: (type, header) => this.tell(tag, type, header) };
  }

  /** A question that goes another way, such as to the head; its answer comes here. */
  asked<N extends number>(type: N, send: (callId: number) => void): Promise<Reply<ReplyTo<N>>> {
    return this.#await(type, { tag: this.#tag }, (callId) => {
      send(callId);
      return true;
    });
  }

  /** A message of this daemon to the one of another node. */
  tell(tag: NodeTag, type: number, header: unknown): void {
    this.#send(tag, [this.#daemonId, "", type, 0, 0, header]);
  }

  /** The same to all nodes with which this one has spoken. */
  tellAll(type: number, header: unknown): void {
    for (const tag of this.#options.cluster.linked()) this.tell(tag, type, header);
  }

  isDead(tag: NodeTag): boolean {
    return this.#dead.has(tag);
  }

  /** It is dead: nothing that was asked there is answered. */
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
   * Passes on what is another node's business.
   *
   * @returns what of it is this node's: the message's header, a part of it, or nothing
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

  /** @param ids of each row, the one whose node it is for */
  #splitRows(from: ProcessId, message: Message, rows: readonly unknown[], ids: readonly string[]): { here: unknown } {
    if (ids.every((id) => this.isHere(id))) return { here: rows };
    const { type, flags } = message;
    const parts = Map.groupBy(rows, (_, index) => nodeTagOf(ids[index] as string));
    for (const [tag, part] of parts) if (tag !== this.#tag) this.#send(tag, [from, "", type, 0, flags, part]);
    return { here: parts.get(this.#tag) ?? [] };
  }

  /** The node is gone: who waits for an answer gets the one that a process gives which is gone. */
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
        // To the daemon, which knows whom to ask: a process answers its own daemon alone.
        this.#await(type, { tag, timeoutMs }, (callId) => this.#send(tag, [daemonId, "", type, callId, 0, header], ...parts)),
      reply: (callId, header, parts = []) => send(MESSAGE.REPLY, header, { callId, parts }),
      replyError: (callId, error) => send(MESSAGE.REPLY, wireErrorHeader(error), { callId, flags: FRAME_FLAG.ERROR }),
    };
  }

  /** What is sent under the number that `send` is given is answered with a REPLY. */
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

  /** A REPLY came from another node, or from the head. */
  answered(from: ProcessId, message: Message, header: unknown): void {
    const { callId } = message;
    const pending = this.#requests.get(callId);
    // What went to the head is pending under this node. Whoever was not asked has nothing to answer.
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
