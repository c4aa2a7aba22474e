/**
 * The other nodes as this daemon sees them: their processes as peers, and which message is whose business.
 *
 * A process of another node is a peer like any other. What is sent to it goes to its daemon inside a ROUTED frame and from there to it; what it says arrives here the
 * same way and is handled as if it were connected. What a process of this node says of things that another node keeps (a ref counts where its owner is, a
 * stored object where its bytes are, a lease where its worker is) is passed on, in the order in which it was said. Each link is ordered, so the rule of holds
 * (`ref-ledger.ts`) stands between nodes, too. Without other nodes (`init` without an address) nothing of this is asked.
 */
import { afterReading } from "../../base/after-reading.ts";
import { type NodeTag, nodeTagOf, type ObjectId, type ProcessId } from "../../base/ids.ts";
import { ConnectionClosedError } from "../../rpc/connection.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import { REQUEST_TIMEOUT_MS } from "../../rpc/limits.ts";
import type { Message, PeerConnection, Reply, SendOptions } from "../../rpc/peer-connection.ts";
import { FRAME_FLAG } from "../../wire/frame.ts";
import type { RoutedHeader } from "../../wire/cluster-messages.ts";
import { MESSAGE } from "../../wire/messages.ts";
import { readWireError, WireError, wireErrorHeader } from "../../wire/wire-error.ts";
import type { MessagesOfProcess } from "../../wire/messages-to-daemon.ts";

interface RemoteNodesOptions {
  daemonId: ProcessId;
  /** The link to the daemon of a node; undefined for one that is not known, or dead. */
  linkTo: (tag: NodeTag) => PeerConnection | undefined;
  /** The nodes to which there is a link. */
  linked: () => Iterable<NodeTag>;
  /** A message for a process of this node. */
  deliver: (to: ProcessId, message: Message, header: unknown) => void;
  /** A message for this daemon. */
  receive: (from: HeadPeer, message: Message, header: unknown) => void;
}

interface PendingRequest {
  readonly tag: NodeTag;
  readonly takeBack: (() => void) | undefined;
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

const NO_BYTES = new Uint8Array(0);
/** How the head signs what it says. */
const HEAD = "head";

/** Whose business a message is: that of the node of an id in it, for each of its rows or as a whole, or all nodes'. */
type Route<Header> =
  | { readonly to: (header: Header) => string }
  | { readonly rowTo: (row: Header extends readonly (infer Row)[] ? Row : never) => string }
  | { readonly toAll: true };

/** Messages that are not here are this node's, or the head's. */
const ROUTES: { readonly [N in keyof MessagesOfProcess]?: Route<MessagesOfProcess[N]> } = {
  // A ref counts where its owner is.
  [MESSAGE.REF_HOLD]: { rowTo: ([, owner]) => owner },
  [MESSAGE.REF_RELEASE]: { rowTo: ([, , owner]) => owner },
  [MESSAGE.REF_WATCH]: { to: ([, owner]) => owner },
  [MESSAGE.REF_LOST]: { to: ([, owner]) => owner },
  [MESSAGE.CANCEL_REF]: { to: ({ owner }) => owner },
  [MESSAGE.WHY_REF]: { to: ({ owner }) => owner },
  [MESSAGE.HELD_READ]: { to: ([sender, , , asker]) => asker ?? sender },
  // The holds of messages are counted where the owners of the refs are.
  [MESSAGE.HELD_ENDED]: { toAll: true },
  // A stored object is kept where its bytes are, a lease where its worker is.
  [MESSAGE.STORE_FREED]: { rowTo: ([location]) => location[0] },
  [MESSAGE.STORE_CLAIM]: { rowTo: ([location]) => location[0] },
  [MESSAGE.ARENA_LOST]: { to: ([arena]) => arena },
  [MESSAGE.CANCEL_RUNNING]: { to: ({ worker }) => worker },
  [MESSAGE.LEASE_RETURN]: { to: ([worker]) => worker },
  [MESSAGE.LEASE_ONCE]: { to: ([worker]) => worker },
};

export class RemoteNodes {
  readonly #options: RemoteNodesOptions;
  readonly #tag: NodeTag;
  readonly #requests = new Map<number, PendingRequest>();
  #nextRequestId = 1;

  constructor(options: RemoteNodesOptions) {
    this.#options = options;
    this.#tag = nodeTagOf(options.daemonId);
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
  asked(send: (callId: number) => void): Promise<Reply> {
    return this.#await(this.#tag, undefined, (callId) => {
      send(callId);
      return true;
    });
  }

  /** A message of this daemon to the one of another node. */
  tell(tag: NodeTag, type: number, header: unknown): void {
    this.#send(tag, [this.#options.daemonId, "", type, 0, 0, header]);
  }

  /** The same to all nodes with which this one has spoken. */
  tellAll(type: number, header: unknown): void {
    for (const tag of this.#options.linked()) this.tell(tag, type, header);
  }

  /** A frame came from another node, or from the head. */
  receive({ header, body }: { header: RoutedHeader; body: Uint8Array }): void {
    const [from, to, type, callId, flags, inner] = header;
    const message: Message = { type, callId, flags, body };
    if (to !== "" && to !== this.#options.daemonId) this.#options.deliver(to, message, inner);
    else if (type === MESSAGE.REPLY) this.#answered(from, message, inner);
    else this.#options.receive(this.peer(from), message, inner);
  }

  /** It is dead: nothing that was asked there is answered. */
  nodeGone(tag: NodeTag, reason: string): void {
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
    const route = (ROUTES as Readonly<Record<number, Route<never> | undefined>>)[message.type];
    if (route === undefined) return { here: header };
    if ("toAll" in route) {
      for (const tag of this.#options.linked()) this.#send(tag, [from, "", message.type, 0, 0, header]);
      return { here: header };
    }
    if ("rowTo" in route) return this.#splitRows(from, message, header as readonly never[], route.rowTo);
    return this.#splitOne(from, message, header, route.to(header as never));
  }

  #splitOne(from: ProcessId, message: Message, header: unknown, id: string): { here: unknown } | undefined {
    const tag = nodeTagOf(id);
    if (tag === this.#tag) return { here: header };
    const { type, callId, flags, body } = message;
    if (!this.#send(tag, [from, "", type, callId, flags, header], body)) this.#refuse(from, message, header);
    return undefined;
  }

  #splitRows<Row>(from: ProcessId, message: Message, rows: readonly Row[], idOf: (row: Row) => string): { here: unknown } | undefined {
    if (rows.every((row) => this.isHere(idOf(row)))) return { here: rows };
    const { type, flags } = message;
    for (const [tag, part] of Map.groupBy(rows, (row) => nodeTagOf(idOf(row)))) {
      if (tag !== this.#tag) this.#send(tag, [from, "", type, 0, flags, part]);
    }
    return { here: rows.filter((row) => this.isHere(idOf(row))) };
  }

  /** The node is gone: who waits for an answer gets the one that a process gives which is gone. */
  #refuse(from: ProcessId, { type, callId }: Message, header: unknown): void {
    if (type === MESSAGE.REF_WATCH || type === MESSAGE.REF_LOST) {
      const answer: Message = { type: MESSAGE.REF_VALUE, callId: 0, flags: 0, body: NO_BYTES };
      this.#options.deliver(from, answer, [(header as [ObjectId])[0], undefined, "node"]);
    } else if (callId !== 0) {
      const answer: Message = { type: MESSAGE.REPLY, callId, flags: FRAME_FLAG.ERROR, body: NO_BYTES };
      this.#options.deliver(from, answer, wireErrorHeader(new WireError("failed", "its node is gone")));
    }
  }

  #connectionTo(id: ProcessId): PeerConnection {
    const tag = nodeTagOf(id);
    const { daemonId } = this.#options;
    const send = (type: number, header: unknown, { callId = 0, flags = 0, parts }: SendOptions = {}): void => {
      this.#send(tag, [daemonId, id, type, callId, flags, header], ...(parts ?? []));
    };
    return {
      send,
      request: (type, header, options = {}) => this.#request(tag, { type, id, header, ...options }),
      reply: (callId, header, parts = []) => send(MESSAGE.REPLY, header, { callId, parts }),
      replyError: (callId, error) => send(MESSAGE.REPLY, wireErrorHeader(error), { callId, flags: FRAME_FLAG.ERROR }),
    };
  }

  #request(
    tag: NodeTag,
    asked: { type: number; id: ProcessId; header: unknown; parts?: readonly Uint8Array[]; timeoutMs?: number },
  ): Promise<Reply> {
    const { type, header, parts = [], timeoutMs } = asked;
    // To the daemon, which knows whom to ask: a process answers its own daemon alone.
    return this.#await(tag, timeoutMs, (id) => this.#send(tag, [this.#options.daemonId, "", type, id, 0, header], ...parts));
  }

  /** What is sent under the number that `send` is given is answered with a REPLY. */
  #await(tag: NodeTag, timeoutMs: number | undefined, send: (callId: number) => boolean): Promise<Reply> {
    const withinMs = timeoutMs ?? REQUEST_TIMEOUT_MS;
    const requestId = this.#nextRequestId;
    this.#nextRequestId = (requestId % 0xffffffff) + 1;
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        this.#requests.delete(requestId);
        reject(new ConnectionClosedError(`the other node did not answer within ${withinMs} ms`));
      };
      const takeBack = withinMs === 0 ? undefined : afterReading(withinMs, expire);
      this.#requests.set(requestId, { tag, takeBack, resolve, reject });
      if (send(requestId)) return;
      this.#requests.delete(requestId);
      takeBack?.();
      reject(new ConnectionClosedError("its node is gone"));
    });
  }

  #answered(from: ProcessId, { callId, flags, body }: Message, header: unknown): void {
    const pending = this.#requests.get(callId);
    // What went to the head is pending under this node. Whoever was not asked has nothing to answer.
    if (pending === undefined || nodeTagOf(from) !== (pending.tag === this.#tag ? HEAD : pending.tag)) return;
    this.#requests.delete(callId);
    pending.takeBack?.();
    if ((flags & FRAME_FLAG.ERROR) !== 0) pending.reject(readWireError(header));
    else pending.resolve({ header, body: Buffer.from(body) });
  }

  #send(tag: NodeTag, header: RoutedHeader, ...parts: readonly Uint8Array[]): boolean {
    const link = this.#options.linkTo(tag);
    link?.send(MESSAGE.ROUTED, header, { parts });
    return link !== undefined;
  }
}
