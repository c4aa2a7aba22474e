/**
 * A small file shared by the node daemon and one worker, so that an interrupt reaches the call it is meant for and no other.
 *
 * The worker writes which call it runs (`enter`, `leave`). The daemon first writes which call to stop, then checks whether that call runs. The worker first
 * writes that its call has ended, then checks whether it was to be stopped. So at least one side sees the other: either the daemon sends no signal, or the
 * worker knows that a signal is coming and waits for it before it runs anything else. The file lies in shared memory, where a read or a write takes about a
 * microsecond; neither side blocks for longer.
 *
 * A nested call that runs on its parent's worker keeps that worker from hearing that the parent is cancelled. So the slot also names the ancestors of the
 * running call, and a recursive request for one of them stops it. Only one signal is in flight at a time: a second one could hit the next call.
 *
 * While Shoal's own code runs in the task, the worker marks that, and the daemon sends no signal. It leaves its request, marked as
 * deferred, and the worker stops the task itself when that code has returned. The daemon sets the mark on its own request, so the worker
 * always knows whether a signal is coming.
 *
 * For each connection the slot also names the task that began last, however short. The daemon reads it when the worker has ended and tells the callers.
 * While tasks share the process, the slot names the one that runs: the death is that task's, and not that of those that wait there.
 */
import { BEGUN_MAX } from "../../limits.ts";
import { closeSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { sharedMemory } from "../../shared-memory.ts";

/** A call as both sides name it. */
export interface MarkedCall {
  /** The call's creator: 32 hex digits. */
  readonly caller: string;
  readonly callId: number;
}

const CALLER_LENGTH = 32;
const CALL_SIZE = 4 + CALLER_LENGTH;
/** Set to 1 by the worker while Shoal's own code runs in the call. */
const SHIELD_AT = 40;
/** A call and two bytes: 1 for recursive, and the daemon's decision. */
const REQUEST_SIZE = CALL_SIZE + 2;
const REQUEST_AT = 64;
const DECISION_AT = CALL_SIZE + 1;
const DECISION = { none: 0, sent: 1, deferred: 2 } as const;
/** How many calls the running one was made for, and these, the nearest first. */
const ANCESTORS_AT = 128;
const ANCESTORS_MAX = 100;
/** Pairs of words: a connection's lease, and the call of the connection that began last. */
const BEGUN_AT = ANCESTORS_AT + 4 + ANCESTORS_MAX * CALL_SIZE;
const WORD = 4;
const WORD_RANGE = 2 ** 32;
const FIRST_CALL_BIT = 2 ** 31;
/** 1 while tasks share the process; then the running call, the length of the name in bytes, and the name. */
const SHARED_AT = BEGUN_AT + BEGUN_MAX * 2 * WORD;
const SHARED_NAME_AT = SHARED_AT + WORD + CALL_SIZE + WORD;
const SHARED_NAME_MAX = 120;
const FILE_SIZE = SHARED_NAME_AT + SHARED_NAME_MAX;
const NOTHING = Buffer.alloc(REQUEST_SIZE);
/** After this time a signal has arrived, or never will. */
const SIGNAL_TAKES_MS = 40;

/** The mark of a first call: the connection that is made for the same lease later marks its calls with the lease's number. */
export function markOfFirst(leaseId: number): number {
  return (leaseId + FIRST_CALL_BIT) % WORD_RANGE;
}

/** The call to stop. */
export interface InterruptRequest {
  readonly recursive: boolean;
  /** Not the call that runs, but one that it was made for, on the same worker. */
  readonly isForAncestor: boolean;
  /** No signal is coming: Shoal's own code was running when the daemon looked. */
  readonly isDeferred: boolean;
}

/** The call that runs in a process that tasks share. */
export interface SharingCall extends MarkedCall {
  readonly name: string;
}

function write(call: MarkedCall, buffer: Buffer): void {
  buffer.writeUInt32LE(call.callId, 0);
  buffer.write(call.caller, 4, CALLER_LENGTH, "latin1");
}

/** The marked calls of one connection, which is named by the lease it was made for. */
export class BegunCalls {
  readonly #slot: WorkerInterruptSlot;
  readonly #leaseId: number;
  /** Where its call is marked; negative until one has begun, and after another connection has taken the place. */
  #at = -1;

  constructor(slot: WorkerInterruptSlot, leaseId: number) {
    this.#slot = slot;
    this.#leaseId = leaseId;
  }

  /** Called before any code of the call runs. Calls begin in the order of sending, so all earlier ones have begun, too. */
  begins(callId: number): void {
    if (this.#at < 0) this.#at = this.#slot.placeFor(this, this.#leaseId, callId);
    else this.#slot.writeWord(this.#at, callId);
  }

  placeTaken(): void {
    this.#at = -1;
  }
}

/** The worker's side of the file. */
export class WorkerInterruptSlot {
  readonly #fd: number;
  /** The file as memory, where a write costs nanoseconds; undefined without the native part: there it is a write to the file. */
  readonly #words: Uint32Array | undefined;
  readonly #word = new Uint32Array(1);
  /** The bytes behind the flag of a shared process. */
  readonly #sharing = Buffer.alloc(FILE_SIZE - SHARED_AT - WORD);
  readonly #begun: BegunCalls[] = [];
  #nextPlace = 0;
  readonly #call = Buffer.alloc(CALL_SIZE);
  readonly #request = Buffer.alloc(REQUEST_SIZE);
  #ancestors: Buffer = Buffer.alloc(0);

  /** The daemon has made the file. */
  constructor(path: string) {
    this.#fd = openSync(path, "r+");
    this.#words = mapped(this.#fd);
  }

  begunOf(leaseId: number): BegunCalls {
    return new BegunCalls(this, leaseId);
  }

  /** For `BegunCalls`: marks its first call. */
  placeFor(calls: BegunCalls, leaseId: number, callId: number): number {
    const place = this.#nextPlace;
    this.#nextPlace = (place + 1) % BEGUN_MAX;
    this.#begun[place]?.placeTaken();
    this.#begun[place] = calls;
    const at = BEGUN_AT / WORD + 2 * place;
    // Never shows the call of one connection with the lease of another.
    this.writeWord(at, 0);
    this.writeWord(at + 1, callId);
    this.writeWord(at, leaseId);
    return at + 1;
  }

  writeWord(at: number, value: number): void {
    if (this.#words !== undefined) {
      this.#words[at] = value;
      return;
    }
    this.#word[0] = value;
    writeSync(this.#fd, this.#word, 0, WORD, at * WORD);
  }

  /** `ancestors`: the calls of this worker that it was made for, the nearest first. */
  enter(call: MarkedCall, ancestors: readonly MarkedCall[] = []): void {
    if (ancestors.length > 0 || this.#ancestors.length > 0) this.#writeAncestors(ancestors);
    write(call, this.#call);
    writeSync(this.#fd, this.#call, 0, CALL_SIZE, 0);
  }

  /** The call that was entered last has ended, by itself or stopped. */
  leave(): void {
    writeSync(this.#fd, NOTHING, 0, CALL_SIZE, 0);
  }

  /** Names the call that runs while other tasks wait in this process; undefined where nothing runs, or nothing else waits. */
  share(call: SharingCall | undefined): void {
    // Never shows half a name: a process may be killed at any time.
    this.writeWord(SHARED_AT / WORD, 0);
    if (call === undefined) return;
    const sharing = this.#sharing;
    write(call, sharing);
    sharing.writeUInt32LE(sharing.write(call.name, CALL_SIZE + WORD, SHARED_NAME_MAX, "utf8"), CALL_SIZE);
    const size = CALL_SIZE + WORD + SHARED_NAME_MAX;
    if (this.#words === undefined) writeSync(this.#fd, sharing, 0, size, SHARED_AT + WORD);
    else new Uint8Array(this.#words.buffer).set(sharing, SHARED_AT + WORD);
    this.writeWord(SHARED_AT / WORD, 1);
  }

  /** From now until `lower` the daemon sends no signal, save for one that it has promised before. */
  raise(): void {
    this.#setShield(1);
  }

  lower(): void {
    this.#setShield(0);
  }

  #setShield(value: number): void {
    // A plain write may become visible after the read of the request that follows.
    if (this.#words !== undefined) Atomics.store(this.#words, SHIELD_AT / WORD, value);
    else this.writeWord(SHIELD_AT / WORD, value);
  }

  /** Whether there is a request: a few nanoseconds, where `interruptRequest` takes a microsecond. */
  get hasRequest(): boolean {
    // The first word of the caller, which is text.
    if (this.#words !== undefined) return Atomics.load(this.#words, (REQUEST_AT + 4) / WORD) !== 0;
    return this.interruptRequest() !== undefined;
  }

  #writeAncestors(ancestors: readonly MarkedCall[]): void {
    const count = Math.min(ancestors.length, ANCESTORS_MAX);
    const bytes = Buffer.alloc(4 + count * CALL_SIZE);
    bytes.writeUInt32LE(count, 0);
    for (let index = 0; index < count; index += 1) write(ancestors[index] as MarkedCall, bytes.subarray(4 + index * CALL_SIZE));
    writeSync(this.#fd, bytes, 0, bytes.length, ANCESTORS_AT);
    this.#ancestors = bytes.subarray(4);
  }

  /** Returns the request to stop the call that was entered last. */
  interruptRequest(): InterruptRequest | undefined {
    readSync(this.#fd, this.#request, 0, REQUEST_SIZE, REQUEST_AT);
    const recursive = this.#request[CALL_SIZE] === 1;
    const isDeferred = this.#request[DECISION_AT] === DECISION.deferred;
    const requested = this.#request.subarray(0, CALL_SIZE);
    if (this.#call.equals(requested)) return { recursive, isForAncestor: false, isDeferred };
    return recursive && includes(this.#ancestors, requested) ? { recursive, isForAncestor: true, isDeferred } : undefined;
  }

  /** Handles the signal's arrival. A request for another call stays. */
  interrupted(): void {
    if (this.interruptRequest() !== undefined) writeSync(this.#fd, NOTHING, 0, REQUEST_SIZE, REQUEST_AT);
  }
}

/** The daemon's side of the file; the daemon makes and removes it. */
export class DaemonInterruptSlot {
  readonly #path: string;
  readonly #fd: number;
  readonly #request = Buffer.alloc(REQUEST_SIZE);
  /** The file as it was read last. */
  readonly #read = Buffer.alloc(FILE_SIZE);
  #signalMs = Number.NEGATIVE_INFINITY;
  #hasDeferred = false;

  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, "wx+", 0o600);
    writeSync(this.#fd, Buffer.alloc(FILE_SIZE), 0, FILE_SIZE, 0);
  }

  /** Whether the worker stops the call of the last request itself, as Shoal's own code ran in the call. */
  get hasDeferred(): boolean {
    return this.#hasDeferred;
  }

  /** @returns whether the worker runs the call, or one that was made for it there: then, and only then, the signal must be sent. */
  requestInterrupt(call: MarkedCall & { recursive: boolean }): boolean {
    this.#hasDeferred = false;
    // A call that does not run needs no request, and the present request may be for a running call, with its signal under way.
    if (!this.#runs(call) || performance.now() - this.#signalMs < SIGNAL_TAKES_MS) return false;
    write(call, this.#request);
    this.#request[CALL_SIZE] = call.recursive ? 1 : 0;
    this.#request[DECISION_AT] = DECISION.none;
    writeSync(this.#fd, this.#request, 0, REQUEST_SIZE, REQUEST_AT);
    if (!this.#runs(call)) {
      writeSync(this.#fd, NOTHING, 0, REQUEST_SIZE, REQUEST_AT);
      return false;
    }
    const isShielded = this.#read[SHIELD_AT] === 1;
    this.#request[DECISION_AT] = isShielded ? DECISION.deferred : DECISION.sent;
    writeSync(this.#fd, this.#request, DECISION_AT, 1, REQUEST_AT + DECISION_AT);
    this.#hasDeferred = isShielded;
    if (isShielded) return false;
    this.#signalMs = performance.now();
    return true;
  }

  /** Whether the worker is known to run the call, or one that was made for it there. */
  isAt(call: MarkedCall & { recursive: boolean }): boolean {
    if (this.#runs(call)) return true;
    const sharing = this.sharing();
    return sharing?.callId === call.callId && sharing.caller === call.caller;
  }

  /** Whether the worker is known to run something else. */
  runsOther(call: MarkedCall & { recursive: boolean }): boolean {
    return !this.#runs(call) && this.#read.compare(NOTHING, 0, CALL_SIZE, 0, CALL_SIZE) !== 0;
  }

  /** The call that the worker runs, or ran when it ended; undefined between calls, and for calls too short to be marked. */
  running(): MarkedCall | undefined {
    readSync(this.#fd, this.#read, 0, FILE_SIZE, 0);
    const running = this.#read.subarray(0, CALL_SIZE);
    if (running.equals(NO_CALL)) return undefined;
    return { callId: running.readUInt32LE(0), caller: running.toString("latin1", 4, CALL_SIZE) };
  }

  /** The call that runs, or ran when the worker ended, in a process that tasks shared. */
  sharing(): SharingCall | undefined {
    readSync(this.#fd, this.#read, 0, FILE_SIZE, 0);
    if (this.#read.readUInt32LE(SHARED_AT) !== 1) return undefined;
    const call = this.#read.subarray(SHARED_AT + WORD);
    const length = Math.min(SHARED_NAME_MAX, call.readUInt32LE(CALL_SIZE));
    const name = this.#read.toString("utf8", SHARED_NAME_AT, SHARED_NAME_AT + length);
    return { callId: call.readUInt32LE(0), caller: call.toString("latin1", 4, CALL_SIZE), name };
  }

  /** Returns the call of each connection that began last in the worker, by the connection's lease. */
  begun(): [leaseId: number, callId: number][] {
    readSync(this.#fd, this.#read, 0, FILE_SIZE, 0);
    const begun: [leaseId: number, callId: number][] = [];
    for (let at = BEGUN_AT; at < SHARED_AT; at += 2 * WORD) {
      const leaseId = this.#read.readUInt32LE(at);
      if (leaseId !== 0) begun.push([leaseId, this.#read.readUInt32LE(at + WORD)]);
    }
    return begun;
  }

  remove(): void {
    closeSync(this.#fd);
    rmSync(this.#path, { force: true });
  }

  #runs(call: MarkedCall & { recursive: boolean }): boolean {
    const wanted = Buffer.alloc(CALL_SIZE);
    write(call, wanted);
    const length = readSync(this.#fd, this.#read, 0, FILE_SIZE, 0);
    const running = this.#read.subarray(0, CALL_SIZE);
    if (running.equals(wanted)) return true;
    if (!call.recursive || length < ANCESTORS_AT + 4 || running.equals(NO_CALL)) return false;
    const count = Math.min(this.#read.readUInt32LE(ANCESTORS_AT), ANCESTORS_MAX);
    return includes(this.#read.subarray(ANCESTORS_AT + 4, ANCESTORS_AT + 4 + count * CALL_SIZE), wanted);
  }
}

const NO_CALL = NOTHING.subarray(0, CALL_SIZE);

function mapped(fd: number): Uint32Array | undefined {
  try {
    const memory = sharedMemory()?.map({ fd, offset: 0, sizeBytes: FILE_SIZE, mode: "shared" });
    return memory === undefined ? undefined : new Uint32Array(memory);
  } catch {
    // The engine or the system refuses it.
    return undefined;
  }
}

function includes(calls: Buffer, call: Buffer): boolean {
  for (let at = 0; at < calls.length; at += CALL_SIZE) if (call.equals(calls.subarray(at, at + CALL_SIZE))) return true;
  return false;
}
