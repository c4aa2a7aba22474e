/**
 * `ActorPool` over real actors: order, bounded work ahead, failures and deaths, in processes and in this process.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ActorDiedError, type ActorHandle, GetTimeoutError, kill, remote, TaskError } from "shoal";
import { ActorPool } from "shoal/util";
import { describe, expect, test } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

class Squarer {
  #calls = 0;

  square(value: number): number {
    if (value < 0) throw new RangeError("below nothing");
    this.#calls += 1;
    return value * value;
  }

  async squareLater(value: number, afterMs: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    return value * value;
  }

  /** Once the file is there; at once without one. */
  async squareOnce(value: number, file: string | undefined): Promise<number> {
    if (file === undefined) return value * value;
    while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
    return value * value;
  }

  calls(): number {
    return this.#calls;
  }

  die(): void {
    process.exit(7);
  }
}

const SquarerActor = remote(Squarer, { numCpus: 0 });

function newPool(size: number): { pool: ActorPool<ActorHandle<Squarer>>; actors: ActorHandle<Squarer>[] } {
  const actors = Array.from({ length: size }, () => SquarerActor.remote());
  return { pool: new ActorPool(actors), actors };
}

async function collect<T>(results: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const result of results) found.push(result);
  return found;
}

const folder = useFolder();
let gates = 0;
function newGate(): { file: string; open: () => void } {
  gates += 1;
  const file = join(folder, `gate-${gates}`);
  return { file, open: () => writeFileSync(file, "") };
}

describe.each(["process", "inProcess"] as const)("mode %s", (mode) => {
  useSession({ numCpus: 2, mode });

  test("a pool without actors refuses to map, and maps once it has one", async () => {
    const pool = new ActorPool<ActorHandle<Squarer>>([]);
    const squares = (): AsyncIterable<number> => pool.map((actor, value: number) => actor.square.remote(value), [1, 2]);
    expect(squares).toThrow("no actor is in it");
    pool.push(SquarerActor.remote());
    expect(await collect(squares())).toEqual([1, 4]);
  });

  test("map gives results in the order of the values, and every actor takes part", async () => {
    const { pool, actors } = newPool(2);
    const values = Array.from({ length: 40 }, (_, index) => index);
    expect(await collect(pool.map((actor, value) => actor.square.remote(value), values))).toEqual(values.map((value) => value * value));
    const calls = await Promise.all(actors.map((actor) => actor.calls.remote()));
    expect(calls.reduce((sum, count) => sum + count)).toBe(40);
    expect(Math.min(...calls)).toBeGreaterThan(0);
    expect(pool.hasFree()).toBe(true);
  });

  test("mapUnordered gives results as they come", async () => {
    const { pool } = newPool(2);
    const { file, open } = newGate();
    const results: number[] = [];
    for await (const result of pool.mapUnordered(
      (actor, value) => actor.squareOnce.remote(value, value === 5 ? file : undefined),
      [5, 1, 1, 1],
    )) {
      results.push(result);
      if (results.length === 3) open();
    }
    expect(results).toEqual([1, 1, 1, 25]);
  });

  test("values may be without end: only so many are taken ahead", async () => {
    const { pool } = newPool(1);
    let taken = 0;
    function* values(): Generator<number> {
      for (;;) yield (taken += 1);
    }
    for await (const square of pool.map((actor, value) => actor.square.remote(value), values())) if (square >= 100) break;
    expect(taken).toBeLessThan(20);
    expect(await collect(pool.map((actor, value) => actor.square.remote(value), [3]))).toEqual([9]);
  });

  test("submit and getNext keep the order; getNextUnordered takes what is there", async () => {
    const { pool } = newPool(2);
    const { file, open } = newGate();
    for (const given of [5, 1, 1]) pool.submit((actor, value) => actor.squareOnce.remote(value, value === 5 ? file : undefined), given);
    expect(pool.hasNext()).toBe(true);
    expect(pool.hasFree()).toBe(false);
    expect(await pool.getNextUnordered()).toBe(1);
    open();
    expect(await pool.getNext()).toBe(25);
    expect(await pool.getNext()).toBe(1);
    expect(pool.hasNext()).toBe(false);
    await expect(pool.getNext()).rejects.toThrow(RangeError);
    await expect(pool.getNextUnordered()).rejects.toThrow(RangeError);
  });

  test("getNext gives up after timeoutMs, and the result stays next unless it is to be left out", async () => {
    const { pool } = newPool(2);
    const { file, open } = newGate();
    pool.submit((actor, value) => actor.squareOnce.remote(value, file), 2);
    pool.submit((actor, value) => actor.square.remote(value), 3);
    expect(await failureOf(pool.getNext({ timeoutMs: 10 }))).toBeInstanceOf(GetTimeoutError);
    expect(await failureOf(pool.getNext({ timeoutMs: 10, ignoreIfTimedOut: true }))).toBeInstanceOf(GetTimeoutError);
    open();
    expect(await pool.getNext()).toBe(9);
    expect(pool.hasNext()).toBe(false);
    expect(await failureOf(pool.getNext({ timeout: 10 } as never))).toBeInstanceOf(TypeError);
  });

  test("what a method throws is the failure of its call, and the actor goes on", async () => {
    const { pool } = newPool(1);
    for (const value of [1, -1, 2]) pool.submit((actor, given) => actor.square.remote(given), value);
    expect(await pool.getNext()).toBe(1);
    const error = await failureOf(pool.getNext());
    expect(error).toBeInstanceOf(TaskError);
    expect(error.cause).toBeInstanceOf(RangeError);
    expect(await pool.getNext()).toBe(4);
    const failure = await failureOf(collect(pool.map((actor, value) => actor.square.remote(value), [1, -1, 2])));
    expect(failure.cause).toBeInstanceOf(RangeError);
  });

  test("push and popIdle change who works", async () => {
    const { pool, actors } = newPool(1);
    expect(() => pool.push(actors[0] as ActorHandle<Squarer>)).toThrow(RangeError);
    expect(pool.popIdle()).toBe(actors[0]);
    expect(pool.popIdle()).toBeUndefined();
    pool.submit((actor, value) => actor.square.remote(value), 5);
    pool.push(SquarerActor.remote());
    expect(await pool.getNext()).toBe(25);
    expect(pool.size).toBe(1);
  });
});

describe("deaths", () => {
  useSession({ numCpus: 2 });

  test("an actor that dies leaves: its call fails once, the others go on", async () => {
    const { pool } = newPool(2);
    pool.submit((actor) => actor.die.remote(), undefined);
    for (let value = 1; value <= 6; value += 1) pool.submit((actor, given) => actor.square.remote(given), value);
    expect(await failureOf(pool.getNext())).toBeInstanceOf(ActorDiedError);
    const results: number[] = [];
    while (pool.hasNext()) results.push(await pool.getNext<number>());
    expect(results).toEqual([1, 4, 9, 16, 25, 36]);
    expect(pool.size).toBe(1);
  });

  test("when all have died, what waits fails with the cause", async () => {
    const { pool, actors } = newPool(1);
    pool.submit((actor) => actor.squareLater.remote(1, 60_000), undefined);
    pool.submit((actor, value) => actor.square.remote(value), 2);
    await kill(actors[0] as ActorHandle<Squarer>);
    expect(await failureOf(pool.getNext())).toBeInstanceOf(ActorDiedError);
    const error = await failureOf(pool.getNext());
    expect(error).toBeInstanceOf(ActorDiedError);
    expect(error.message).toContain("all of its actors have died");
    pool.push(SquarerActor.remote());
    pool.submit((actor, value) => actor.square.remote(value), 3);
    expect(await pool.getNext()).toBe(9);
  });
});
