/**
 * How long functions and classes live that a program makes anew: in the program, at the node and in workers, and that nothing is let go of which somebody still needs.
 */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type ActorHandle, get, kill, type ObjectRef, put, ready, type RemoteFunction, remote } from "shoal";
import { describe, expect, test } from "vitest";
import { collectGarbage, shoalProcesses, until, useSession } from "./session.ts";

useSession({ numCpus: 2 });

/** The memory that a process has for itself alone: nothing once it has ended, as workers of actors do at any moment. */
function privateMegabytes(pid: number): number {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  } catch {
    return 0;
  }
  const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
  return (kilobytes("Private_Dirty") + kilobytes("Private_Clean")) / 1024;
}

/** In a worker nobody waits for the collector, which has its own time: this asks for the living objects. */
const collectThere = remote(() => {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
});

/** Returns the memory that each process gains in many rounds, after some rounds that warm up. */
async function growthOf(round: (number: number) => Promise<void>, { warm, measured } = { warm: 75, measured: 200 }): Promise<number[]> {
  const rounds = async (from: number, to: number): Promise<void> => {
    for (let number = from; number < to; number += 1) {
      await round(number);
      if (number % 6 !== 0) continue;
      await collectGarbage();
      await collectThere.remote();
    }
  };
  // A process that has just started grows as it starts: those are measured that live some rounds before.
  await rounds(0, warm / 3);
  const pids = [process.pid, ...shoalProcesses()];
  await rounds(warm / 3, warm);
  const before = pids.map(privateMegabytes);
  await rounds(warm, warm + measured);
  return pids.map((pid, index) => privateMegabytes(pid) - (before[index] as number));
}

/** Few large ones tell what many small ones would, sooner. */
const BODY_BYTES = 400_000;
/** 200 bodies take 80 MB, in each process where one stays, and more as they are kept in several forms. */
const GROWTH_MAX_MEGABYTES = 55;

function bodyOf(number: number): string {
  return `${"x".repeat(BODY_BYTES)}${number}`;
}

describe("memory stays as it is", { timeout: 120_000 }, () => {
  test("with a function for each request", async () => {
    const handle = (body: string): ObjectRef<number> => remote(() => body.length).remote();
    const growth = await growthOf(async (number) => {
      expect(await handle(bodyOf(number))).toBe(BODY_BYTES + String(number).length);
    });
    expect(growth.filter((megabytes) => megabytes >= GROWTH_MAX_MEGABYTES)).toEqual([]);
  });

  test("with a class for each request, whose instances travel", async () => {
    const sizeOf = remote((page: { size(): number }) => page.size());
    const handle = (body: string): ObjectRef<number> => {
      class Page {
        size(): number {
          return body.length;
        }
      }
      return sizeOf.remote(new Page());
    };
    const growth = await growthOf(async (number) => {
      expect(await handle(bodyOf(number))).toBe(BODY_BYTES + String(number).length);
    });
    expect(growth.filter((megabytes) => megabytes >= GROWTH_MAX_MEGABYTES)).toEqual([]);
  });

  test("with an actor of a class of its own for each request", async () => {
    const serve = async (body: string): Promise<number> => {
      class Page {
        size(): number {
          return body.length;
        }
      }
      const page = remote(Page, { numCpus: 0 }).remote();
      const size = await page.size.remote();
      await kill(page);
      return size;
    };
    const growth = await growthOf(
      async (number) => {
        expect(await serve(bodyOf(number))).toBe(BODY_BYTES + String(number).length);
      },
      { warm: 15, measured: 50 },
    );
    // 50 bodies take 20 MB.
    expect(growth.filter((megabytes) => megabytes >= 14)).toEqual([]);
  });
});

/** Resolves when the collector has taken what `make` made and let go of. */
async function gone(make: () => WeakRef<object>): Promise<void> {
  const made = make();
  await until(async () => {
    await collectGarbage();
    return made.deref() === undefined;
  }, "a function to be collected");
  // The node has been told of the consequences by then.
  for (let turns = 0; turns < 10; turns += 1) await collectGarbage();
}

class Keeper {
  #kept: RemoteFunction<[number], number> | null = null;
  #value: unknown;
  keep(kept: RemoteFunction<[number], number>): void {
    this.#kept = kept;
  }
  async call(value: number): Promise<number> {
    return (await this.#kept?.remote(value)) ?? -1;
  }
  async take(maker: RemoteFunction<[], object>): Promise<void> {
    this.#value = await maker.remote();
  }
  give(): unknown {
    return this.#value;
  }
}

describe("what somebody needs stays", () => {
  test("a remote function that an actor has, and its maker has let go of", async () => {
    const keeper = remote(Keeper, { numCpus: 0 }).remote();
    let sent: ObjectRef<void> | undefined;
    await gone(() => {
      const offset = Math.random() < 2 ? 41 : 0;
      const add = remote((value: number) => value + offset);
      sent = keeper.keep.remote(add);
      return new WeakRef(add);
    });
    await sent;
    sent = undefined;
    for (let turns = 0; turns < 20; turns += 1) await collectGarbage();
    expect(await keeper.call.remote(1)).toBe(42);
  });

  test("what a class in a value has captured", async () => {
    const keeper = remote(Keeper, { numCpus: 0 }).remote();
    let sent: ObjectRef<void> | undefined;
    await gone(() => {
      const base = put(40);
      const add = remote((value: number, more: number) => value + more + 1);
      class Adder {
        async remote(value: number): Promise<number> {
          return await add.remote(value, await get(base));
        }
      }
      sent = keeper.keep.remote(new Adder() as never);
      return new WeakRef(add);
    });
    await sent;
    sent = undefined;
    for (let turns = 0; turns < 20; turns += 1) await collectGarbage();
    expect(await keeper.call.remote(1)).toBe(42);
  });

  test("the class of a result that has not been read", async () => {
    let ref: ObjectRef<{ double(): number }> | undefined;
    await gone(() => {
      class Box {
        value = 21;
        double(): number {
          return this.value * 2;
        }
      }
      const make = remote(() => new Box());
      ref = make.remote() as never;
      return new WeakRef(make);
    });
    const double = remote((box: { double(): number }) => box.double());
    expect(await double.remote(ref as never)).toBe(42);
    expect((await get(ref as ObjectRef<{ double(): number }>)).double()).toBe(42);
  });

  test("the class of what an actor has, whose worker and maker are gone", async () => {
    const keeper = remote(Keeper, { numCpus: 0 }).remote();
    let taken: ObjectRef<void> | undefined;
    await gone(() => {
      class Point {
        x = 40;
        sum(): number {
          return this.x + 2;
        }
      }
      const make = remote(() => new Point(), { maxCalls: 1 });
      taken = keeper.take.remote(make);
      return new WeakRef(make);
    });
    await taken;
    taken = undefined;
    for (let turns = 0; turns < 20; turns += 1) await collectGarbage();
    const sum = remote((point: { sum(): number }) => point.sum());
    expect(await sum.remote(keeper.give.remote() as never)).toBe(42);
  });

  test("the class of an actor that starts again", async () => {
    let handle: ActorHandle<{ pid(): number }> | undefined;
    await gone(() => {
      class Service {
        pid(): number {
          return process.pid;
        }
      }
      const RemoteService = remote(Service, { maxRestarts: 1, maxTaskRetries: 1, numCpus: 0 });
      handle = RemoteService.remote() as never;
      return new WeakRef(RemoteService);
    });
    const service = handle as ActorHandle<{ pid(): number }>;
    await ready(service);
    const first = await service.pid.remote();
    await gone(() => new WeakRef({}));
    await kill(service, { noRestart: false });
    expect(await service.pid.remote()).not.toBe(first);
  });

  test("remote functions that name themselves and each other", async () => {
    const make = (step: number): RemoteFunction<[number], number> => {
      const even: RemoteFunction<[number], number> = remote(async (left: number) => (left <= 0 ? 0 : step + (await odd.remote(left - 1))));
      const odd: RemoteFunction<[number], number> = remote(async (left: number) => (left <= 0 ? 0 : step + (await even.remote(left - 1))));
      return even;
    };
    for (let step = 1; step < 4; step += 1) expect(await make(step).remote(4)).toBe(4 * step);
  });
});

test("a worker that has dropped a function gets it again, and each call runs once", { timeout: 120_000 }, async () => {
  const one = Array.from({ length: 1100 }, (_, number) =>
    remote(() => {
      const global = globalThis as { calls?: number };
      global.calls = (global.calls ?? 0) + 1;
      return [number, process.pid, global.calls];
    }),
  );
  // Calls made one after the other mostly share a worker, which drops the first functions; each worker's count equals its answers.
  const answered = new Map<number, number>();
  for (let round = 0; round < 2; round += 1) {
    for (const [number, made] of one.entries()) {
      const [ran, worker, calls] = (await made.remote()) as [number, number, number];
      const count = (answered.get(worker) ?? 0) + 1;
      answered.set(worker, count);
      expect([ran, calls]).toEqual([number, count]);
    }
  }
  expect(Math.max(...answered.values())).toBeGreaterThan(1100);
});

test("a task that makes functions anew has each of them run", async () => {
  const sum = remote(async (count: number) => {
    let total = 0;
    for (let number = 0; number < count; number += 1) total += await remote(() => number).remote();
    return total;
  });
  expect(await sum.remote(100)).toBe(4950);
});
