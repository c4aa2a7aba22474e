/**
 * A call is always answered, whatever its result or its error does when it is looked at: getters that throw, revoked proxies, a `then` of the user's own.
 *
 * Each case runs as a task, with retries, as a method and as a constructor; afterwards the CPU and the actor are free.
 */
import { get, init, type ObjectRef, remote, shutdown, TaskError } from "shoal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failureOf } from "./session.ts";

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function unreadable(target: object, name: PropertyKey): object {
  return Object.defineProperty(target, name, {
    get() {
      throw new Error(`nobody reads ${String(name)}`);
    },
  });
}

const UNREADABLE = /the value that was thrown cannot be sent|what it threw cannot be read/;

/** By name: what returns or throws it, and the message that its caller reads. */
const failing: Record<string, [body: () => unknown, message: RegExp]> = {
  "a `then` that cannot be read": [() => unreadable({}, "then"), /nobody reads then/],
  "a `then` that throws": [
    () => ({
      then() {
        throw new Error("from then");
      },
    }),
    /from then/,
  ],
  "a revoked proxy": [() => revoked({}), /proxy that has been revoked/],
  "a revoked proxy of a function": [() => revoked(() => {}), /proxy that has been revoked/],
  "a proxy whose prototype cannot be read": [
    () =>
      new Proxy(
        {},
        {
          getPrototypeOf() {
            throw new Error("nobody reads prototypes");
          },
        },
      ),
    /nobody reads prototypes/,
  ],
  "a promise whose constructor cannot be read": [() => unreadable(Promise.resolve(1), "constructor"), /nobody reads constructor/],
  "a revoked proxy in a promise": [async () => [revoked({})], /proxy that has been revoked/],
  "a thrown error without a message": [
    () => {
      throw unreadable(new Error("x"), "message");
    },
    UNREADABLE,
  ],
  "a thrown error without a stack": [
    () => {
      throw unreadable(new Error("x"), "stack");
    },
    UNREADABLE,
  ],
  "a thrown revoked proxy": [
    () => {
      throw revoked(new Error("x"));
    },
    UNREADABLE,
  ],
  "a thrown proxy that throws one": [
    () => {
      throw new Proxy(new Error("x"), {
        get() {
          throw revoked({});
        },
      });
    },
    UNREADABLE,
  ],
  "a rejection with a revoked proxy": [async () => await Promise.reject(revoked(new Error("x"))), UNREADABLE],
};

const both = { processes: {}, "one process": { mode: "inProcess" } } as const;

describe.each(Object.keys(both) as (keyof typeof both)[])("in %s", (mode) => {
  beforeAll(async () => {
    await init({ numCpus: 1, logToDriver: false, ...both[mode] });
  });
  afterAll(async () => {
    await shutdown();
  });

  test.each(Object.entries(failing))("%s is that call's error", async (_name, [body, message]) => {
    const task = await failureOf(remote(body, { name: "task" }).remote());
    expect(task).toBeInstanceOf(TaskError);
    expect(task.message).toMatch(message);
    expect((await failureOf(remote(body, { maxRetries: 2, retryOn: true }).remote())).message).toMatch(message);
    class Holder {
      run(): unknown {
        return body();
      }
      ping(): string {
        return "pong";
      }
    }
    using holder = remote(Holder, { numCpus: 0 }).remote();
    const behind = holder.run.remote();
    const ping = holder.ping.remote();
    expect((await failureOf(behind)).message).toMatch(message);
    expect(await ping).toBe("pong");
    expect(await remote(() => "free").remote()).toBe("free");
  });

  test.each(["a thrown revoked proxy", "a thrown error without a message", "a revoked proxy"])("%s in a constructor", async (name) => {
    const [body] = failing[name] as [() => unknown, RegExp];
    class Odd {
      constructor() {
        // oxlint-disable-next-line no-constructor-return -- what a user may do
        return body() as Odd;
      }
      ping(): string {
        return "pong";
      }
    }
    using odd = remote(Odd, { numCpus: 0 }).remote();
    expect((await failureOf(odd.ping.remote())).message).toMatch(/cannot be read|cannot be sent|has been revoked/);
  });

  test("a stream ends with the error of such an item", async () => {
    const items = remote(function* () {
      yield 1;
      yield revoked({});
    });
    const seen: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const item of items.remote()) seen.push(item);
    };
    expect((await failureOf(read())).message).toMatch(/has been revoked/);
    expect(seen).toEqual([1]);
  });

  test("a `then` that calls back twice, late or with a promise answers once, as `await` has it", async () => {
    type Callback = (value: unknown) => void;
    const twice = remote(() => ({
      then(resolve: Callback, reject: Callback) {
        resolve("first");
        reject(new Error("second"));
        resolve("third");
        throw new Error("fourth");
      },
    }));
    const nested = remote(() => ({ then: (resolve: Callback) => setTimeout(() => resolve(Promise.resolve("inner")), 1) }));
    const refs = [twice.remote(), nested.remote()] as unknown as ObjectRef<unknown>[];
    expect(await get(refs)).toEqual(["first", "inner"]);
  });
});
