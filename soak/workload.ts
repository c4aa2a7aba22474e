/**
 * Work of the soak: tasks, chains, nested tasks, large objects, streams, actors and cancellations, each with its expected value.
 *
 * A call's promise ends in one of three ways: with the value that is right, with an error that a kill or a cancellation explains, or with a problem. The number in flight is
 * kept steady by `step`, which waits while there are enough.
 */
import { type ActorHandle, cancel, get, type ObjectRef, objectStoreStatistics, put, remote, ShoalError, TaskError } from "shoal";
import type { Random } from "./random.ts";

const IN_FLIGHT = 200;
const LARGE_BYTES = 300_000;
const ACTORS = 3;

/** Possible errors of a call after a kill or a cancellation. */
const EXPLAINED = new Set([
  "WorkerCrashedError",
  "ActorDiedError",
  "ActorUnavailableError",
  "TaskCancelledError",
  "OwnerDiedError",
  "ObjectLostError",
  "ObjectReconstructionFailedError",
]);

const add = remote((a: number, b: number): number => a + b);
const spin = remote((ms: number, value: number): number => {
  const end = Date.now() + ms;
  while (Date.now() < end);
  return value;
});
const nested = remote(async (depth: number): Promise<number> => {
  const one = remote((value: number): number => value);
  const refs = Array.from({ length: depth }, (_, index) => one.remote(index));
  return (await get(refs)).reduce((sum, value) => sum + value, 0);
});
const fill = remote((sizeBytes: number, byte: number): Uint8Array => new Uint8Array(sizeBytes).fill(byte));
const sumOf = remote((bytes: Uint8Array): number => bytes.reduce((sum, byte) => sum + byte, 0));
const fail = remote((text: string): never => {
  throw new RangeError(text);
});
const count = remote(function* (items: number): Generator<number> {
  for (let item = 0; item < items; item += 1) yield item;
});

class Ledger {
  #sum = 0;
  add(value: number): number {
    this.#sum += value;
    return this.#sum === 0 ? 0 : value;
  }
  async slow(value: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 2));
    return value;
  }
}
const LedgerActor = remote(Ledger, { maxRestarts: -1, maxTaskRetries: 5 });

export class Workload {
  ended = 0;
  failedByFaults = 0;
  readonly #random: Random;
  readonly #onProblem: (problem: string) => void;
  readonly #open = new Set<Promise<void>>();
  readonly #actors: ActorHandle<Ledger>[] = [];

  constructor(random: Random, onProblem: (problem: string) => void) {
    this.#random = random;
    this.#onProblem = onProblem;
    for (let index = 0; index < ACTORS; index += 1) this.#actors.push(LedgerActor.remote());
  }

  get inFlight(): number {
    return this.#open.size;
  }

  async step(): Promise<void> {
    while (this.#open.size < IN_FLIGHT) this.#submit();
    await Promise.race(this.#open);
  }

  /** Waits for open calls. @returns how many had not ended in time */
  async finish(withinMs: number): Promise<number> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([Promise.all(this.#open), late]);
    clearTimeout(timer);
    for (const actor of this.#actors) actor[Symbol.dispose]();
    return this.#open.size;
  }

  /** Bytes in the store once everything has been let go of. */
  async objectsLeft(): Promise<number> {
    const used = async (): Promise<number> => await storeUsedBytes();
    const end = performance.now() + 20_000;
    let bytes = await used();
    while (bytes > 0 && performance.now() < end) {
      (globalThis as { gc?: () => void }).gc?.();
      await new Promise((resolve) => setTimeout(resolve, 200));
      bytes = await used();
    }
    return bytes;
  }

  #submit(): void {
    const random = this.#random;
    const a = random.below(1000);
    const kind = random.below(100);
    if (kind < 40) this.#expect("add", add.remote(a, 1), a + 1);
    else if (kind < 50) this.#expect("chain", add.remote(add.remote(add.remote(a, 1), 1), 1), a + 3);
    else if (kind < 58) this.#expect("spin", spin.remote(random.below(5), a), a);
    else if (kind < 63) this.#expect("nested", nested.remote(5), 10);
    else if (kind < 68) this.#expect("large result", sumOf.remote(fill.remote(LARGE_BYTES, 1)), LARGE_BYTES);
    else if (kind < 72) this.#expect("large argument", sumOf.remote(put(new Uint8Array(LARGE_BYTES).fill(2))), 2 * LARGE_BYTES);
    else if (kind < 77) this.#expectFailure(String(a));
    else if (kind < 80) this.#track("stream", this.#stream(random.below(20)));
    else if (kind < 83) this.#cancelled(a);
    else if (kind < 93) this.#expect("actor", random.pick(this.#actors).add.remote(a), a);
    else this.#expect("async actor", random.pick(this.#actors).slow.remote(a), a);
  }

  #expect(what: string, ref: ObjectRef<number>, wanted: number): void {
    this.#track(
      what,
      (async () => {
        const value = await ref;
        if (value !== wanted) throw new Error(`it gave ${value} instead of ${wanted}`);
      })(),
    );
  }

  #expectFailure(text: string): void {
    this.#track(
      "failure",
      fail.remote(text).then(
        () => {
          throw new Error("it did not fail");
        },
        (error: unknown) => {
          if (error instanceof TaskError && error.cause instanceof RangeError && error.cause.message === text) return;
          throw error;
        },
      ) as Promise<void>,
    );
  }

  async #stream(items: number): Promise<void> {
    let next = 0;
    for await (const item of count.remote(items)) {
      if (item !== next) throw new Error(`item ${next} was ${item}`);
      next += 1;
    }
    if (next !== items) throw new Error(`the stream ended after ${next} of ${items} items`);
  }

  #cancelled(value: number): void {
    const ref = spin.remote(20, value);
    this.#expect("cancelled", ref, value);
    setTimeout(() => cancel(ref), this.#random.below(20));
  }

  #track(what: string, work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        const name =
          error instanceof TaskError && error.cause instanceof ShoalError
            ? error.cause.constructor.name
            : (error as Error).constructor.name;
        if (EXPLAINED.has(name)) this.failedByFaults += 1;
        else this.#onProblem(`${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      })
      .then(() => {
        this.ended += 1;
        this.#open.delete(tracked);
      });
    this.#open.add(tracked);
  }
}

async function storeUsedBytes(): Promise<number> {
  return (await objectStoreStatistics()).usedBytes;
}
