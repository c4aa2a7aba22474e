/**
 * Work of a driver while its cluster is hurt. It calls actors on all nodes, one call after another, and named actors that outlive
 * everything or are killed. It runs tasks, chains of tasks that need a scarce resource, streams and placement groups, and moves or keeps
 * large objects.
 *
 * Each piece of work ends with its right value, with an error that a fault explains, or as a problem: work with unlimited retries fails for
 * no fault. A few run at a time, so that the machine has time for the faults. Promises to the driver are kept for the checks afterwards.
 */
import {
  type ActorHandle,
  availableResources,
  clusterResources,
  get,
  getActor,
  kill,
  type ObjectRef,
  type PlacementGroup,
  placementGroup,
  put,
  ready,
  remote,
  ShoalError,
  TaskError,
  wait,
  why,
} from "shoal";
import type { TestNode } from "shoal/testing";
import { collectGarbage } from "../src/runtime/os/engine/garbage.ts";
import type { Random } from "../soak/random.ts";
import type { Promised } from "./checks.ts";
import { nowMs } from "./clock.ts";
import { Witness } from "./witness.ts";

const ACTORS = 6;
/** Number of the actor whose calls may run once only. */
const ONCE = 3;
const NAMED_MAX = 12;
const KEPT_MAX = 8;
const IN_FLIGHT = 6;
const LARGE_BYTES = 1_500_000;
const CALL_PAUSE_MS = 20;
/** Time for each question after everything is healed. */
const FOUND_WITHIN_MS = 20_000;

/** Scarce resources of a node. Values that are lost with the node come back only if no task that waits for them holds these resources. */
export const SCARCE = { numGpus: 1, resources: { tenth: 1, memory: 1e9 } } as const;
const NEEDS = [{ numGpus: 1 }, { numGpus: 0.5 }, { resources: { tenth: 0.4 } }, { memoryBytes: 600e6 }] as const;
/** How long a chain lies there before its end is read. */
const CHAIN_LIES_MS = 1000;

/** Possible errors of a call without retries when a process or a node dies. */
const EXPLAINED = new Set(["ActorDiedError", "ActorUnavailableError", "NodeDiedError", "WorkerCrashedError"]);
/** Bytes of a full store: more than a node of the run has. */
const FILLING = 20;
const FILLING_BYTES = 6_000_000;

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
const copy = remote((bytes: Uint8Array): Uint8Array => bytes.slice(), { ...spread, maxRetries: -1 });
const WitnessActor = remote(Witness, { ...spread, numCpus: 0, maxRestarts: -1, maxTaskRetries: -1 });

interface Kept {
  readonly byte: number;
  readonly ref: ObjectRef<Uint8Array>;
}

export class Workload {
  ended = 0;
  failedByFaults = 0;
  readonly named: string[] = [];
  readonly killed: string[] = [];
  readonly #answered = new Map<string, Set<number>>();
  readonly #killedMs = new Map<string, number>();
  readonly #kept: Kept[] = [];
  #keptGroup: PlacementGroup | undefined;
  readonly #folder: string;
  readonly #random: Random;
  readonly #onProblem: (problem: string) => void;
  readonly #open = new Map<Promise<void>, string>();
  /** Calls of actors that have not been answered. */
  readonly #unanswered = new Set<ObjectRef<number>>();
  readonly #actors = new Map<string, ActorHandle<Witness>>();
  #isStopped = false;
  #calls = 0;

  constructor(options: { folder: string; random: Random; onProblem: (problem: string) => void }) {
    this.#folder = options.folder;
    this.#random = options.random;
    this.#onProblem = options.onProblem;
  }

  async start(): Promise<void> {
    for (let index = 0; index < ACTORS + ONCE; index += 1) {
      const name = index < ACTORS ? `actor-${index}` : `once-${index - ACTORS}`;
      const actor = WitnessActor.options({ maxTaskRetries: index < ACTORS ? -1 : 0 }).remote(this.#folder, name);
      this.#actors.set(name, actor);
    }
    await Promise.all(Array.from(this.#actors.values(), (actor) => ready(actor)));
    this.#keptGroup = placementGroup([{ CPU: 0.1 }, { CPU: 0.1 }], { strategy: "SPREAD" });
    await this.#keptGroup.ready();
    for (const [name, actor] of this.#actors) void this.#track(`calls of ${name}`, () => this.#callOn(name, actor));
    for (let index = 0; index < IN_FLIGHT; index += 1) void this.#workOn();
  }

  get promised(): Promised {
    const once = new Set(Array.from(this.#actors.keys()).filter((name) => name.startsWith("once-")));
    return { answered: this.#answered, killedMs: this.#killedMs, once };
  }

  /** Puts more into a node's store than fits, and reads all of the objects. */
  fillStore({ nodeId }: TestNode): Promise<void> {
    return this.#track("filling a store", async () => {
      const there = fill.options({ schedulingStrategy: { nodeId, soft: true } });
      const made = Array.from({ length: FILLING }, (_, byte) => ({ byte, ref: there.remote(FILLING_BYTES, byte) }));
      for (const { byte, ref } of made) await expectEnds(ref, byte, FILLING_BYTES);
    });
  }

  /** Begins nothing more, and waits for the work under way. @returns the work that had not ended in time */
  async finish(withinMs: number): Promise<string[]> {
    this.#isStopped = true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([Promise.all(this.#open.keys()), late]);
    clearTimeout(timer);
    for (const answer of this.#unanswered) this.#onProblem(`a call of an actor is not answered: ${String(await why(answer))}`);
    return Array.from(this.#open.values());
  }

  /** Whether everything that was acknowledged is there, when nothing is wrong any more. */
  async checkKept(): Promise<void> {
    await Promise.all([
      this.#checkNamed(),
      this.#checkKilled(),
      ...this.#kept.map(({ byte, ref }) =>
        expectEnds(ref, byte, LARGE_BYTES).catch((error: unknown) => this.#onProblem(`a kept object is lost: ${describe(error)}`)),
      ),
      expect(
        add.options({ numCpus: 0.1, schedulingStrategy: { placementGroup: this.#keptGroup as PlacementGroup } }).remote(1, 2),
        3,
      ).catch((error: unknown) => this.#onProblem(`a placement group that was ready is lost: ${describe(error)}`)),
    ]);
  }

  async #checkKilled(): Promise<void> {
    await Promise.all(
      this.killed.map((name) =>
        getActor<Witness>(name).then(
          () => this.#onProblem(`the actor named ${name} was killed and is there`),
          () => {},
        ),
      ),
    );
  }

  async #checkNamed(): Promise<void> {
    await Promise.all(
      this.named.map(async (name) => {
        try {
          const found = await getActor<Witness>(name);
          await this.#call(name, found, FOUND_WITHIN_MS);
        } catch (error) {
          this.#onProblem(`the actor named ${name} was acknowledged and is lost: ${describe(error)}`);
        }
      }),
    );
  }

  /** Lets go of everything, and looks whether the cluster has everything back. */
  async letGo(withinMs: number): Promise<void> {
    for (const actor of this.#actors.values()) actor[Symbol.dispose]();
    this.#actors.clear();
    this.#kept.length = 0;
    await this.#keptGroup?.remove();
    for (const name of this.named) {
      await getActor<Witness>(name).then(
        (found) => kill(found),
        () => {},
      );
    }
    const end = performance.now() + withinMs;
    let [total, free] = ["", "?"];
    while (total !== free && performance.now() < end) {
      // Nothing collects in a process that does nothing more, and what it has not collected it has not let go of.
      collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 200));
      [total, free] = [JSON.stringify(sorted(await clusterResources())), JSON.stringify(sorted(await availableResources()))];
    }
    if (total !== free) this.#onProblem(`resources are not free at the end: ${free} of ${total}`);
  }

  async #callOn(name: string, actor: ActorHandle<Witness>): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#call(name, actor);
      } catch (error) {
        this.#failed(`a call of ${name}`, error);
      }
      await new Promise((resolve) => setTimeout(resolve, CALL_PAUSE_MS));
    }
  }

  async #call(name: string, actor: ActorHandle<Witness>, timeoutMs?: number): Promise<void> {
    this.#calls += 1;
    const call = this.#calls;
    const answer = actor.call.remote(call);
    this.#unanswered.add(answer);
    const value = await get(answer, timeoutMs === undefined ? {} : { timeoutMs }).finally(() => this.#unanswered.delete(answer));
    if (value !== call) throw new WrongValueError(`call ${call} gave ${value}`);
    const answered = this.#answered.get(name);
    if (answered === undefined) this.#answered.set(name, new Set([call]));
    else answered.add(call);
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
    if (kind < 46) return ["a chain", () => expect(add.remote(add.remote(a, 1), 1), a + 2)];
    if (kind < 50) return ["a chain of scarce resources", () => this.#scarce(a % 256)];
    if (kind < 57) return ["a large result", () => expectEnds(fill.remote(LARGE_BYTES, a % 256), a % 256)];
    if (kind < 64) return ["a large argument", () => expectEnds(put(new Uint8Array(LARGE_BYTES).fill(a % 256)), a % 256)];
    if (kind < 70) return ["a kept object", () => this.#keep(a % 256)];
    if (kind < 78) return ["a stream", () => this.#stream(random.below(20))];
    if (kind < 88) return ["a placement group", () => this.#group(a)];
    if (kind < 94) return ["an actor that is killed", () => this.#kill()];
    return ["a named actor", () => this.#name()];
  }

  /** Each task of the chain needs the same resource as the tasks before it, which may have to run again. */
  async #scarce(byte: number): Promise<void> {
    const need = this.#random.pick(NEEDS);
    const copying = copy.options(need);
    const end = copying.remote(copying.remote(fill.options(need).remote(LARGE_BYTES, byte)));
    await wait([end], { fetchLocal: false });
    await new Promise((resolve) => setTimeout(resolve, CHAIN_LIES_MS));
    const there = String(await ends.options(need).remote(end));
    if (there !== `${LARGE_BYTES},${byte},${byte}`) throw new WrongValueError(`the end of a chain was ${there} instead of ${byte}`);
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
    await this.#call(name, actor);
    this.named.push(name);
  }

  /** When its end was acknowledged it must be over, whatever happens. */
  async #kill(): Promise<void> {
    this.#calls += 1;
    const name = `killed-${this.#calls}`;
    const actor = WitnessActor.options({ name, lifetime: "detached" }).remote(this.#folder, name);
    await this.#call(name, actor);
    await kill(actor);
    this.#killedMs.set(name, nowMs());
    this.killed.push(name);
  }

  /** Made by the driver, or by a task elsewhere that can be run again. */
  async #keep(byte: number): Promise<void> {
    if (this.#kept.length >= KEPT_MAX) return;
    const ref = byte % 2 === 0 ? put(new Uint8Array(LARGE_BYTES).fill(byte)) : fill.remote(LARGE_BYTES, byte);
    this.#kept.push({ byte, ref });
    await wait([ref]);
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
    if (what.includes("once-") && EXPLAINED.has(cause.constructor.name) && cause instanceof ShoalError && cause.reason !== "")
      this.failedByFaults += 1;
    else this.#onProblem(`${what}: ${describe(error)}`);
  }
}

class WrongValueError extends Error {}

async function expect(ref: ObjectRef<number>, wanted: number): Promise<void> {
  const value = await ref;
  if (value !== wanted) throw new WrongValueError(`it gave ${value} instead of ${wanted}`);
}

async function expectEnds(ref: ObjectRef<Uint8Array>, byte: number, bytes: number = LARGE_BYTES): Promise<void> {
  const wanted = `${bytes},${byte},${byte}`;
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
