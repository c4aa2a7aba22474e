/** The pool of actors with scripted actors: order, size, deaths and ends. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ObjectRef } from "../../../core/index.ts";
import { ACTOR_IDLE_MS } from "../../limits.ts";
import { ActorPoolOperator, type ActorPoolOptions } from "./actor-operator.ts";
import { ErroredBlocks } from "../tasks/errored-blocks.ts";
import type { BlockRef } from "./operator.ts";
import type { PoolActor } from "../pools/pool-actor.ts";
import { PoolCpus } from "../pools/pool-cpus.ts";
import type { BlockItems } from "../streams/running-streams.ts";

const DEATH = new Error("killed");

/** Lets all promises that can go on do so. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function refTo(value: unknown): ObjectRef<never> {
  const promise = value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
  promise.catch(() => {});
  return Object.assign(promise, { [Symbol.dispose]: () => {} }) as unknown as ObjectRef<never>;
}

/** A call of an actor: its items are those that the test gives. */
class FakeCall {
  /** Row counts that stand for the blocks. */
  readonly inputs: readonly number[];
  readonly #items: unknown[] = [];
  #isEnded = false;
  #wake: (() => void) | undefined;

  constructor(inputs: readonly BlockRef[]) {
    this.inputs = inputs.map(({ rowCount }) => rowCount);
  }

  give(rowCount: number): void {
    this.#push({ rowCount }, { rowCount, sizeBytes: 1, schema: [] });
  }

  fail(error: Error): void {
    this.#push(error);
    this.end();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  items(): BlockItems {
    return {
      next: async () => {
        while (this.#items.length === 0 && !this.#isEnded) await new Promise<void>((resolve) => (this.#wake = resolve));
        return this.#items.length === 0 ? { done: true, value: undefined } : { done: false, value: { ref: refTo(this.#items.shift()) } };
      },
    };
  }

  #push(...items: unknown[]): void {
    this.#items.push(...items);
    this.#wake?.();
  }
}

class FakeActor implements PoolActor {
  readonly calls: FakeCall[] = [];
  ended: string | undefined;
  readonly numCpus: number;
  readonly #ready = Promise.withResolvers<void>();
  readonly ready = this.#ready.promise;

  constructor(numCpus: number) {
    this.numCpus = numCpus;
  }

  async begin(): Promise<void> {
    this.#ready.resolve();
    await settled();
  }

  async failToBegin(error: Error): Promise<void> {
    this.#ready.reject(error);
    await settled();
  }

  /** Ends the actor and all its calls. */
  async die(): Promise<void> {
    for (const call of this.calls) call.fail(DEATH);
    await settled();
  }

  run(inputs: readonly BlockRef[]): BlockItems {
    const call = new FakeCall(inputs);
    this.calls.push(call);
    return call.items();
  }

  async hasDied(error: unknown): Promise<boolean> {
    return error === DEATH;
  }

  async end(when: string): Promise<void> {
    this.ended = when;
  }
}

/** @param unitRows - rows that a call may have alone after a death */
function makePool(options: Partial<ActorPoolOptions> = {}, unitRows = Number.POSITIVE_INFINITY) {
  const actors: FakeActor[] = [];
  const failures: Error[] = [];
  const pool = new ActorPoolOperator({
    name: "map(Embed)",
    actors: {
      start: (numCpus) => {
        actors.push(new FakeActor(numCpus));
        return actors.at(-1) as FakeActor;
      },
      unitRows,
      close: () => {},
    },
    min: 1,
    max: 1,
    initial: 1,
    tasksInFlightMax: 2,
    maxRestarts: undefined,
    maxTaskRetries: undefined,
    numCpus: 1,
    cpus: new PoolCpus().account(10, 0),
    rowsPerTaskMin: 0,
    preserveOrder: true,
    events: { onChange: () => {}, onFailure: (error) => failures.push(error as Error) },
    ...options,
  });
  pool.open();
  let released = 0;
  return {
    pool,
    actors,
    failures,
    released: () => released,
    /** Adds blocks, which their rows stand for, and begins what may begin. */
    add: (...blocks: number[]) => {
      for (const rowCount of blocks) pool.add({ ref: refTo(rowCount), rowCount, sizeBytes: 1, schema: [], release: () => (released += 1) });
      while (pool.canStart()) pool.start();
    },
    begin: () => {
      while (pool.canStart()) pool.start();
    },
    taken: () => {
      const rows: number[] = [];
      for (let block = pool.take(); block !== undefined; block = pool.take()) rows.push(block.rowCount);
      return rows;
    },
    pull: async () => {
      pool.pull("all");
      await settled();
    },
  };
}

const ended = (actors: readonly FakeActor[]): (string | undefined)[] => actors.map((actor) => actor.ended);

describe("order", () => {
  test("blocks come in the order of the input, whatever actor is done first", async () => {
    const { pool, actors, add, taken, pull } = makePool({ min: 2, max: 2, initial: 2 });
    await actors[0]?.begin();
    await actors[1]?.begin();
    add(1, 2, 3);
    expect(actors.map(({ calls }) => calls.map(({ inputs }) => inputs))).toEqual([[[1], [3]], [[2]]]);
    actors[1]?.calls[0]?.give(20);
    actors[1]?.calls[0]?.end();
    await settled();
    expect(taken()).toEqual([]);
    actors[0]?.calls[0]?.give(10);
    actors[0]?.calls[0]?.end();
    await pull();
    await pull();
    expect(taken()).toEqual([10, 20]);
    pool.endInput();
    actors[0]?.calls[1]?.end();
    await pull();
    expect(taken()).toEqual([]);
    expect(pool.isDone).toBe(true);
    expect(ended(actors)).toEqual(["after its calls", "after its calls"]);
  });

  test("no block is sent to an actor whose constructor has not ended, and it counts as work while input waits", async () => {
    const { pool, actors, add, begin } = makePool();
    expect(pool.runningCount).toBe(0);
    add(1);
    expect(actors[0]?.calls).toEqual([]);
    expect(pool.runningCount).toBe(1);
    await actors[0]?.begin();
    begin();
    expect(actors[0]?.calls).toHaveLength(1);
  });
});

describe("size", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("it grows while blocks wait for actors that work, to its largest size", async () => {
    const { actors, add } = makePool({ max: 3 });
    await actors[0]?.begin();
    add(1, 2);
    expect(actors).toHaveLength(1);
    add(3);
    expect(actors).toHaveLength(2);
    add(4, 5, 6, 7, 8);
    expect(actors).toHaveLength(3);
  });

  test("it grows no further than the CPUs that are left", async () => {
    const cpus = new PoolCpus().account(2, 0);
    const { pool, actors, add } = makePool({ max: 5, cpus });
    await actors[0]?.begin();
    add(1, 2, 3, 4, 5, 6);
    expect(actors).toHaveLength(2);
    expect(cpus.hasRoom(1)).toBe(false);
    pool.stop();
    expect(cpus.hasRoom(2)).toBe(true);
  });

  test("it does not grow while nobody takes what its actors have", async () => {
    const { actors, add } = makePool({ max: 3 });
    await actors[0]?.begin();
    add(1, 2);
    for (const call of actors[0]?.calls ?? []) call.give(1);
    await settled();
    add(3, 4);
    expect(actors).toHaveLength(1);
  });

  test("actors beyond the fewest are ended when they have had nothing to do for a while", async () => {
    const { pool, actors, add, pull } = makePool({ max: 2 });
    await actors[0]?.begin();
    add(1, 2, 3);
    await actors[1]?.begin();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    add();
    for (const call of actors.flatMap(({ calls }) => calls)) call.end();
    await pull();
    expect(pool.actorCount).toBe(2);
    vi.advanceTimersByTime(ACTOR_IDLE_MS);
    expect(pool.actorCount).toBe(1);
    expect(ended(actors).filter((when) => when !== undefined)).toEqual(["after its calls"]);
  });

  test("without input no actor stays", async () => {
    const { pool, actors } = makePool({ min: 2, max: 2, initial: 2 });
    await actors[0]?.begin();
    pool.endInput();
    expect(ended(actors)).toEqual(["after its calls", "now"]);
    expect(pool.isDone).toBe(true);
  });

  test("stop ends all actors and releases all blocks", async () => {
    const { pool, actors, add, released } = makePool({ min: 2, max: 2, initial: 2, tasksInFlightMax: 1 });
    await actors[0]?.begin();
    add(1, 2, 3);
    pool.stop();
    expect(ended(actors)).toEqual(["now", "now"]);
    expect(released()).toBe(3);
    expect(pool.heldBytes).toBe(0);
  });
});

describe("a cluster that becomes smaller", () => {
  test("actors give their calls to others that hold less", async () => {
    const cpus = new PoolCpus().account(4, 1);
    const { pool, actors, add, taken, pull, failures } = makePool({ min: 2, max: 2, initial: 2, cpus });
    await actors[0]?.begin();
    await actors[1]?.begin();
    add(1, 2, 3);
    cpus.fit(2);
    pool.fit({ max: 2, numCpus: 0.5 });
    expect(ended(actors)).toEqual(["now", "now", undefined, undefined]);
    expect(actors.map(({ numCpus }) => numCpus)).toEqual([1, 1, 0.5, 0.5]);
    expect(cpus.held).toBe(1);
    await actors[2]?.begin();
    await actors[3]?.begin();
    expect(actors.map(({ calls }) => calls.map(({ inputs }) => inputs)).slice(2)).toEqual([[[1], [3]], [[2]]]);
    for (const call of actors.slice(2).flatMap(({ calls }) => calls)) {
      call.give(call.inputs[0] as number);
      call.end();
    }
    for (let i = 0; i < 3; i += 1) await pull();
    expect(taken()).toEqual([1, 2, 3]);
    expect(failures).toEqual([]);
  });

  test("actors beyond its room end, and one that stays runs their calls in the order of the input", async () => {
    const cpus = new PoolCpus().account(4, 1);
    const { pool, actors, add } = makePool({ max: 3, initial: 3, cpus });
    for (const actor of actors.slice(0, 3)) await actor.begin();
    add(1, 2, 3, 4);
    cpus.fit(2);
    pool.fit({ max: 3, numCpus: 1 });
    expect([pool.actorCount, cpus.held]).toEqual([1, 1]);
    expect(ended(actors)).toEqual(["now", "now", "now", undefined]);
    await actors[3]?.begin();
    expect(actors[3]?.calls.map(({ inputs }) => inputs)).toEqual([[1], [2], [3], [4]]);
    pool.stop();
    expect(cpus.held).toBe(0);
  });
});

describe("deaths", () => {
  test("another actor takes the calls of one that died, in their order, and gives no block twice", async () => {
    const { actors, add, taken, pull, failures } = makePool();
    await actors[0]?.begin();
    add(1, 2);
    actors[0]?.calls[0]?.give(10);
    await settled();
    expect(taken()).toEqual([10]);
    await pull();
    await actors[0]?.die();
    expect(ended(actors)).toEqual(["now", undefined]);
    await actors[1]?.begin();
    expect(actors[1]?.calls.map(({ inputs }) => inputs)).toEqual([[1], [2]]);
    for (const call of actors[1]?.calls ?? []) {
      call.give(call.inputs[0] === 1 ? 10 : 20);
      call.give(call.inputs[0] === 1 ? 11 : 21);
      call.end();
    }
    for (let i = 0; i < 3; i += 1) await pull();
    expect(taken()).toEqual([11, 20, 21]);
    expect(failures).toEqual([]);
  });

  test("three deaths in a row with the same rows are an error, and a block in between begins the count anew", async () => {
    const { actors, add, taken, pull, failures } = makePool();
    for (let death = 0; death < 2; death += 1) {
      await actors[death]?.begin();
      if (death === 0) add(1);
      await actors[death]?.die();
    }
    await actors[2]?.begin();
    actors[2]?.calls[0]?.give(10);
    await settled();
    expect(taken()).toEqual([10]);
    for (let death = 2; death < 5; death += 1) {
      await pull();
      expect(failures).toEqual([]);
      await actors[death]?.begin();
      await actors[death]?.die();
    }
    expect(failures.map(({ message }) => message)).toEqual([
      "map(Embed): its actor died 3 times in a row with the same rows (1 row): killed",
    ]);
  });

  test("calls that wait are not blamed for a death", async () => {
    const { actors, add, pull, failures } = makePool();
    await actors[0]?.begin();
    add(1, 2);
    await actors[0]?.die();
    await actors[1]?.begin();
    actors[1]?.calls[0]?.end();
    await pull();
    for (let death = 1; death < 3; death += 1) {
      await actors[death]?.die();
      await actors[death + 1]?.begin();
    }
    expect(failures).toEqual([]);
    await actors[3]?.die();
    expect(failures.map(({ message }) => message)).toEqual([
      "map(Embed): its actor died 3 times in a row with the same rows (2 rows): killed",
    ]);
  });

  test("a call of several blocks is cut after a death, and the deadly block alone is left out where the run allows it", async () => {
    const errored = new ErroredBlocks(1);
    const { pool, actors, add, taken, pull, failures, released } = makePool({ rowsPerTaskMin: 6, errored });
    await actors[0]?.begin();
    add(1, 2, 3);
    expect(actors[0]?.calls.map(({ inputs }) => inputs)).toEqual([[1, 2, 3]]);
    await actors[0]?.die();
    await actors[1]?.begin();
    expect(actors[1]?.calls.map(({ inputs }) => inputs)).toEqual([[1], [2], [3]]);
    actors[1]?.calls[0]?.give(10);
    actors[1]?.calls[0]?.end();
    await pull();
    await pull();
    for (let death = 1; death < 4; death += 1) {
      await actors[death]?.die();
      await actors[death + 1]?.begin();
    }
    expect(failures).toEqual([]);
    expect(errored.first.map(({ error }) => error.message)).toEqual([
      "map(Embed): its actor died 3 times in a row with the same rows (2 rows): killed",
    ]);
    expect(actors[4]?.calls.map(({ inputs }) => inputs)).toEqual([[3]]);
    actors[4]?.calls[0]?.give(30);
    actors[4]?.calls[0]?.end();
    pool.endInput();
    for (let i = 0; i < 3; i += 1) await pull();
    expect(taken()).toEqual([10, 30]);
    expect([pool.isDone, released(), pool.heldBytes]).toEqual([true, 3, 0]);
  });

  test("a block is cut after a death, until the rows that may be alone are", async () => {
    const errored = new ErroredBlocks(1);
    const { pool, actors, add, taken, pull, failures, released } = makePool({ errored }, 2);
    await actors[0]?.begin();
    add(5);
    pool.endInput();
    await actors[0]?.die();
    await actors[1]?.begin();
    expect(actors[1]?.calls.map(({ inputs }) => inputs)).toEqual([[2], [2], [1]]);
    actors[1]?.calls[0]?.give(10);
    actors[1]?.calls[0]?.end();
    await pull();
    await pull();
    for (let death = 1; death < 4; death += 1) {
      await actors[death]?.die();
      await actors[death + 1]?.begin();
    }
    expect(errored.first.map(({ error }) => error.message)).toEqual([
      "map(Embed): its actor died 3 times in a row with the same rows (2 rows): killed",
    ]);
    actors[4]?.calls[0]?.give(30);
    actors[4]?.calls[0]?.end();
    for (let i = 0; i < 3; i += 1) await pull();
    expect(taken()).toEqual([10, 30]);
    expect([pool.isDone, released(), pool.heldBytes, failures]).toEqual([true, 1, 0, []]);
  });

  test("a pool whose last rows are left out ends, and starts no actor more", async () => {
    const { pool, actors, add, taken, failures } = makePool({ errored: new ErroredBlocks(-1) });
    await actors[0]?.begin();
    add(1);
    pool.endInput();
    for (let death = 0; death < 3; death += 1) {
      await actors[death]?.begin();
      await actors[death]?.die();
    }
    expect(taken()).toEqual([]);
    expect([pool.isDone, pool.actorCount, actors.length, failures.length]).toEqual([true, 0, 3, 0]);
  });

  test("three deaths in constructors are an error, and one error of a constructor is", async () => {
    const died = makePool();
    for (let death = 0; death < 3; death += 1) await died.actors[death]?.failToBegin(DEATH);
    expect(died.failures[0]?.message).toBe("map(Embed): its actor died 3 times in a row, before its constructor had ended: killed");
    const failed = makePool();
    await failed.actors[0]?.failToBegin(new RangeError("no model"));
    expect(failed.failures).toEqual([new RangeError("no model")]);
    expect(failed.actors).toHaveLength(1);
  });

  test("maxRestarts and maxTaskRetries decide where they are given", async () => {
    const restarts = makePool({ maxRestarts: 0 });
    await restarts.actors[0]?.begin();
    restarts.add(1);
    await restarts.actors[0]?.die();
    expect(restarts.failures[0]?.message).toContain("its actor died once: killed");
    const retries = makePool({ maxTaskRetries: -1 });
    for (let death = 0; death < 5; death += 1) {
      await retries.actors[death]?.begin();
      if (death === 0) retries.add(1);
      await retries.actors[death]?.die();
    }
    expect(retries.failures).toEqual([]);
    expect(retries.actors).toHaveLength(6);
  });

  test("an error of a call is the pipeline's", async () => {
    const { actors, add, failures } = makePool();
    await actors[0]?.begin();
    add(1);
    actors[0]?.calls[0]?.fail(new RangeError("not five"));
    await settled();
    expect(failures).toEqual([new RangeError("not five")]);
    expect(actors).toHaveLength(1);
  });
});
