/**
 * A small file between the node daemon and one worker, by which a signal meets the call that it is meant for and no other.
 *
 * The worker writes which call it runs (`enter`, `leave`); the daemon writes which call is to be stopped, and only then looks whether that one runs.
 * The worker, in turn, first says that its call has ended and only then looks whether it was to be stopped. So of the two at least one sees the other:
 * either the daemon sends no signal, or the worker knows that one is coming and waits for it before it runs anything else. The file lies in
 * shared memory, where a read or write of it takes about a microsecond; both sides block for no longer.
 */
import { closeSync, openSync, readSync, rmSync, writeSync } from "node:fs";

/** A call as both sides name it. */
export interface MarkedCall {
  /** Who made it: 32 hex digits. */
  readonly caller: string;
  readonly callId: number;
}

const CALLER_LENGTH = 32;
const CALL_SIZE = 4 + CALLER_LENGTH;
/** A call and a byte: 1 for recursive. */
const WISH_SIZE = CALL_SIZE + 1;
const WISH_AT = 64;
const FILE_SIZE = 128;
const NOTHING = Buffer.alloc(WISH_SIZE);

function write(call: MarkedCall, buffer: Buffer): void {
  buffer.writeUInt32LE(call.callId, 0);
  buffer.write(call.caller, 4, CALLER_LENGTH, "latin1");
}

/** What the worker does with the file. */
export class WorkerMark {
  readonly #fd: number;
  readonly #call = Buffer.alloc(CALL_SIZE);
  readonly #wish = Buffer.alloc(WISH_SIZE);

  /** The daemon has made the file. */
  constructor(path: string) {
    this.#fd = openSync(path, "r+");
  }

  enter(call: MarkedCall): void {
    write(call, this.#call);
    writeSync(this.#fd, this.#call, 0, CALL_SIZE, 0);
  }

  /** The call that was entered last has ended, by itself or stopped. */
  leave(): void {
    writeSync(this.#fd, NOTHING, 0, CALL_SIZE, 0);
  }

  /** Whether the call that was entered last is to be stopped. */
  wish(): { recursive: boolean } | undefined {
    readSync(this.#fd, this.#wish, 0, WISH_SIZE, WISH_AT);
    if (this.#call.compare(this.#wish, 0, CALL_SIZE) !== 0) return undefined;
    return { recursive: this.#wish[CALL_SIZE] === 1 };
  }

  /** The signal has come. A wish for another call stays. */
  wishGranted(): void {
    if (this.wish() !== undefined) writeSync(this.#fd, NOTHING, 0, WISH_SIZE, WISH_AT);
  }
}

/** What the daemon does with the file, which it makes and removes. */
export class DaemonMark {
  readonly #path: string;
  readonly #fd: number;
  readonly #wish = Buffer.alloc(WISH_SIZE);
  readonly #running = Buffer.alloc(CALL_SIZE);

  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, "wx+", 0o600);
    writeSync(this.#fd, Buffer.alloc(FILE_SIZE), 0, FILE_SIZE, 0);
  }

  /** @returns whether the worker runs the call: then, and only then, the signal must be sent. */
  wishEnd(call: MarkedCall & { recursive: boolean }): boolean {
    write(call, this.#wish);
    this.#wish[CALL_SIZE] = call.recursive ? 1 : 0;
    writeSync(this.#fd, this.#wish, 0, WISH_SIZE, WISH_AT);
    if (this.#runs(call)) return true;
    writeSync(this.#fd, NOTHING, 0, WISH_SIZE, WISH_AT);
    return false;
  }

  /** Whether the worker is known to run something else. */
  runsOther(call: MarkedCall): boolean {
    return !this.#runs(call) && this.#running.compare(NOTHING, 0, CALL_SIZE) !== 0;
  }

  remove(): void {
    closeSync(this.#fd);
    rmSync(this.#path, { force: true });
  }

  #runs(call: MarkedCall): boolean {
    write(call, this.#wish);
    readSync(this.#fd, this.#running, 0, CALL_SIZE, 0);
    return this.#running.compare(this.#wish, 0, CALL_SIZE) === 0;
  }
}
