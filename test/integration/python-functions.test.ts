/** Functions of TypeScript that Python calls: as tasks of their own, with options, errors, streams, cancellation and retries as for Python's own. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ActorHandle, kill, type ObjectRef, python, remote, type RemoteFunction } from "shoal";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { collectGarbage, failureOf, until, useFolder, useSession } from "./session.ts";

const FUNCTIONS = new URL("python/functions.py", import.meta.url);
const folder = useFolder();

function call<R>(name: string, ...args: unknown[]): ObjectRef<R> {
  return python.task<(...values: unknown[]) => R>(FUNCTIONS, name, { maxRetries: 0 }).remote(...args) as ObjectRef<R>;
}

const factor = 2;
const double = remote((value: number) => value * factor);

class Gate {
  readonly #opened = Promise.withResolvers<number>();
  passed(): Promise<number> {
    return this.#opened.promise;
  }
  open(value: number): void {
    this.#opened.resolve(value);
  }
}

interface Keeper {
  call(...args: unknown[]): number;
  later(...args: unknown[]): number;
  keep(kept: object): void;
  keep_with_options(kept: object): void;
  keep_copy(kept: object): void;
  keep_pickled(kept: object): void;
  give(): unknown[];
  begin(kept: object, gate: [ObjectRef<number>]): void;
  end(): number;
}

/** Resolves when the collector has taken a function that was sent, and the node has been told. */
async function letGo(send: () => [sent: ObjectRef<void>, function: object]): Promise<void> {
  const sendAndForget = async (): Promise<WeakRef<object>> => {
    const [sent, made] = send();
    const weak = new WeakRef(made);
    await sent;
    return weak;
  };
  const made = await sendAndForget();
  await until(async () => {
    await collectGarbage();
    return made.deref() === undefined;
  }, "a function to be collected");
  for (let turns = 0; turns < 20; turns += 1) await collectGarbage();
}

describe.skipIf(WITHOUT_PYTHON !== undefined)(`functions of TypeScript from Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 2 });

  test("are called with values and references, many at once, from tasks, actors and coroutines", async () => {
    expect(await call("call", double, 21)).toBe(42);
    expect(await call("call_in", { function: double }, 4)).toBe(8);
    expect(await call("many", double, 300)).toEqual(Array.from({ length: 300 }, (_, index) => index * 2));
    expect(await call("chained", double, 3)).toBe(12);
    using keeper = python.actor<Keeper, [function: object]>(FUNCTIONS, "Keeper").remote(double);
    expect(await keeper.call.remote(5)).toBe(10);
    expect(await keeper.later.remote(6)).toBe(12);
  });

  test("run in a worker of JavaScript in the environment of their caller", async () => {
    const where = remote(() => [process.env["PLACE"], process.env["OWN"]], { runtimeEnv: { envVars: { OWN: "mine" } } });
    const caller = python.task<(f: object) => [string, string]>(FUNCTIONS, "call", { runtimeEnv: { envVars: { PLACE: "here" } } });
    expect(await caller.remote(where)).toEqual(["here", "mine"]);
  });

  test("have the options that they were made with, and others by options()", async () => {
    const pair = remote(() => ["a", "b"], { numCpus: 0.5 });
    expect(await call("with_options", pair)).toEqual([["a", "b"], "FunctionHandle(pair)", ["a", "b"]]);
    const limited = remote(() => 1, { timeoutMs: 1000 });
    expect(await call("refused", limited)).toMatch(/^TypeError: Cannot call limited from Python: its option timeoutMs/);
    expect(await call("wrong", pair)).toEqual([
      expect.stringMatching(/^TypeError: Cannot call pair directly/),
      expect.stringMatching(/^TypeError: Cannot call pair with a by name/),
      expect.stringMatching(/^TypeError: .*there is no option 'num_cpu'/),
      expect.stringMatching(/^TypeError: Cannot set max_calls of pair for single calls/),
    ]);
  });

  test("fail with the error of TypeScript as the cause", async () => {
    const fail = remote(() => {
      throw Object.assign(new RangeError("too far"), { code: "FAR", details: { n: 1 } });
    });
    expect(await call("failing", fail)).toEqual(["ValueError", "too far", "FAR", true, { n: 1 }]);
    const closure = remote(() => () => 1);
    expect(await call("refused", closure)).toMatch(/^SerializationError: .*that only JavaScript can read/);
  });

  test("stream their items", async () => {
    const count = remote(function* (end: number) {
      for (let index = 0; index < end; index += 1) yield index;
    });
    expect(await call("stream", count, 1000)).toEqual(Array.from({ length: 1000 }, (_, index) => index));
    expect(await call("some_of_stream", count)).toEqual([0, 1, 2]);
  });

  test("are cancelled, tried again, and limited in their retries", async () => {
    const spin = remote((file: string) => {
      writeFileSync(file, "");
      for (;;);
    });
    expect(await call("cancelled", spin, join(folder, "spins"))).toBe("TASK_CANCELLED");
    const dieOnce = remote((file: string) => {
      if (existsSync(file)) return "lived";
      writeFileSync(file, "");
      return process.kill(process.pid, "SIGKILL");
    });
    expect(await call("code_of", dieOnce, join(folder, "dies"))).toBe("lived");
    const never = remote(() => process.kill(process.pid, "SIGKILL"), { maxRetries: 0 });
    expect(await call("code_of", never)).toBe("WORKER_CRASHED");
  });

  test.each(["keep", "keep_with_options", "keep_copy", "keep_pickled"] as const)(
    "live as long as Python has them, after %s",
    async (way) => {
      const keeper = python.actor<Keeper, []>(FUNCTIONS, "Keeper", { numCpus: 0 }).remote();
      await letGo(() => {
        const offset = way.length;
        const add = remote((value: number) => value + offset);
        return [keeper[way].remote(add), add];
      });
      expect(await keeper.call.remote(1)).toBe(1 + way.length);
      // The function is sent on with its definition, and the actor ends.
      const [given] = await (keeper.give.remote() as ObjectRef<[RemoteFunction<[number], number>]>);
      await kill(keeper);
      expect(await given.remote(2)).toBe(2 + way.length);
    },
  );

  test("live as long as a call of them waits", async () => {
    const keeper = python.actor<Keeper, []>(FUNCTIONS, "Keeper", { numCpus: 0 }).remote();
    const gate = remote(Gate, { numCpus: 0, maxConcurrency: 2 }).remote();
    const value = gate.passed.remote();
    await letGo(() => {
      const offset = 40;
      const add = remote((given: number) => given + offset);
      return [keeper.begin.remote(add, [value]), add];
    });
    await gate.open.remote(2);
    expect(await keeper.end.remote()).toBe(42);
  });

  test("and classes, which Python passes on, live as long as it has them", async () => {
    const keeper = python.actor<Keeper, []>(FUNCTIONS, "Keeper", { numCpus: 0 }).remote();
    await letGo(() => {
      const offset = 41;
      class Adder {
        add(value: number): number {
          return value + offset;
        }
      }
      const made = remote(Adder, { numCpus: 0 });
      return [keeper.keep.remote(made), made];
    });
    const [given] = await (keeper.give.remote() as ObjectRef<[{ remote(): ActorHandle<{ add(value: number): number }> }]>);
    await kill(keeper);
    using adder = given.remote();
    expect(await adder.add.remote(1)).toBe(42);
  });

  test("are values that Python gives back, as are its own", async () => {
    const [same, split, triple] = await call<[typeof double, RemoteFunction<[number], number>, typeof double]>("give_back", double);
    expect(await same.remote(4)).toBe(8);
    expect(await triple.remote(4)).toBe(12);
    const [left, right] = (split as unknown as { remote(x: number): [ObjectRef<number>, ObjectRef<number>] }).remote(4);
    expect((await failureOf(left)).message).toContain("numReturns is 2");
    expect((await failureOf(right)).message).toContain("numReturns is 2");
    expect(await call("call", triple, 5)).toBe(15);
    expect(await call("call_held", await call("pickled", double), 6)).toBe(12);
  });
});
