/**
 * What a driver does while its cluster is hurt: actors on all nodes that are called one call after another, named actors that outlive everything, tasks, large
 * objects that travel, streams and placement groups.
 *
 * Each piece of work ends with its right value, with an error that a fault explains, or as a problem. A few are under way at a time, so that the machine has time for the faults.
 */
import {
  type ActorHandle,
  availableResources,
  clusterResources,
  get,
  getActor,
  kill,
  type ObjectRef,
  placementGroup,
  put,
  ready,
  remote,
  ShoalError,
  TaskError,
} from "shoal";
import type { Random } from "../soak/random.ts";
import { Witness } from "./witness.ts";

const ACTORS = 6;
const NAMED_MAX = 12;
const IN_FLIGHT = 6;
const LARGE_BYTES = 1_500_000;
const CALL_PAUSE_MS = 20;
/** What is asked when everything is healed. */
const FOUND_WITHIN_MS = 20_000;

/** What the death of a process or a node may do to a call. */
const EXPLAINED = new Set([
  "ActorDiedError",
  "ActorUnavailableError",
  "NodeDiedError",
  "ObjectLostError",
  "ObjectReconstructionFailedError",
  "OwnerDiedError",
  "WorkerCrashedError",
]);

const spread = { schedulingStrategy: "spread" } as const;
const add = remote((a: number, b: number): number => a + b, { ...spread, maxRetries: -1 });
const fill = remote((bytes: number, byte: number): Uint8Array => new Uint8Array(bytes).fill(byte), { ...spread, maxRetries: -1 });
const ends = remote((bytes: Uint8Array): [number, number, number] => [bytes.length, bytes[0] ?? -1, bytes.at(-1) ?? -1], {
  ...spread,
  maxRetries: -1,
});
const count = remote(
  function* (items: number): Generator<number> {
    for (let item = 0; item < items; item += 1) yield item;
  },
  { ...spread, maxRetries: -1 },
);
const WitnessActor = remote(Witness, { ...spread, numCpus: 0, maxRestarts: -1, maxTaskRetries: -1 });

export class Workload {
  ended = 0;
  failedByFaults = 0;
  readonly named: string[] = [];
  readonly #folder: string;
  readonly #random: Random;
  readonly #onProblem: (problem: string) => void;
  readonly #open = new Map<Promise<void>, string>();
  readonly #actors: ActorHandle<Witness>[] = [];
  #isStopped = false;
  #calls = 0;

  constructor(options: { folder: string; random: Random; onProblem: (problem: string) => void }) {
    this.#folder = options.folder;
    this.#random = options.random;
    this.#onProblem = options.onProblem;
  }

  async start(): Promise<void> {
    for (let index = 0; index < ACTORS; index += 1) this.#actors.push(WitnessActor.remote(this.#folder, `actor-${index}`));
    await Promise.all(this.#actors.map((actor) => ready(actor)));
    for (const [index, actor] of this.#actors.entries()) void this.#track(`calls of actor-${index}`, () => this.#callOn(actor));
    for (let index = 0; index < IN_FLIGHT; index += 1) void this.#workOn();
  }

  /** Begins nothing more, and waits for what is under way. @returns what had not ended in time */
  async finish(withinMs: number): Promise<string[]> {
    this.#isStopped = true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([Promise.all(this.#open.keys()), late]);
    clearTimeout(timer);
    return Array.from(this.#open.values());
  }

  /** Whether every actor whose creation was acknowledged is there, when nothing is wrong any more. */
  async checkNamed(): Promise<void> {
    await Promise.all(
      this.named.map(async (name) => {
        try {
          const found = await getActor<Witness>(name);
          this.#calls += 1;
          await get(found.call.remote(this.#calls), { timeoutMs: FOUND_WITHIN_MS });
        } catch (error) {
          this.#onProblem(`the actor named ${name} was acknowledged and is lost: ${describe(error)}`);
        }
      }),
    );
  }

  /** Lets go of everything, and looks whether the cluster has everything back. */
  async letGo(withinMs: number): Promise<void> {
    for (const actor of this.#actors) actor[Symbol.dispose]();
    for (const name of this.named) {
      await getActor<Witness>(name).then(
        (found) => kill(found),
        () => {},
      );
    }
    const end = performance.now() + withinMs;
    let [total, free] = ["", "?"];
    while (total !== free && performance.now() < end) {
      (globalThis as { gc?: () => void }).gc?.();
      await new Promise((resolve) => setTimeout(resolve, 200));
      [total, free] = [JSON.stringify(sorted(await clusterResources())), JSON.stringify(sorted(await availableResources()))];
    }
    if (total !== free) this.#onProblem(`resources are not free at the end: ${free} of ${total}`);
  }

  async #callOn(actor: ActorHandle<Witness>): Promise<void> {
    while (!this.#isStopped) {
      this.#calls += 1;
      const call = this.#calls;
      try {
        const value = await actor.call.remote(call);
        if (value !== call) this.#onProblem(`call ${call} gave ${value}`);
      } catch (error) {
        this.#failed("a call", error);
      }
      await new Promise((resolve) => setTimeout(resolve, CALL_PAUSE_MS));
    }
  }

  async #workOn(): Promise<void> {
    while (!this.#isStopped) {
      const [what, work] = this.#next();
      await this.#track(what, work);
      await new Promise((resolve) => setTimeout(resolve, CALL_PAUSE_MS));
    }
  }

  #next(): [string, () => Promise<void>] {
    const random = this.#random;
    const a = random.below(1000);
    const kind = random.below(100);
    if (kind < 40) return ["a task", () => expect(add.remote(a, 1), a + 1)];
    if (kind < 50) return ["a chain", () => expect(add.remote(add.remote(a, 1), 1), a + 2)];
    if (kind < 60) return ["a large result", () => expectEnds(fill.remote(LARGE_BYTES, a % 256), a % 256)];
    if (kind < 70) return ["a large argument", () => expectEnds(put(new Uint8Array(LARGE_BYTES).fill(a % 256)), a % 256)];
    if (kind < 80) return ["a stream", () => this.#stream(random.below(20))];
    if (kind < 90) return ["a placement group", () => this.#group(a)];
    return ["a named actor", () => this.#name()];
  }

  async #stream(items: number): Promise<void> {
    let next = 0;
    for await (const item of count.remote(items)) {
      if (item !== next) throw new WrongValueError(`item ${next} was ${item}`);
      next += 1;
    }
    if (next !== items) throw new WrongValueError(`the stream ended after ${next} of ${items} items`);
  }

  async #group(a: number): Promise<void> {
    const group = placementGroup([{ CPU: 1 }, { CPU: 1 }], { strategy: "SPREAD" });
    try {
      await group.ready();
      await expect(add.options({ schedulingStrategy: { placementGroup: group } }).remote(a, 2), a + 2);
    } finally {
      await group.remove();
    }
  }

  /** From its first answer on it must not be lost, whatever happens. */
  async #name(): Promise<void> {
    if (this.named.length >= NAMED_MAX) return;
    this.#calls += 1;
    const name = `named-${this.#calls}`;
    const actor = WitnessActor.options({ name, lifetime: "detached" }).remote(this.#folder, name);
    await actor.call.remote(this.#calls);
    this.named.push(name);
  }

  async #track(what: string, work: () => Promise<void>): Promise<void> {
    const tracked = work().catch((error: unknown) => this.#failed(what, error));
    this.#open.set(tracked, what);
    await tracked;
    this.ended += 1;
    this.#open.delete(tracked);
  }

  #failed(what: string, error: unknown): void {
    const cause = error instanceof TaskError && error.cause instanceof ShoalError ? error.cause : (error as Error);
    if (EXPLAINED.has(cause.constructor.name) && cause instanceof ShoalError && cause.reason !== "") this.failedByFaults += 1;
    else this.#onProblem(`${what}: ${describe(error)}`);
  }
}

class WrongValueError extends Error {}

async function expect(ref: ObjectRef<number>, wanted: number): Promise<void> {
  const value = await ref;
  if (value !== wanted) throw new WrongValueError(`it gave ${value} instead of ${wanted}`);
}

async function expectEnds(ref: ObjectRef<Uint8Array>, byte: number): Promise<void> {
  const wanted = `${LARGE_BYTES},${byte},${byte}`;
  const there = String(await ends.remote(ref));
  if (there !== wanted) throw new WrongValueError(`a task read ${there} instead of ${wanted}`);
  const here = await ref;
  const found = `${here.length},${here[0]},${here.at(-1)}`;
  if (found !== wanted) throw new WrongValueError(`the driver read ${found} instead of ${wanted}`);
}

function sorted(resources: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(resources).sort(([a], [b]) => (a < b ? -1 : 1));
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
