/**
 * The direct connection of this process to one worker: pushes calls, matches answers.
 *
 * Owns the calls in flight to that worker, and knows which definitions and methods the worker has. When the connection has ended, the link's
 * owner finishes the link once it knows whether the worker has ended. Answers that a dead worker left in its outbox are read first
 * (docs/decisions/0066-answers-of-the-dead.md). The unanswered calls are then the owner's, in the order in which they were pushed.
 */
import type { ProcessId } from "../../../runtime/base/ids.ts";
import { timeoutAfterIo } from "../../../runtime/base/time/timeout-after-io.ts";
import { InFlightBorrows } from "../../../runtime/objects/references/in-flight-borrows.ts";
import { TELL_HELD_EVERY } from "../../../runtime/objects/limits.ts";
import type { ObjectTable } from "../../../runtime/objects/object-table.ts";
import { NO_BYTES, type Payload, PayloadReader, payloadParts } from "../../../runtime/objects/payload.ts";
import type { Connection } from "../../../runtime/rpc/connection.ts";
import { type Frame, FRAME_FLAG } from "../../../runtime/wire/frame.ts";
import type { DeclinedHeader } from "../../../runtime/wire/calls/declined-header.ts";
import { type AcceleratorIds, type CallHeader, type CancelHeader, MESSAGE, type WireLocation } from "../../../runtime/wire/messages.ts";
import {
  argumentsOf,
  CALL_ID_RANGE,
  type CallRecord,
  type CallTarget,
  callIdOf,
  type Definition,
  fetchedDefinition,
} from "../call-record.ts";
import { MESSAGES_TO_CALLER } from "../../../runtime/wire/calls/call-messages.ts";
import { readAs } from "../../../runtime/wire/tables/message-table.ts";
import type { ReplyTo } from "../../../runtime/wire/tables/replies.ts";

export interface WorkerLinkEvents {
  /** Receives an answer. Return payloads are copies; an error has a single payload, with `error` set. */
  onResult(record: CallRecord, returns: readonly Payload[], durationUs: number): void;
  /** The hot form of an answer: in-band bytes that are valid during the call only. */
  onPlainResult(record: CallRecord, bytes: Uint8Array, flags: { graph: boolean; error: boolean }, durationUs: number): void;
  /** The task has not begun there, and never will: the worker takes none any more, or found these arguments `lost`. */
  onDeclined(record: CallRecord, lost: DeclinedHeader["lost"]): void;
  /** All answers that arrived together have been handled. */
  onBatchEnd(): void;
  /** Nothing more is sent or comes by the connection; `finish` says what is unanswered. `sent`: how many calls there were, answered or not. */
  onClosed(link: WorkerLink, ended: { isWhole: boolean; sent: number; reason: string }): void;
}

/** Bytes that a dead worker left behind, from an offset of the stream on. */
export interface Rest {
  readonly outbox: number;
  readonly from: number;
  readonly bytes: Buffer;
}

const DEFAULT_SHAPE = "CPU:10000";

/** Where a worker is reached. */
export interface WorkerTarget {
  address: string;
  processId: ProcessId;
  /** The incarnation of an actor; 0 for workers that run tasks. */
  incarnation: number;
  /** The lease for which it is reached; none for actors. */
  leaseId?: number;
}

interface WorkerLinkOptions {
  processId: ProcessId;
  /** The process under which sent references are counted. */
  holderId: ProcessId;
  incarnation: number;
  connection: Connection;
  table: ObjectTable;
  events: WorkerLinkEvents;
  /** The worker wrote an object for this process. */
  onStored?: (location: WireLocation) => void;
  /** The number of this link among those of this process; none where both ends are one. */
  number?: number | undefined;
  /** Many answers with holds have been read, up to this one. */
  onHeldRead?: (answer: number) => void;
}

export class WorkerLink {
  /** Empty for a first call, until the daemon has handed it on. */
  processId: ProcessId;
  readonly number: number | undefined;
  /** Resolves when nothing more comes from the worker. */
  readonly closed: Promise<void>;
  readonly #resolveClosed: () => void;
  /** Parts of the rest that have come, in the order of the stream. */
  readonly #rest: Rest[] = [];
  #hasExited = false;
  #isFinished = false;
  /** Called when the worker is known to have ended. */
  #onExited: (() => void) | undefined;
  readonly #held: InFlightBorrows;
  readonly #options: WorkerLinkOptions;
  readonly #connection: Connection;
  #heldRead = 0;
  #sent = 0;
  readonly #inFlight = new Map<number, CallRecord>();
  readonly #targets = new Map<string, number>();
  /** Keys of a function at the worker by its id: one key, and one for each limit of calls. */
  readonly #keys = new Map<string, string[]>();
  #nextTarget = 0;
  /** The target of the last call, which is most often the target of the next. */
  #lastTarget: CallTarget | undefined;
  #lastNumber = 0;
  /** The call from which the last one was made; 0 for none. */
  #parentId = 0;
  #parentPrefix = "";

  constructor(options: WorkerLinkOptions) {
    const { connection, events, processId, table, holderId, number } = options;
    this.#options = options;
    this.processId = processId;
    this.#held = new InFlightBorrows({ table, receiverId: holderId, link: number === undefined ? undefined : -number });
    this.#connection = connection;
    this.number = number;
    connection.onFrame = (frame) => this.#receive(frame, events);
    connection.onBatchEnd = () => events.onBatchEnd();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    connection.onClose = (reason, isWhole) => events.onClosed(this, { isWhole, sent: this.#sent, reason });
  }

  /** Whether answers may lie where the worker has left them, once its end is known. */
  get mayHaveRest(): boolean {
    return this.#inFlight.size > 0 && this.#connection.outbox !== undefined && !this.#hasExited;
  }

  /** Calls back when the worker is known to have ended, and later than now; at the latest after so long. */
  whenExited(withinMs: number, callback: () => void): void {
    const takeBack = timeoutAfterIo(withinMs, () => this.#onExited?.());
    this.#onExited = () => {
      this.#onExited = undefined;
      takeBack();
      callback();
    };
  }

  /** The worker's daemon reports its end; the bytes that the worker left behind have come before. */
  workerExited(): void {
    this.#hasExited = true;
    this.#onExited?.();
  }

  /** Adds a part of the bytes that the worker had sent when it died. */
  addRest(rest: Rest): void {
    this.#rest.push(rest);
  }

  /**
   * Reads the bytes that a dead worker left behind, after which nothing more comes.
   *
   * @returns the unanswered calls, which are the caller's again; `isRestRead`: all bytes of the worker have been read
   */
  finish(): { unanswered: CallRecord[]; isRestRead: boolean } {
    let isRestRead = false;
    for (const { outbox, from, bytes } of this.#rest.splice(0)) {
      // A later connection to the same worker has its own rest.
      if (outbox !== this.#connection.outbox) continue;
      isRestRead = this.#connection.readRest(from, bytes);
      if (!isRestRead) break;
    }
    const unanswered = Array.from(this.#inFlight.values());
    this.#inFlight.clear();
    if (!this.#isFinished) {
      this.#isFinished = true;
      this.#resolveClosed();
      this.#held.close();
    }
    return { unanswered, isRestRead };
  }

  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  get isClosed(): boolean {
    return this.#connection.isClosed;
  }

  /** Whether nothing more comes, neither by the connection nor from the bytes that the worker left behind. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Number of the last read answer with holds, whose references are counted. */
  get heldRead(): number {
    return this.#heldRead;
  }

  get isCongested(): boolean {
    return this.#connection.isCongested;
  }

  set onDrain(callback: () => void) {
    this.#connection.onDrain = callback;
  }

  /** `accelerators`: those of the lease under which it runs. */
  push(record: CallRecord, accelerators?: AcceleratorIds): void {
    const number = record.target === this.#lastTarget ? this.#lastNumber : this.#numberOf(record.target);
    const callId = this.callIdOf(record);
    this.#inFlight.set(callId, record);
    this.#sent += 1;
    const type = record.target.kind === "task" ? MESSAGE.TASK_CALL : MESSAGE.ACTOR_CALL;
    const isPlain =
      record.args === undefined &&
      record.dependencies.length === 0 &&
      record.numReturns === 1 &&
      record.name === undefined &&
      (record.shape === DEFAULT_SHAPE || record.target.kind === "method") &&
      !record.isRemade &&
      record.attempt === 0;
    const parentId = record.parent?.callId ?? 0;
    if (parentId !== this.#parentId || (parentId !== 0 && record.parent?.taskIdPrefix !== this.#parentPrefix))
      this.#tellParent(record.parent);
    if (isPlain) {
      this.#connection.sendNumbered(type, record.graph ? FRAME_FLAG.GRAPH : 0, callId, number, record.chunk, record.start, record.end);
      return;
    }
    const args = argumentsOf(record);
    const deps = record.dependencies.map((entry) => this.#options.table.payloadFor(entry));
    const parts: Uint8Array[] = [];
    const payloads = [args, ...deps];
    for (const payload of payloads) parts.push(...payloadParts(payload));
    const header: CallHeader = {
      target: number,
      shape: record.shape,
      sequenceHigh: Math.floor(record.sequence / CALL_ID_RANGE),
      args: this.#held.headerOf(args),
      deps: deps.map((payload) => this.#held.headerOf(payload)),
      numReturns: record.numReturns,
      name: record.name,
      actorId: record.actor,
      incarnation: this.#options.incarnation,
      ...(record.isRemade && record.target.kind === "method" ? { isRemade: true } : {}),
      ...(record.attempt > 0 ? { attempt: record.attempt } : {}),
      accelerators,
      stream: record.stream?.header(),
      ...this.#held.hold(payloads),
    };
    this.#connection.send(type, header, { callId, parts });
    record.stream?.sentTo({
      credit: (consumed) => this.#connection.sendNumbered(MESSAGE.STREAM_CREDIT, 0, callId, consumed, NO_BYTES, 0, 0),
      stop: () => this.#connection.send(MESSAGE.STREAM_STOP, undefined, { callId }),
    });
  }

  /** Calls are recorded with the call that made them. Most come from the same one as the call before, so their frames do not name it. */
  #tellParent(parent: CallRecord["parent"]): void {
    this.#parentId = parent?.callId ?? 0;
    this.#parentPrefix = parent?.taskIdPrefix ?? "";
    this.#connection.sendText(MESSAGE.CALL_PARENT, 0, this.#parentId, 0, this.#parentId === 0 ? "" : this.#parentPrefix);
  }

  flush(): void {
    this.#connection.flush();
  }

  /** Writes the calls that were pushed in this turn, as `Connection.flushEarly` does. */
  flushEarly(max?: number): void {
    this.#connection.flushEarly(max);
  }

  callIdOf(record: CallRecord): number {
    return callIdOf(record.sequence);
  }

  /** Tells the worker that nobody waits for the call any more. */
  cancel(record: CallRecord, header: CancelHeader): void {
    this.#connection.send(MESSAGE.CANCEL, header, { callId: this.callIdOf(record) });
  }

  /** Tells the worker to forget a function that is called no more. */
  forgetFunction(id: string): void {
    const keys = this.#keys.get(id);
    if (keys === undefined) return;
    this.#keys.delete(id);
    if (this.#lastTarget?.id === id) this.#lastTarget = undefined;
    for (const key of keys) {
      this.#connection.send(MESSAGE.DEFINITION_DROPPED, [this.#targets.get(key)]);
      this.#targets.delete(key);
    }
  }

  /** A question to the worker beside its calls. */
  async ask<N extends number>(type: N, header: unknown, timeoutMs: number): Promise<ReplyTo<N>> {
    return (await this.#connection.request(type, header, { timeoutMs })).header;
  }

  /** The call that the worker is at, as far as is known here. */
  get firstNotParked(): CallRecord | undefined {
    for (const sent of this.#inFlight.values()) if (!sent.hasParked) return sent;
    return undefined;
  }

  isUnanswered(record: CallRecord): boolean {
    return this.#inFlight.get(this.callIdOf(record)) === record;
  }

  /** Tasks run in the order of their pushing: those that parked have begun, and so has the first that has not. */
  hasBegun(record: CallRecord): boolean {
    if (record.hasParked) return true;
    if (this.processId === "") return false;
    for (const sent of this.#inFlight.values()) if (!sent.hasParked) return sent === record;
    return false;
  }

  /** A call that has been sent and not answered. */
  recordOf(callId: number): CallRecord | undefined {
    return this.#inFlight.get(callId);
  }

  get openCalls(): Iterable<CallRecord> {
    return this.#inFlight.values();
  }

  /** The worker is gone, although its connection may not tell. */
  drop(reason: string): void {
    this.#connection.drop(reason);
  }

  /** @returns the unanswered calls, which are the caller's again */
  close(): CallRecord[] {
    const unanswered = Array.from(this.#inFlight.values());
    this.#inFlight.clear();
    this.#connection.close();
    return unanswered;
  }

  #numberOf(target: CallTarget): number {
    const { maxCalls } = target;
    const taskKey = maxCalls === undefined ? target.id : `${maxCalls} ${target.id}`;
    const key = target.kind === "task" ? taskKey : `.${target.group ?? ""}.${target.id}`;
    let number = this.#targets.get(key);
    if (number === undefined) {
      number = this.#nextTarget;
      this.#nextTarget += 1;
      this.#targets.set(key, number);
      const definition = this.#definitionOf(target);
      if (definition === undefined) {
        this.#connection.send(MESSAGE.METHOD, target.group === undefined ? [number, target.id] : [number, target.id, target.group]);
      } else {
        const keys = this.#keys.get(target.id);
        if (keys === undefined) this.#keys.set(target.id, [key]);
        else keys.push(key);
        const held = this.#held.hold(definition.payloads);
        const limit = maxCalls === undefined ? {} : { maxCalls };
        this.#connection.send(MESSAGE.DEFINITION, { ...definition.header, number, ...limit, ...held }, { parts: definition.parts });
      }
    }
    this.#lastTarget = target;
    this.#lastNumber = number;
    return number;
  }

  /** A worker that is not known yet fetches a definition with references. */
  #definitionOf(target: CallTarget): Definition | undefined {
    const definition = target.definition?.();
    if (definition === undefined || definition.payloads.length === 0 || this.processId !== "") return definition;
    return fetchedDefinition(target);
  }

  /** Receives a frame that precedes the answer of a call. */
  #receiveAhead(frame: Frame): void {
    const record = this.#inFlight.get(frame.callId);
    if (record === undefined) return;
    if (frame.type === MESSAGE.TASK_PARKED) {
      record.hasParked = true;
    } else if (frame.type === MESSAGE.STREAM_ITEM) {
      if ((frame.flags & FRAME_FLAG.NUMBER) !== 0) {
        record.stream?.arrivedPlain(frame.number, frame.body, { graph: (frame.flags & FRAME_FLAG.GRAPH) !== 0, error: false });
        return;
      }
      const header = readAs(MESSAGES_TO_CALLER, MESSAGE.STREAM_ITEM, frame);
      const payload = new PayloadReader(frame.body, { copy: true }).next(header.item);
      if (payload.stored !== undefined) this.#options.onStored?.(payload.stored.location);
      record.stream?.arrivedPayload(header.index, payload);
      this.#read(header.held);
    }
  }

  #declined(frame: Frame, events: WorkerLinkEvents): void {
    const { callId } = frame;
    const record = this.#inFlight.get(callId);
    if (record === undefined) return;
    this.#inFlight.delete(callId);
    events.onDeclined(record, readAs(MESSAGES_TO_CALLER, MESSAGE.TASK_DECLINED, frame)?.lost ?? []);
  }

  #read(held: number | undefined): void {
    if (held === undefined) return;
    this.#heldRead = held;
    if (held % TELL_HELD_EVERY === 0) this.#options.onHeldRead?.(held);
  }

  #receive(frame: Frame, events: WorkerLinkEvents): void {
    if (frame.type !== MESSAGE.RESULT) {
      if (frame.type === MESSAGE.TASK_DECLINED) this.#declined(frame, events);
      else this.#receiveAhead(frame);
      return;
    }
    const record = this.#inFlight.get(frame.callId);
    if (record === undefined) return;
    this.#inFlight.delete(frame.callId);
    if ((frame.flags & FRAME_FLAG.NUMBER) !== 0) {
      const flags = { graph: (frame.flags & FRAME_FLAG.GRAPH) !== 0, error: (frame.flags & FRAME_FLAG.ERROR) !== 0 };
      events.onPlainResult(record, frame.body, flags, frame.number);
      return;
    }
    const header = readAs(MESSAGES_TO_CALLER, MESSAGE.RESULT, frame);
    const reader = new PayloadReader(frame.body, { copy: true });
    const returns = header.returns.map((part) => reader.next(part));
    for (const { stored } of returns) if (stored !== undefined) this.#options.onStored?.(stored.location);
    events.onResult(record, returns, header.durationUs);
    this.#read(header.held);
  }
}
