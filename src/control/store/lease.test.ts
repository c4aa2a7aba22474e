/** When a holder has to believe that it lost a lease: by its own clock, which here is moved by hand. */
import { describe, expect, test } from "vitest";
import { ControlPlaneUnavailableError } from "../control-errors.ts";
import type { StoreTransaction, TransactionResult } from "./control-store.ts";
import { acquireLease, type Lease, type LeaseClock } from "./lease.ts";
import { MemoryStore } from "./memory-store.ts";
import { MemoryTables } from "./memory-tables.ts";

/** Time for the holder and the store alike. */
class HandClock implements LeaseClock {
  #nowMs = 0;
  #timers: { atMs: number; run: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Each timer at its time, with the promises that it settles. */
  async advance(ms: number): Promise<void> {
    const end = this.#nowMs + ms;
    for (;;) {
      const next = this.#timers.filter(({ atMs }) => atMs <= end).sort((left, right) => left.atMs - right.atMs)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
      await settled();
    }
    this.#nowMs = end;
  }

  /** A process that was stopped: its time goes on and its timers do not run. */
  stop(ms: number): void {
    this.#nowMs += ms;
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

class SilentStore extends MemoryStore {
  isSilent = false;

  override async transaction(transaction: StoreTransaction): Promise<TransactionResult> {
    if (this.isSilent) throw new ControlPlaneUnavailableError("away");
    return await super.transaction(transaction);
  }
}

const VALUE = new Uint8Array([1]);

async function start(): Promise<{ clock: HandClock; store: SilentStore; lease: Lease }> {
  const clock = new HandClock();
  const store = new SilentStore(new MemoryTables({ timer: (delayMs, run) => clock.after(delayMs, run) }));
  const lease = await acquireLease(store, { key: "lease", value: VALUE, ttlMs: 4_000 }, clock);
  if (lease === undefined) throw new Error("the lease is not free");
  return { clock, store, lease };
}

describe("a lease", () => {
  test("is kept by renewals for as long as the holder lives", async () => {
    const { clock, store, lease } = await start();
    await clock.advance(60_000);
    expect(lease.isHeld).toBe(true);
    expect(await store.get("lease")).toMatchObject({ revision: lease.revision });
    await lease.release();
    expect(await store.get("lease")).toBeUndefined();
  });

  test("is lost before its key vanishes, when the store is silent", async () => {
    const { clock, store, lease } = await start();
    store.isSilent = true;
    let keyWasThere: unknown;
    lease.lost.addEventListener("abort", () => {
      keyWasThere = store.get("lease");
    });
    await clock.advance(3_000);
    expect(lease.isHeld).toBe(false);
    expect(await keyWasThere).toBeDefined();
    await clock.advance(1_500);
    expect(await store.get("lease")).toBeUndefined();
  });

  test("is not held by a process that was stopped, even before its timers run", async () => {
    const { clock, lease } = await start();
    clock.stop(3_000);
    expect(lease.lost.aborted).toBe(false);
    expect(lease.isHeld).toBe(false);
  });

  test("is lost when its key was written by somebody else", async () => {
    const { clock, store, lease } = await start();
    await store.transaction({ writes: [{ key: "lease", value: VALUE }] });
    await clock.advance(1_000);
    expect(lease.lost.reason).toMatchObject({ reason: "its key vanished or was written by somebody else" });
  });

  test("released while a renewal is under way leaves no key behind", async () => {
    const { clock, store, lease } = await start();
    const { promise, resolve } = Promise.withResolvers<void>();
    const real = store.transaction.bind(store);
    store.transaction = async (transaction) => {
      const result = await real(transaction);
      await promise;
      return result;
    };
    await clock.advance(1_000);
    store.transaction = real;
    await lease.release();
    resolve();
    await settled();
    expect(await store.get("lease")).toBeUndefined();
  });
});
