/**
 * A link between two nodes, or a node and the head. Frames arrive in order, each handled once by an incarnation of the other end, however
 * often the connections below break.
 *
 * A link connects when there is something to send, and reconnects with back-off until it is closed for good. It keeps every frame until the
 * other end has acknowledged it. When a *new incarnation* answers, frames from `onUp` go first, then requests without an answer, then the
 * kept frames. When both ends connect at once, the connection of the lower node id wins. Silence of `brokenAfterMs` breaks a connection.
 * Kept frames are dropped only when the link is closed for good: by its owner, or by itself once they would exceed `keptBytesMax`.
 */
import { asError } from "../base/texts/describe.ts";
import { timeoutAfterIo } from "../base/time/timeout-after-io.ts";
import type { NodeId, ProcessId } from "../base/ids.ts";
import type { Transport } from "../os/network/transport.ts";
import { type Frame, FRAME_FLAG, kindOf, wholeFrame } from "../wire/frame.ts";
import { encodeHeader, headerOf } from "../wire/header.ts";
import { linkHello, type LinkHelloHeader, MESSAGE } from "../wire/messages.ts";
import type { ReplyTo } from "../wire/tables/replies.ts";
import { DecodeError } from "../wire/value/decode-error.ts";
import { readWireError, WireError, wireErrorHeader } from "../wire/wire-error.ts";
import { BROKEN_AFTER_MS, OPEN_WITHIN_MS, PING_EVERY_MS, REQUEST_TIMEOUT_MS } from "./limits.ts";
import { ProtocolViolationError } from "./protocol-violation.ts";
import { type ProvenListener, proveTo } from "./handshake.ts";
import { ConnectionClosedError } from "./connection.ts";
import { LinkCarrier } from "./link-carrier.ts";
import { LinkLedger, type LinkPosition } from "./link-ledger.ts";
import { openRequest, type OpenRequest, type PeerConnection, type Reply, type RequestOptions } from "./peer-connection.ts";

/** Acknowledgements wait for each other: one costs a system call on both ends. */
const ACK_FRAMES = 256;
const ACK_WITHIN_MS = 50;
const BACK_OFF_MS = 50;
const BACK_OFF_MAX_MS = 1000;
/** Bounds the frames kept for an absent peer: an absence of 10 s at 25 MB/s. */
const KEPT_BYTES_MAX = 256 * 1024 * 1024;
/** Names an attempt in error messages. */
const ACTION = "link to another node";
const NO_PARTS: readonly Uint8Array[] = [];

/** Timers of the host; simulations and tests replace them. */
export interface LinkTimers {
  set(callback: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

export interface NodeLinkOptions {
  self: { nodeId: NodeId; processId: ProcessId; incarnation: string; kind?: "daemon" | "head"; term?: number };
  /** The cluster's. */
  token: string;
  /** Node that must answer; undefined for a link to the head, which may be anywhere. */
  peerNodeId?: NodeId | undefined;
  /** Undefined on an end that only accepts. */
  connect?: (() => Promise<Transport>) | undefined;
  /** A frame is acknowledged when this returns, or with `acknowledgesLater`, once `acknowledge` was called, in any order. Valid during the call only. */
  onFrame: (frame: Frame, acknowledge: () => void) => void;
  acknowledgesLater?: boolean;
  onUp?: (peer: { nodeId: NodeId; processId: ProcessId; incarnation: string; term: number | undefined; isNew: boolean }) => void;
  /**
   * The connection broke, or an attempt failed; the link keeps trying. The error is a `WireError` if the other end has proven that it is of
   * the cluster and refuses this one, otherwise a `ShoalError`.
   */
  onDown?: (error: Error) => void;
  /** Called when the link gave itself up and dropped its frames. Not called for `close`. */
  onGivenUp?: (reason: string) => void;
  /** A message made its handler throw. */
  onDefect?: (error: Error) => void;
  /** Why the other end is not to be listened to, although it may speak. */
  refusesPeer?: (hello: LinkHelloHeader) => string | undefined;
  /** How long the other end has to answer, and the longest pause between two attempts. Default: 5,000 and 1,000. */
  openWithinMs?: () => number | undefined;
  backOffMaxMs?: () => number | undefined;
  keptBytesMax?: number;
  timers?: LinkTimers;
}

interface PendingRequest extends OpenRequest {
  timer: unknown;
  /** Sent again to a new incarnation, which has not received it even if the last one acknowledged it. */
  frame: Buffer;
}

const nodeTimers: LinkTimers = {
  set: (callback, ms) => timeoutAfterIo(ms, callback),
  clear: (timer) => (timer as ReturnType<typeof timeoutAfterIo> | undefined)?.(),
};
const acknowledged = (): void => {};
let linksMade = 0;

export class NodeLink implements PeerConnection {
  readonly #options: NodeLinkOptions;
  readonly #timers: LinkTimers;
  readonly #ledger: LinkLedger;
  readonly #requests = new Map<number, PendingRequest>();
  #nextRequestId = 1;
  /** Requests of the other end that wait for our reply, under local numbers: an earlier incarnation may have used the same ones. */
  readonly #asked = new Map<number, number>();
  #nextAskedId = 1;
  #carrier: LinkCarrier | undefined;
  /** A connection of ours over which the ends prove that they are of one cluster, before the hello. */
  #opening: Transport | undefined;
  /** A connection of ours on which the hello has been sent and not answered. */
  #greeting: LinkCarrier | undefined;
  /** Raised when an attempt to connect is of no use any more. */
  #attempt = 0;
  #isConnecting = false;
  /** Until the attempt has taken too long, or until the next one. */
  #connectTimer: unknown;
  #backOffMs = BACK_OFF_MS;
  #pingTimer: unknown;
  #silentPings = 0;
  #isQuiet = true;
  #ackTimer: unknown;
  #ackSent = 0;
  /** Set while `onUp` runs for a new incarnation: its frames precede all kept ones. */
  #first: Buffer[] | undefined;
  #closeReason: string | undefined;
  /** Process at the other end now. */
  #peerId: NodeId | undefined;

  constructor(options: NodeLinkOptions) {
    this.#options = options;
    this.#timers = options.timers ?? nodeTimers;
    linksMade += 1;
    // A link that is made again in the same process does not know earlier deliveries, so to the other end it is as new as a process.
    this.#ledger = new LinkLedger(`${options.self.incarnation}#${linksMade}`);
  }

  get isUp(): boolean {
    return this.#carrier !== undefined;
  }

  get isClosed(): boolean {
    return this.#closeReason !== undefined;
  }

  /** The last incarnation of the other end and its link. */
  get peerIncarnation(): string | undefined {
    return this.#ledger.peerIncarnation;
  }

  get unacknowledgedBytes(): number {
    return this.#ledger.keptBytes;
  }

  /** Frames that are not known to be safe at the other end. A new incarnation gets them again, in order. */
  get kept(): ReadonlySet<Buffer> {
    return new Set(this.#ledger.after(0));
  }

  /** Connects now rather than when there is something to send. */
  open(): void {
    if (this.isUp || this.isClosed || this.#isConnecting || this.#connectTimer !== undefined) return;
    this.#connect();
  }

  send(type: number, header: unknown, options: { callId?: number; flags?: number; parts?: readonly Uint8Array[] } = {}): void {
    if (this.isClosed) return;
    const bytes = header === undefined ? undefined : encodeHeader(header);
    this.#sendWhole(wholeFrame({ type, flags: options.flags ?? 0, callId: options.callId ?? 0 }, bytes, options.parts ?? NO_PARTS));
  }

  /** A frame that others are sent as well: it is kept as it is, and never changed. */
  sendWhole(frame: Buffer): void {
    if (!this.isClosed) this.#sendWhole(frame);
  }

  request<N extends number>(type: N, header: unknown, options: RequestOptions = {}): Promise<Reply<ReplyTo<N>>> {
    return new Promise((resolve, reject) => {
      if (this.#closeReason !== undefined) {
        reject(new ConnectionClosedError(this.#closeReason));
        return;
      }
      const id = this.#nextRequestId;
      this.#nextRequestId = (id % 0xffffffff) + 1;
      const bytes = header === undefined ? undefined : encodeHeader(header);
      const frame = wholeFrame({ type, flags: FRAME_FLAG.REQUEST, callId: id }, bytes, options.parts ?? NO_PARTS);
      const timeoutMs = options.timeoutMs ?? REQUEST_TIMEOUT_MS;
      const timeOut = (): void => {
        this.#requests.delete(id);
        reject(
          new ConnectionClosedError(`the peer did not answer within ${timeoutMs} ms${this.isUp ? "" : ", and the link to it is down"}`),
        );
      };
      this.#requests.set(id, {
        ...openRequest(type, resolve, reject),
        timer: timeoutMs === 0 ? undefined : this.#timers.set(timeOut, timeoutMs),
        frame,
      });
      this.#sendWhole(frame);
    });
  }

  /** Drops a second reply, and one to an earlier incarnation. */
  reply(callId: number, header: unknown, parts: readonly Uint8Array[] = NO_PARTS): void {
    this.#reply(callId, header, { parts });
  }

  replyError(callId: number, error: Error): void {
    this.#reply(callId, wireErrorHeader(error), { flags: FRAME_FLAG.ERROR });
  }

  /** A connection of the other end, whose hello was read and found good (`acceptPeer`). */
  accept(transport: Transport, hello: LinkHelloHeader): void {
    const refusal = this.#refusalOf(hello);
    const carrier = this.#carry(transport);
    if (refusal !== undefined) {
      const header = encodeHeader(wireErrorHeader(refusal));
      carrier.write(wholeFrame({ type: MESSAGE.LINK_HELLO, flags: FRAME_FLAG.ERROR, callId: 0 }, header, NO_PARTS));
      carrier.end();
      return;
    }
    this.#abandonAttempt();
    this.#carrier?.drop();
    this.#carrier = undefined;
    const mine = this.#hello();
    carrier.write(wholeFrame({ type: MESSAGE.LINK_HELLO, flags: 0, callId: 0 }, encodeHeader(mine), NO_PARTS));
    this.#up(carrier, mine, hello);
  }

  /** Closes for good: requests fail, and kept frames are dropped. Bytes on their way to the socket still go out. */
  close(reason: string): void {
    if (this.#closeReason !== undefined) return;
    this.#closeReason = reason;
    this.#abandonAttempt();
    this.#timers.clear(this.#connectTimer);
    this.#rest();
    this.#carrier?.end();
    this.#carrier = undefined;
    this.#ledger.clear();
    for (const pending of this.#requests.values()) {
      this.#timers.clear(pending.timer);
      pending.reject(new ConnectionClosedError(reason));
    }
    this.#requests.clear();
  }

  #reply(callId: number, header: unknown, options: { flags?: number; parts?: readonly Uint8Array[] }): void {
    const asked = this.#asked.get(callId);
    if (asked === undefined) return;
    this.#asked.delete(callId);
    this.send(MESSAGE.REPLY, header, { ...options, callId: asked });
  }

  #sendWhole(frame: Buffer): void {
    if (this.#first !== undefined) {
      this.#first.push(frame);
      return;
    }
    this.#ledger.keep(frame);
    const keptBytesMax = this.#options.keptBytesMax ?? KEPT_BYTES_MAX;
    if (this.#ledger.keptBytes > keptBytesMax && this.#ledger.keptCount > 1) {
      const reason = `the other end has not taken what was sent to it: more than ${keptBytesMax} bytes wait`;
      this.close(reason);
      this.#options.onGivenUp?.(reason);
      return;
    }
    if (this.#carrier === undefined) this.open();
    else this.#write(frame);
  }

  #write(frame: Buffer): void {
    this.#isQuiet = false;
    this.#carrier?.write(frame);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Connections

  #hello(): LinkHelloHeader {
    const { nodeId, processId, kind, term } = this.#options.self;
    return { nodeId, processId, kind: kind ?? "daemon", term, to: this.#options.peerNodeId, ...this.#ledger.position };
  }

  #refusalOf(hello: LinkHelloHeader): WireError | undefined {
    const { peerNodeId, self } = this.#options;
    const refuse = (message: string): WireError => new WireError("failed", message);
    if (this.#closeReason !== undefined) return refuse(`the link is closed: ${this.#closeReason}`);
    if (peerNodeId !== undefined && hello.nodeId !== peerNodeId) return refuse(`this link is for node ${peerNodeId}, not ${hello.nodeId}`);
    if (this.#ledger.isOutdated(hello)) return refuse("this hello is older than frames that followed on another connection");
    return this.#greeting !== undefined && self.nodeId < hello.nodeId ? refuse("both ends connect at once") : undefined;
  }

  #connect(): void {
    const { connect } = this.#options;
    if (connect === undefined) return;
    const openWithinMs = this.#options.openWithinMs?.() ?? OPEN_WITHIN_MS;
    this.#attempt += 1;
    const attempt = this.#attempt;
    this.#isConnecting = true;
    const fail = (error: Error): void => {
      if (attempt === this.#attempt) this.#attemptFailed(error);
    };
    this.#timers.clear(this.#connectTimer);
    this.#connectTimer = this.#timers.set(() => fail(new Error(`no answer within ${openWithinMs} ms`)), openWithinMs);
    const open = async (): Promise<void> => {
      const transport = await connect();
      if (attempt !== this.#attempt) return transport.destroy();
      this.#opening = transport;
      const { token, self } = this.#options;
      // The end of the attempt ends the wait.
      const listener = await proveTo(transport, { token, processId: self.processId, action: ACTION, timeoutMs: 0 });
      if (attempt !== this.#attempt) return transport.destroy();
      this.#opening = undefined;
      this.#greet(transport, listener, fail);
    };
    open().catch(fail);
  }

  #greet(transport: Transport, listener: ProvenListener, fail: (error: Error) => void): void {
    const mine = this.#hello();
    const carrier = this.#carry(
      transport,
      (frame) => {
        const header = frame.type === MESSAGE.LINK_HELLO ? headerOf(frame) : undefined;
        if ((frame.flags & FRAME_FLAG.ERROR) !== 0) return fail(readWireError(header));
        if (!linkHello(header)) return fail(new Error("the answer is not a hello of a node link"));
        const problem = problemOf(header, this.#options.peerNodeId, listener.nodeId) ?? this.#options.refusesPeer?.(header);
        if (problem !== undefined) return fail(new Error(problem));
        this.#greeting = undefined;
        this.#isConnecting = false;
        this.#clearConnectTimer();
        this.#up(carrier, mine, header);
      },
      fail,
    );
    this.#greeting = carrier;
    carrier.write(wholeFrame({ type: MESSAGE.LINK_HELLO, flags: 0, callId: 0 }, encodeHeader(mine), NO_PARTS));
  }

  #attemptFailed(error: Error): void {
    this.#abandonAttempt();
    this.#options.onDown?.(error);
    this.#retryLater();
  }

  #abandonAttempt(): void {
    this.#attempt += 1;
    this.#isConnecting = false;
    this.#opening?.destroy();
    this.#opening = undefined;
    this.#greeting?.drop();
    this.#greeting = undefined;
    this.#clearConnectTimer();
  }

  #clearConnectTimer(): void {
    this.#timers.clear(this.#connectTimer);
    this.#connectTimer = undefined;
  }

  #retryLater(): void {
    if (this.isClosed || this.isUp || this.#options.connect === undefined || this.#connectTimer !== undefined) return;
    this.#connectTimer = this.#timers.set(() => {
      this.#connectTimer = undefined;
      if (!this.isUp && !this.isClosed) this.#connect();
    }, this.#backOffMs * spreadOf(this.#options.self.nodeId));
    this.#backOffMs = Math.min(this.#backOffMs * 2, this.#options.backOffMaxMs?.() ?? BACK_OFF_MAX_MS);
  }

  /** Frames go to `onFirst` until the connection is the link's. */
  #carry(transport: Transport, onFirst: (frame: Frame) => void = () => {}, onEnd: (error: Error) => void = () => {}): LinkCarrier {
    const carrier: LinkCarrier = new LinkCarrier(transport, {
      onFrame: (frame) => {
        if (this.#carrier === carrier) this.#receive(frame);
        else onFirst(frame);
      },
      onChunk: () => {
        if (this.#carrier === carrier) this.#silentPings = 0;
      },
      onClose: (reason) => {
        const error = new ConnectionClosedError(reason);
        if (this.#carrier === carrier) this.#down(error);
        else onEnd(error);
      },
    });
    return carrier;
  }

  #up(carrier: LinkCarrier, mine: LinkPosition, theirs: LinkHelloHeader): void {
    carrier.trust();
    this.#peerId = theirs.nodeId;
    const { isNewPeer, resumeAfter } = this.#ledger.meet(mine, theirs);
    this.#carrier = carrier;
    this.#backOffMs = BACK_OFF_MS;
    this.#silentPings = 0;
    this.#timers.clear(this.#pingTimer);
    this.#pingLater();
    // The hello told the number of delivered frames, not how many are safe.
    this.#acknowledge();
    const incarnation = theirs.incarnation.replace(/#\d+$/, "");
    const { nodeId, processId, term } = theirs;
    const peer = { nodeId, processId, incarnation, term, isNew: isNewPeer };
    if (!isNewPeer) {
      for (const frame of this.#ledger.after(resumeAfter)) carrier.write(frame);
      this.#options.onUp?.(peer);
      return;
    }
    this.#asked.clear();
    this.#first = [];
    try {
      this.#options.onUp?.(peer);
    } finally {
      this.#refill(this.#first);
      this.#first = undefined;
      for (const frame of this.#ledger.after(resumeAfter)) carrier.write(frame);
    }
  }

  #refill(first: Buffer[]): void {
    if (this.isClosed) return;
    this.#ledger.refill((kept) => {
      // Answers to questions of the last incarnation.
      const rest = kept.filter((frame) => kindOf(frame).type !== MESSAGE.REPLY);
      const there = new Set([...first, ...rest]);
      const unanswered = Array.from(this.#requests.values(), ({ frame }) => frame).filter((frame) => !there.has(frame));
      return [...first, ...unanswered, ...rest];
    });
  }

  #down(error: Error): void {
    this.#carrier = undefined;
    this.#rest();
    this.#options.onDown?.(error);
    this.#retryLater();
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Frames

  #receive(frame: Frame): void {
    if (frame.type === MESSAGE.LINK_ACK) {
      this.#ledger.acknowledged(frame.callId * 2 ** 32 + frame.number);
      return;
    }
    const receipt = this.#ledger.deliver();
    const later = this.#options.acknowledgesLater === true && frame.type !== MESSAGE.REPLY;
    try {
      if (frame.type === MESSAGE.REPLY) this.#answered(frame);
      else {
        if ((frame.flags & FRAME_FLAG.REQUEST) !== 0) this.#alias(frame);
        this.#options.onFrame(frame, later ? () => this.#settle(receipt) : acknowledged);
      }
    } catch (error) {
      // The link continues: the same bytes would have the same effect again.
      this.#settle(receipt);
      if (error instanceof ProtocolViolationError || error instanceof DecodeError) this.#breakOff(error);
      else this.#defect(asError(error));
      return;
    }
    if (!later) this.#settle(receipt);
  }

  #alias(frame: Frame): void {
    const id = this.#nextAskedId;
    this.#nextAskedId = (id % 0xffffffff) + 1;
    this.#asked.set(id, frame.callId);
    frame.callId = id;
    frame.flags &= ~FRAME_FLAG.REQUEST;
  }

  #answered(frame: Frame): void {
    const pending = this.#requests.get(frame.callId);
    if (pending === undefined) return;
    this.#requests.delete(frame.callId);
    this.#timers.clear(pending.timer);
    pending.answer(frame, headerOf(frame));
  }

  #settle(receipt: { number: number; epoch: number }): void {
    if (!this.#ledger.settle(receipt) || this.#carrier === undefined) return;
    const upTo = this.#ledger.settledUpTo;
    if (upTo - this.#ackSent >= ACK_FRAMES) this.#acknowledge();
    else if (upTo > this.#ackSent && this.#ackTimer === undefined)
      this.#ackTimer = this.#timers.set(() => {
        this.#ackTimer = undefined;
        this.#acknowledge();
      }, ACK_WITHIN_MS);
  }

  /** Also the sign of life. */
  #acknowledge(): void {
    if (this.#carrier === undefined) return;
    const upTo = this.#ledger.settledUpTo;
    this.#ackSent = upTo;
    this.#write(ackFrame(upTo));
  }

  #pingLater(): void {
    this.#isQuiet = true;
    this.#pingTimer = this.#timers.set(() => {
      const carrier = this.#carrier;
      if (carrier === undefined) return;
      // Counted in timers and not in time: a process that was stopped for a while has not listened meanwhile.
      this.#silentPings += 1;
      if (this.#silentPings * PING_EVERY_MS >= BROKEN_AFTER_MS) {
        carrier.drop();
        this.#down(new ConnectionClosedError(`nothing was heard for ${this.#silentPings * PING_EVERY_MS} ms`));
        return;
      }
      if (this.#isQuiet) this.#acknowledge();
      this.#pingLater();
    }, PING_EVERY_MS);
  }

  #rest(): void {
    this.#timers.clear(this.#pingTimer);
    this.#timers.clear(this.#ackTimer);
    this.#ackTimer = undefined;
  }

  /** Breaks off after a message that the other end may not send. */
  #breakOff(error: Error): void {
    process.stderr.write(`shoal: ended a connection of node ${this.#peerId ?? "?"}: ${error.message}\n`);
    this.#carrier?.drop();
    this.#down(error);
  }

  #defect(error: Error): void {
    if (this.#options.onDefect !== undefined) this.#options.onDefect(error);
    else process.stderr.write(`shoal: a message of another node could not be handled: ${error.stack ?? error.message}\n`);
  }
}

/**
 * A factor from 0.5 to 1, different for each node: a whole cluster that lost its head at once does not return in one moment, again and
 * again.
 */
function spreadOf(nodeId: NodeId): number {
  return 0.5 + (Number.parseInt(nodeId.slice(-4), 16) || 0) / 0x20000;
}

function ackFrame(upTo: number): Buffer {
  const bytes = Buffer.allocUnsafe(15);
  bytes.writeUInt32LE(11, 0);
  bytes[4] = MESSAGE.LINK_ACK;
  bytes[5] = FRAME_FLAG.NUMBER;
  bytes.writeUInt32LE(Math.floor(upTo / 2 ** 32), 6);
  bytes[10] = 0xce;
  bytes.writeUInt32BE(upTo % 2 ** 32, 11);
  return bytes;
}

function problemOf(hello: LinkHelloHeader, peerNodeId: NodeId | undefined, provenNodeId: NodeId): string | undefined {
  if (peerNodeId !== undefined && hello.nodeId !== peerNodeId) return `node ${hello.nodeId} answered, not ${peerNodeId}`;
  if (hello.nodeId !== provenNodeId) return `node ${hello.nodeId} answered, and ${provenNodeId} had proven that it listens`;
  return undefined;
}
