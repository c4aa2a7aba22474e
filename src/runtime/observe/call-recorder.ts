/**
 * Records the calls of one process: running calls in slots, ended calls in a ring and in counters by function.
 *
 * Writes to memory that the daemon reads from outside, so a call costs no message, and a process that computes or was killed is still
 * seen. The clock is never read for a call that returns. Everything is bounded: more functions, callers or running calls are counted together.
 */
import type { ActorId } from "../base/ids.ts";
import {
  CALLERS_MAX,
  DEFINITIONS_BYTES_MAX,
  FUNCTIONS_MAX,
  NAME_CHARACTERS_MAX,
  RING_SIZE_MAX,
  RING_SIZE_MIN,
  SLOTS_MAX,
} from "./limits.ts";
import {
  CALL,
  CALL_STATE,
  CALL_TIMES,
  COUNTERS_AT,
  DEFINITIONS_AT,
  HEADER,
  HEADER_TIMES,
  MAGIC,
  OUTCOMES,
  RING_AT,
  SLOTS_AT,
  VERSION,
} from "./observation-layout.ts";

/** Where a function keeps its number, so that a call looks nothing up. */
export interface RecordedFunction {
  /** -1 until a call has been recorded. */
  recordNumber: number;
  /** Under which name it has that number. */
  recordName: string;
}

/** A call as its caller has sent it. */
interface RecordedCall {
  readonly callId: number;
  /** Number of the process that made the parent call; 0 where the call has no parent. */
  readonly parentCaller: number;
  readonly parentId: number;
  readonly attempt: number;
}

type RecordedOutcome = "finished" | "failed" | "cancelled";

/** Text of an error for the daemon. */
export interface CallFailure {
  readonly caller: string;
  readonly callId: number;
  readonly type: string;
  readonly message: string;
  readonly stack: string;
}

const FAILURES_A_SECOND = 100;
const MESSAGE_CHARACTERS_MAX = 4096;
const STACK_CHARACTERS_MAX = 8192;

const WORD = 4;
const TIME = 8;

export class CallRecorder {
  /** Sends the text of a failure to the daemon. */
  tellFailure: ((failure: CallFailure) => void) | undefined;
  readonly #stackOf: (error: Error) => string | undefined;
  readonly #words: Uint32Array;
  readonly #times: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #freeSlots = new Uint16Array(SLOTS_MAX);
  #freeCount = SLOTS_MAX;
  readonly #functions = new Map<string, number>();
  readonly #callers = new Map<string, number>();
  #written = 0;
  #ringSize = RING_SIZE_MIN;
  #definitionBytes = 0;
  #failuresLeft = FAILURES_A_SECOND;
  #failuresSinceMs = 0;

  /** @param memory - zeros, of `OBSERVATION_LENGTH` */
  /** @param stackOf - reads the stack as users see it. Default: whole */
  constructor(memory: ArrayBuffer, stackOf: (error: Error) => string | undefined = ({ stack }) => stack) {
    this.#stackOf = stackOf;
    this.#words = new Uint32Array(memory);
    this.#times = new Float64Array(memory);
    this.#bytes = new Uint8Array(memory);
    for (let index = 0; index < SLOTS_MAX; index += 1) this.#freeSlots[index] = SLOTS_MAX - 1 - index;
    this.#words[HEADER.version] = VERSION;
    this.#words[HEADER.ringSize] = this.#ringSize;
    this.#times[HEADER_TIMES.origin] = performance.timeOrigin;
    // Last: from now on the file is whole.
    this.#words[HEADER.magic] = MAGIC;
  }

  /** Returns the number of a calling process, which is named by the prefix of task ids. */
  callerNumber(taskIdPrefix: string): number {
    let number = this.#callers.get(taskIdPrefix);
    if (number === undefined) {
      number = this.#callers.size + 1;
      if (number >= CALLERS_MAX || !this.#define(["c", number, taskIdPrefix])) return 0;
      this.#callers.set(taskIdPrefix, number);
    }
    return number;
  }

  functionNumber(fn: RecordedFunction, name: string, actor: ActorId | undefined): number {
    if (fn.recordName === name && fn.recordNumber >= 0) return fn.recordNumber;
    const key = `${actor ?? ""} ${name}`;
    let number = this.#functions.get(key);
    if (number === undefined) {
      number = this.#functions.size + 1;
      if (number >= FUNCTIONS_MAX || !this.#define(["f", number, name.slice(0, NAME_CHARACTERS_MAX), actor ?? ""])) number = 0;
      else this.#functions.set(key, number);
    }
    fn.recordName = name;
    fn.recordNumber = number;
    return number;
  }

  /** @returns the call's slot, for `ends`; -1 without a free one */
  begins(fn: number, caller: number, call: RecordedCall, startMs: number): number {
    if (this.#freeCount === 0) {
      (this.#words[HEADER.overflow] as number) += 1;
      return -1;
    }
    this.#freeCount -= 1;
    const slot = this.#freeSlots[this.#freeCount] as number;
    const at = SLOTS_AT / WORD + slot * CALL.words;
    const words = this.#words;
    words[at + CALL.fn] = fn;
    words[at + CALL.callId] = call.callId;
    words[at + CALL.caller] = caller;
    words[at + CALL.parentCaller] = call.parentCaller;
    words[at + CALL.parentId] = call.parentId;
    words[at + CALL.attempt] = call.attempt;
    this.#times[SLOTS_AT / TIME + slot * CALL_TIMES.times + CALL_TIMES.start] = startMs;
    words[at + CALL.state] = CALL_STATE.running;
    return slot;
  }

  /** Records the end of a call that has begun. A call beyond the slots is only counted. */
  ends(slot: number, fn: number, outcome: RecordedOutcome, endMs: number): void {
    const words = this.#words;
    (words[COUNTERS_AT / WORD + fn * OUTCOMES + CALL_STATE[outcome]] as number) += 1;
    if (slot < 0) {
      (words[HEADER.overflow] as number) -= 1;
      return;
    }
    const from = SLOTS_AT / WORD + slot * CALL.words;
    const number = this.#written;
    const place = number % this.#ringSize;
    const at = RING_AT / WORD + place * CALL.words;
    const timeAt = RING_AT / TIME + place * CALL_TIMES.times;
    words[at + CALL.state] = CALL_STATE[outcome];
    words[at + CALL.fn] = fn;
    words[at + CALL.callId] = words[from + CALL.callId] as number;
    words[at + CALL.caller] = words[from + CALL.caller] as number;
    words[at + CALL.parentCaller] = words[from + CALL.parentCaller] as number;
    words[at + CALL.parentId] = words[from + CALL.parentId] as number;
    words[at + CALL.attempt] = words[from + CALL.attempt] as number;
    this.#times[timeAt + CALL_TIMES.start] = this.#times[SLOTS_AT / TIME + slot * CALL_TIMES.times + CALL_TIMES.start] as number;
    this.#times[timeAt + CALL_TIMES.end] = endMs;
    words[at + CALL.sequence] = number;
    this.#written = number + 1;
    this.#times[HEADER_TIMES.written] = number + 1;
    words[from + CALL.state] = CALL_STATE.none;
    this.#freeSlots[this.#freeCount] = slot;
    this.#freeCount += 1;
    if ((number + 1) % this.#ringSize === 0) this.#lapEnds();
  }

  /** Gives a slot back without a record: the call goes to another process. */
  forget(slot: number): void {
    if (slot < 0) {
      (this.#words[HEADER.overflow] as number) -= 1;
      return;
    }
    this.#words[SLOTS_AT / WORD + slot * CALL.words + CALL.state] = CALL_STATE.none;
    this.#freeSlots[this.#freeCount] = slot;
    this.#freeCount += 1;
  }

  /** Sends the text of an error; at most 100 a second. Reads nothing that may run code of the user twice. */
  failed(caller: string, callId: number, error: unknown): void {
    if (this.tellFailure === undefined) return;
    const nowMs = performance.now();
    if (nowMs - this.#failuresSinceMs > 1000) {
      this.#failuresSinceMs = nowMs;
      this.#failuresLeft = FAILURES_A_SECOND;
    }
    if (this.#failuresLeft === 0) return;
    this.#failuresLeft -= 1;
    const { type, message, stack } = this.#textsOf(error);
    this.tellFailure({
      caller,
      callId,
      type: type.slice(0, NAME_CHARACTERS_MAX),
      message: message.slice(0, MESSAGE_CHARACTERS_MAX),
      stack: stack.slice(0, STACK_CHARACTERS_MAX),
    });
  }

  /**
   * Doubles the ring while the daemon reads less than is written. Only after an odd number of laps: then the records of this lap keep their
   * places in the larger ring.
   */
  #lapEnds(): void {
    const unread = this.#written - (this.#times[HEADER_TIMES.read] as number);
    if (this.#ringSize >= RING_SIZE_MAX || unread < this.#ringSize / 2 || (this.#written / this.#ringSize) % 2 !== 1) return;
    this.#ringSize *= 2;
    this.#words[HEADER.ringSize] = this.#ringSize;
  }

  /** A thrown value may be a proxy that throws at every look. */
  #textsOf(error: unknown): { type: string; message: string; stack: string } {
    try {
      if (error instanceof Error) return { type: error.name, message: error.message, stack: this.#stackOf(error) ?? "" };
      return { type: typeof error, message: String(error), stack: "" };
    } catch {
      return { type: "unknown", message: "its error cannot be read", stack: "" };
    }
  }

  #define(definition: readonly (string | number)[]): boolean {
    const line = Buffer.from(`${JSON.stringify(definition)}\n`);
    if (this.#definitionBytes + line.length > DEFINITIONS_BYTES_MAX) return false;
    this.#bytes.set(line, DEFINITIONS_AT + this.#definitionBytes);
    this.#definitionBytes += line.length;
    this.#words[HEADER.definitionBytes] = this.#definitionBytes;
    return true;
  }
}
