/**
 * Actors as their users know them: state, order, errors, and handles that travel. Their beginnings and ends are in actor-lifetime.test.ts.
 */
import { readFileSync } from "node:fs";
import { ActorDiedError, DeadlockError, get, init, ready, remote, shutdown, TaskError } from "shoal";
import { afterAll, beforeAll, expect, test } from "vitest";
import { failureOf } from "./session.ts";

beforeAll(async () => {
  await init({ numCpus: 2 });
});
afterAll(() => shutdown());

class Counter {
  #count: number;
  constructor(start = 0) {
    this.#count = start;
  }
  increment(by = 1): number {
    this.#count += by;
    return this.#count;
  }
  pid(): number {
    return process.pid;
  }
}

class Journal {
  readonly entries: string[] = [];
  add(entry: string): void {
    this.entries.push(entry);
  }
  async addSlowly(entry: string): Promise<void> {
    this.entries.push(`${entry} begins`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    this.entries.push(`${entry} ends`);
  }
  read(): string[] {
    return this.entries;
  }
}

const later = remote(async (value: string) => {
  await new Promise((resolve) => setTimeout(resolve, 100));
  return value;
});

test("an actor keeps its state between calls, in a process of its own", async () => {
  const RemoteCounter = remote(Counter);
  const first = RemoteCounter.remote(10);
  const second = RemoteCounter.remote();
  expect(await get([first.increment.remote(), first.increment.remote(5), second.increment.remote()])).toEqual([11, 16, 1]);
  const pids = await get([first.pid.remote(), second.pid.remote(), first.pid.remote()]);
  expect(pids[2]).toBe(pids[0]);
  expect(new Set([...pids, process.pid]).size).toBe(3);
});

test.runIf(process.platform === "linux")("the process of an actor is called after its class", async () => {
  // Held until its process has been looked at: an actor ends when its handle is collected.
  using counter = remote(Counter).remote();
  const pid = await counter.pid.remote();
  expect(readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", "")).toBe("shoal worker: Counter");
});

test("calls of one caller run in the order in which they were made", async () => {
  const journal = remote(Journal).remote();
  const names = Array.from({ length: 500 }, (_, index) => String(index));
  for (const name of names) journal.add.remote(name);
  expect(await journal.read.remote()).toEqual(names);
});

test("a call with a pending reference among its arguments holds back those behind it", async () => {
  const journal = remote(Journal).remote();
  journal.add.remote("first");
  journal.add.remote(later.remote("second"));
  journal.add.remote("third");
  journal.add.remote(later.remote("fourth"));
  expect(await journal.read.remote()).toEqual(["first", "second", "third", "fourth"]);
});

test("async methods run one after the other", async () => {
  const journal = remote(Journal).remote();
  await get(["a", "b", "c"].map((name) => journal.addSlowly.remote(name)));
  expect(await journal.read.remote()).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("a method of a base class and one with several results can be called", async () => {
  class Base {
    name(): string {
      return `I am ${this.constructor.name}`;
    }
  }
  class Derived extends Base {
    pair(): [number, string] {
      return [1, "two"];
    }
  }
  const actor = remote(Derived).remote();
  expect(await actor.name.remote()).toBe("I am Derived");
  const [one, two] = actor.pair.options({ numReturns: 2 }).remote();
  expect(await get([one, two])).toEqual([1, "two"]);
});

test("what a method throws fails its call alone", async () => {
  class Fragile {
    #calls = 0;
    divide(by: number): number {
      this.#calls += 1;
      if (by === 0) throw new RangeError("by nothing");
      return this.#calls;
    }
  }
  const actor = remote(Fragile).remote();
  const [good, bad, next] = [actor.divide.remote(1), actor.divide.remote(0), actor.divide.remote(2)];
  expect(await good).toBe(1);
  const error = await failureOf(bad);
  expect(error).toBeInstanceOf(TaskError);
  expect(error.cause).toBeInstanceOf(RangeError);
  expect(error.message).toContain("Fragile.divide");
  expect(error.message).toContain("by nothing");
  expect(await next).toBe(3);
});

test("a call whose argument failed fails with that failure, and those behind it run", async () => {
  const broken = remote((): string => {
    throw new RangeError("no argument");
  });
  const journal = remote(Journal).remote();
  const failed = journal.add.remote(broken.remote());
  const after = journal.add.remote("after");
  expect((await failureOf(failed)).cause).toBeInstanceOf(RangeError);
  await after;
  expect(await journal.read.remote()).toEqual(["after"]);
});

test("a constructor that throws ends the actor, and every call tells the cause", async () => {
  class Impossible {
    constructor(reason: string) {
      throw new RangeError(reason);
    }
    work(): number {
      return 1;
    }
  }
  const actor = remote(Impossible).remote("no room");
  for (const error of [await failureOf(actor.work.remote()), await failureOf(ready(actor)), await failureOf(actor.work.remote())]) {
    expect(error).toBeInstanceOf(ActorDiedError);
    expect(error.message).toContain("no room");
    expect(error.cause).toBeInstanceOf(RangeError);
  }
});

test("a constructor takes references, and a failed one ends the actor with its cause", async () => {
  const start = remote(() => 40);
  const broken = remote((): number => {
    throw new RangeError("no start");
  });
  const RemoteCounter = remote(Counter);
  expect(await RemoteCounter.remote(start.remote()).increment.remote(2)).toBe(42);
  const error = await failureOf(RemoteCounter.remote(broken.remote()).increment.remote());
  expect(error).toBeInstanceOf(ActorDiedError);
  expect(error.cause).toBeInstanceOf(RangeError);
});

test("handles go to tasks and other actors and come back", async () => {
  const counter = remote(Counter).remote();
  const bump = remote(async (target: { increment: { remote(by: number): PromiseLike<number> } }) => await target.increment.remote(10));
  expect(await bump.remote(counter)).toBe(10);
  class Keeper {
    #kept: unknown;
    keep(handle: unknown): void {
      this.#kept = handle;
    }
    give(): Map<string, unknown> {
      return new Map([["kept", this.#kept]]);
    }
    async bump(): Promise<number> {
      return await (this.#kept as { increment: { remote(by: number): PromiseLike<number> } }).increment.remote(1);
    }
  }
  const keeper = remote(Keeper).remote();
  await keeper.keep.remote(counter);
  expect(await keeper.bump.remote()).toBe(11);
  const returned = (await keeper.give.remote()).get("kept") as typeof counter;
  expect(await returned.increment.remote()).toBe(12);
});

test("callers in several processes share one state", async () => {
  const counter = remote(Counter).remote();
  const bump = remote(async (target: { increment: { remote(): PromiseLike<number> } }) => {
    for (let index = 0; index < 25; index += 1) await target.increment.remote();
  });
  await get([1, 2, 3, 4].map(() => bump.remote(counter)));
  expect(await counter.increment.remote(0)).toBe(100);
});

test("a serial actor that waits for a call to itself is refused at once", async () => {
  class Narcissus {
    look(): string {
      return "me";
    }
    async wait(self: { look: { remote(): PromiseLike<string> } }): Promise<string> {
      return await self.look.remote();
    }
    send(self: { look: { remote(): PromiseLike<string> } }): string {
      self.look.remote();
      return "sent";
    }
  }
  const actor = remote(Narcissus).remote();
  const error = await failureOf(actor.wait.remote(actor));
  expect(error).toBeInstanceOf(DeadlockError);
  expect(error.message).toContain("Narcissus.wait");
  expect(await actor.send.remote(actor)).toBe("sent");
  expect(await actor.look.remote()).toBe("me");
});

test("a handle is not a promise, and has the methods of its class and nothing else", async () => {
  const counter = remote(Counter).remote();
  expect(await Promise.resolve(counter)).toBe(counter);
  expect("then" in counter).toBe(false);
  expect(Object.keys(Object.getPrototypeOf(counter) as object).sort()).toEqual(["increment", "pid"]);
  expect(() => (counter.increment as unknown as () => void)()).toThrow(TypeError);
  expect(() => remote(Counter).remote.call(undefined)).not.toThrow();
  expect(() => (remote(Counter) as unknown as () => void)()).toThrow("Counter.remote()");
});
