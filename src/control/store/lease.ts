/**
 * A key that is there for as long as its holder is: it vanishes when the holder has been silent for `ttlMs`.
 *
 * Works on every control store, by writes with a time to live. Decides when the holder has to believe that it lost the lease, which must be
 * before anybody else can see the key gone: it counts from before it sent its last renewal that was accepted, on its own clock, and gives up at three
 * quarters of the time, so that a store without a leader, a stopped process or a lost network all end the same way. Invariant: `lost`, once
 * aborted, stays so; who wants the lease again acquires a new one.
 */
import { ShoalError } from "../../base/errors.ts";
import type { ControlStore, StoreWrite } from "./control-store.ts";

/** Renewals in the time to live: one may be late or lost. */
const RENEWALS_PER_TTL = 4;
const HELD_FRACTION = 0.75;

interface LeaseOptions {
  readonly key: string;
  readonly value: Uint8Array;
  /** 2,000 or more: the store counts whole seconds. */
  readonly ttlMs: number;
}

export interface LeaseClock {
  /** Never goes back. */
  nowMs(): number;
  /** Runs something later; returns what takes it back. */
  after(delayMs: number, run: () => void): () => void;
}

const realClock: LeaseClock = {
  nowMs: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/** @returns undefined when the key exists: somebody else holds the lease. */
export async function acquireLease(store: ControlStore, options: LeaseOptions, clock: LeaseClock = realClock): Promise<Lease | undefined> {
  if (!(options.ttlMs >= 2_000)) throw new RangeError(`Cannot acquire a lease: ttlMs is at least 2000: received ${options.ttlMs}`);
  const sentAtMs = clock.nowMs();
  const { key, ttlMs } = options;
  const result = await store.transaction({
    checks: [{ key, revision: 0 }],
    writes: [writeOf(options)],
    // An answer that comes later would be to a lease that is lost already.
    timeoutMs: ttlMs * HELD_FRACTION,
  });
  return result.committed ? new Lease({ store, options, clock, sentAtMs, revision: result.revisions[0] as number }) : undefined;
}

interface LeaseStart {
  readonly store: ControlStore;
  readonly options: LeaseOptions;
  readonly clock: LeaseClock;
  readonly sentAtMs: number;
  readonly revision: number;
}

export class Lease implements AsyncDisposable {
  readonly #store: ControlStore;
  readonly #options: LeaseOptions;
  readonly #clock: LeaseClock;
  readonly #lost = new AbortController();
  #revision: number;
  #heldUntilMs: number;
  #cancelRenewal: () => void = () => {};
  #cancelLoss: () => void = () => {};

  constructor({ store, options, clock, sentAtMs, revision }: LeaseStart) {
    this.#store = store;
    this.#options = options;
    this.#clock = clock;
    this.#revision = revision;
    this.#heldUntilMs = sentAtMs + options.ttlMs * HELD_FRACTION;
    this.#schedule();
  }

  /** Aborted when the holder can no longer be sure; `reason` is an error that says why. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Also true to the moment in a process that was stopped, whose timers come late. */
  get isHeld(): boolean {
    return !this.#lost.signal.aborted && this.#clock.nowMs() < this.#heldUntilMs;
  }

  /** The last write of the key: a check on it in a transaction makes that transaction the holder's own. */
  get revision(): number {
    return this.#revision;
  }

  /** Deletes the key now, if it is still this holder's. */
  async release(): Promise<void> {
    if (this.#lost.signal.aborted) return;
    this.#lose("it was released");
    await this.#delete();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  #schedule(): void {
    const nowMs = this.#clock.nowMs();
    this.#cancelRenewal = this.#clock.after(this.#options.ttlMs / RENEWALS_PER_TTL, () => void this.#renew());
    this.#cancelLoss();
    this.#cancelLoss = this.#clock.after(Math.max(0, this.#heldUntilMs - nowMs), () => this.#lose("it could not be renewed in time"));
  }

  async #renew(): Promise<void> {
    if (this.#lost.signal.aborted) return;
    const sentAtMs = this.#clock.nowMs();
    const { key, ttlMs } = this.#options;
    try {
      const result = await this.#store.transaction({
        checks: [{ key, revision: this.#revision }],
        writes: [writeOf(this.#options)],
        timeoutMs: Math.max(1, this.#heldUntilMs - sentAtMs),
      });
      if (!result.committed) {
        this.#lose("its key vanished or was written by somebody else");
        return;
      }
      this.#revision = result.revisions[0] as number;
      this.#heldUntilMs = sentAtMs + ttlMs * HELD_FRACTION;
      if (this.#lost.signal.aborted) await this.#delete();
      else this.#schedule();
    } catch (error) {
      this.#lose(`the store did not answer: ${String(error)}`);
    }
  }

  /** After a renewal that was under way at the release, the key has the revision of that renewal: it is deleted when that is known. */
  async #delete(): Promise<void> {
    const { key } = this.#options;
    await this.#store.transaction({ checks: [{ key, revision: this.#revision }], writes: [{ key }] });
  }

  #lose(why: string): void {
    this.#cancelRenewal();
    this.#cancelLoss();
    this.#lost.abort(new ShoalError(`The lease on ${this.#options.key} is lost: ${why}.`, { reason: why }));
  }
}

function writeOf({ key, value, ttlMs }: LeaseOptions): StoreWrite {
  return { key, value, ttlMs };
}
