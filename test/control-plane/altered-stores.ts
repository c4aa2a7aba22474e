/**
 * Stores that behave worse than a control store may: faults, which every workload has to survive, and mutations, which the checks have to find.
 *
 * Each wraps a real store and alters its messages, so that the test runs the code as it ships.
 */
import { ControlPlaneUnavailableError, UnknownOutcomeError } from "../../src/runtime/control-plane/control-plane-errors.ts";
import type { ControlStore, StoreEntry, StoreTransaction, TransactionResult } from "../../src/runtime/control-plane/control-store.ts";
import { sleep } from "./nats-servers.ts";
import type { RandomNumbers } from "./workloads.ts";

/** Passes everything on. */
export class StoreBefore implements ControlStore {
  protected readonly inner: ControlStore;
  constructor(inner: ControlStore) {
    this.inner = inner;
  }
  get(key: string): Promise<StoreEntry | undefined> {
    return this.inner.get(key);
  }
  list(prefix: string): Promise<readonly StoreEntry[]> {
    return this.inner.list(prefix);
  }
  transaction(transaction: StoreTransaction): Promise<TransactionResult> {
    return this.inner.transaction(transaction);
  }
  compact(): Promise<void> {
    return this.inner.compact();
  }
  close(): Promise<void> {
    return this.inner.close();
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Behaves like a network: every answer takes its time, and of fifty transactions one is not sent, one is applied without an answer, one is
 * lost.
 */
export class FaultyStore extends StoreBefore {
  readonly #random: RandomNumbers;

  constructor(inner: ControlStore, random: RandomNumbers) {
    super(inner);
    this.#random = random;
  }

  override async get(key: string): Promise<StoreEntry | undefined> {
    await sleep(this.#random.below(3));
    return await this.inner.get(key);
  }

  override async transaction(transaction: StoreTransaction): Promise<TransactionResult> {
    await sleep(this.#random.below(3));
    const fate = this.#random.below(50);
    if (fate === 0) throw new ControlPlaneUnavailableError("not sent");
    if (fate === 1) throw new UnknownOutcomeError("lost on the way");
    const result = await this.inner.transaction(transaction);
    if (fate === 2) throw new UnknownOutcomeError("the answer was lost");
    return result;
  }
}

/** Mutation: reads the state from a few changes ago, as a replica that lags behind. */
export class StaleStore extends StoreBefore {
  readonly #before = new Map<string, StoreEntry | undefined>();

  override async get(key: string): Promise<StoreEntry | undefined> {
    const before = this.#before.get(key);
    const hadRead = this.#before.has(key);
    this.#before.set(key, await this.inner.get(key));
    return hadRead ? before : this.#before.get(key);
  }
}

/** Mutation: some checks are not made. */
export class UncheckedStore extends StoreBefore {
  readonly #isIgnored: (key: string) => boolean;

  constructor(inner: ControlStore, isIgnored: (key: string) => boolean) {
    super(inner);
    this.#isIgnored = isIgnored;
  }

  override transaction(transaction: StoreTransaction): Promise<TransactionResult> {
    return this.inner.transaction({ ...transaction, checks: (transaction.checks ?? []).filter(({ key }) => !this.#isIgnored(key)) });
  }
}

/** Mutation: a transaction is applied write by write. */
export class TornStore extends StoreBefore {
  override async transaction({ checks = [], writes }: StoreTransaction): Promise<TransactionResult> {
    const revisions: number[] = [];
    for (const write of writes) {
      const own = checks.filter(({ key }) => key === write.key);
      const result = await this.inner.transaction({ checks: own, writes: [write] });
      if (!result.committed) return result;
      revisions.push(...result.revisions);
    }
    return { committed: true, revisions };
  }
}
