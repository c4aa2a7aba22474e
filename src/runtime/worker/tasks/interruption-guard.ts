/**
 * Decides which calls can be interrupted while they compute, and what an interruption means for the worker.
 *
 * A frame that SIGINT can stop costs about 20 us. Most functions are short, and that would be too much for them. The
 * guard therefore covers only calls whose synchronous part takes 5 ms or more on average, or has never been measured.
 * A short function that does not end costs its worker instead (core/calls/cancellation/call-cancellation.ts).
 *
 * The interrupt slot (runtime/os/processes/memory/interrupt-slot.ts) keeps a signal from reaching any other call, and this
 * file is the worker's side of that protocol. A signal never stops Shoal's own code half way: an interruption waits
 * until that code has returned.
 */
import { libraryCode, type LibraryShield } from "../../base/library-code.ts";
import { blockFor, runInterruptible } from "../../os/processes/memory/interruptible.ts";
import type {
  BegunCalls,
  MarkedCall,
  InterruptRequest,
  SharingCall,
  WorkerInterruptSlot,
} from "../../os/processes/memory/interrupt-slot.ts";
import type { RecordedFunction } from "../../observe/call-recorder.ts";
import { SIGNAL_WITHIN_MS } from "../limits.ts";

const GUARD_FROM_MS = 5;

/** How long a function computes before it returns or first awaits. */
export interface Measured {
  /** Mean in milliseconds; infinite before the first run. */
  syncMs: number;
}

/** Exception that `run` throws when the call was stopped. */
export class Interruption {
  // oxlint-disable-next-line no-unused-private-class-members -- looked for by `is`
  readonly #brand = true;
  /** The call that was to be stopped, with or without its children; undefined for a signal that nobody here sent. */
  readonly request: InterruptRequest | undefined;
  /** Whether a stray signal stopped Shoal's own code half way. The process can no longer be relied on then. */
  readonly isUnsafe: boolean;

  constructor(request: InterruptRequest | undefined, isUnsafe: boolean) {
    this.request = request;
    this.isUnsafe = isUnsafe;
  }

  /** Tests without reading the value: a task may throw a proxy, and even `instanceof` asks a proxy. */
  static is(thrown: unknown): thrown is Interruption {
    return typeof thrown === "object" && thrown !== null && #brand in thrown;
  }
}

/** Run time of a function that has never run. */
export function unmeasured(): Measured & RecordedFunction {
  return { syncMs: Number.POSITIVE_INFINITY, recordNumber: -1, recordName: "" };
}

export function isGuarded(measured: Measured): boolean {
  return measured.syncMs >= GUARD_FROM_MS;
}

export function measure(measured: Measured, ms: number): void {
  measured.syncMs = measured.syncMs === Number.POSITIVE_INFINITY ? ms : measured.syncMs * 0.8 + ms * 0.2;
}

interface GuardedCall extends MarkedCall {
  readonly ancestors?: readonly MarkedCall[] | undefined;
}

export class InterruptionGuard {
  readonly #slot: WorkerInterruptSlot;
  readonly #shield: LibraryShield = { raise: () => this.#raise(), lower: () => this.#lower() };
  /** Waits to be stopped, at a point where Shoal's own code may be interrupted. */
  #isStopping = false;

  constructor(slot: WorkerInterruptSlot) {
    this.#slot = slot;
  }

  /** Marks each call of a connection as it begins, guarded or not. */
  begunOf(leaseId: number): BegunCalls {
    return this.#slot.begunOf(leaseId);
  }

  /** Names the call that runs while other tasks wait in this process. */
  share(call: SharingCall | undefined): void {
    this.#slot.share(call);
  }

  /**
   * Runs `body` as `call`, given with the calls that it was made for on this worker, the nearest first.
   *
   * @throws Interruption when the call was stopped; otherwise the error of the body
   */
  run<T>({ ancestors, ...call }: GuardedCall, body: () => T): T {
    const slot = this.#slot;
    let ended: { value: T } | { error: unknown } | undefined;
    libraryCode.isRunning = false;
    libraryCode.shield = this.#shield;
    this.#isStopping = false;
    const wasStopped = !runInterruptible(() => {
      slot.enter(call, ancestors);
      try {
        ended = { value: body() };
      } catch (error) {
        ended = { error };
      }
      slot.leave();
      this.#awaitSignal();
    });
    libraryCode.shield = undefined;
    if (wasStopped) {
      const request = slot.interruptRequest();
      slot.leave();
      slot.lower();
      slot.interrupted();
      const isUnsafe = libraryCode.isRunning && !this.#isStopping;
      libraryCode.isRunning = false;
      if (ended === undefined) throw new Interruption(request, isUnsafe);
    }
    if (ended === undefined || "error" in ended) throw ended?.error;
    return ended.value;
  }

  /** Keeps the signal from the next call, because this one ended by itself as it was about to be stopped. */
  #awaitSignal(): void {
    this.#whileRequested((isDeferred) => !isDeferred);
    this.#slot.interrupted();
  }

  #raise(): void {
    this.#slot.raise();
    if (this.#slot.hasRequest) this.#stop();
  }

  #lower(): void {
    if (this.#slot.hasRequest) this.#stop();
    this.#slot.lower();
  }

  /**
   * Lets the daemon stop the call before Shoal's own code begins or after it has returned. Awaits the daemon's
   * signal. When the daemon has deferred the signal, sends it itself: with the shield up the daemon sends none.
   */
  #stop(): void {
    this.#isStopping = true;
    let isSent = false;
    this.#whileRequested((isDeferred) => {
      if (isDeferred && !isSent) {
        isSent = true;
        process.kill(process.pid, "SIGINT");
      }
      return true;
    });
    this.#isStopping = false;
  }

  /**
   * Blocks while a request for this call exists, at most a second because its sender may have ended. The signal
   * arrives in that time.
   */
  #whileRequested(goesOn: (isDeferred: boolean) => boolean): void {
    const end = performance.now() + SIGNAL_WITHIN_MS;
    for (let request = this.#slot.interruptRequest(); request !== undefined; request = this.#slot.interruptRequest()) {
      if (!goesOn(request.isDeferred) || performance.now() >= end) return;
      blockFor(1);
    }
  }
}
