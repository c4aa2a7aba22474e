/**
 * Programs that need the driver as a whole (sessions, graphs, pools, queues), called by name. `ray_twin.py` has the same in Python.
 *
 * Each is an ordinary piece of a driver on the public interface, and returns plain data.
 */
import { get, InputNode, init, isInitialized, MultiOutputNode, type ObjectRef, put, remote, wait } from "shoal";
import { ActorPool, Pool, Queue, QueueEmptyError, QueueFullError } from "shoal/util";

const double = remote((x: number): number => x * 2);
const add = remote((a: number, b: number): number => a + b);

class Worker {
  #calls = 0;
  async square(x: number, ms = 0): Promise<number> {
    this.#calls += 1;
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    return x * x;
  }
  calls(): number {
    return this.#calls;
  }
}
const WorkerActor = remote(Worker, { numCpus: 0.5 });

const now = remote((): number => Date.now());
const readNow = remote(async ([ref]: [ObjectRef<unknown>]): Promise<number> => {
  await ref;
  return Date.now();
});
class Clock {
  now(): number {
    return Date.now();
  }
}
const ClockActor = remote(Clock, { numCpus: 0.1 });
const COMPUTES_MS = 1500;

/** Submits, computes, and lets the event loop turn only then. @returns whether the call had begun before the end of the computation */
async function beginsMeanwhile(submit: () => ObjectRef<number>): Promise<boolean> {
  const ref = submit();
  const end = Date.now() + COMPUTES_MS;
  while (Date.now() < end);
  return (await ref) < end;
}

/** The 40th of 2,000 quick tasks ends its process, and so does the 501st of 1,000 calls of an actor. */
const exitAt = remote((index: number, last: number): number => (index === last ? process.exit(1) : index), { maxRetries: 0 });
class Ends {
  call(index: number, last: number): number {
    return index === last ? process.exit(1) : index;
  }
}
const EndsActor = remote(Ends, { numCpus: 0.1 });

async function failedOf(refs: readonly ObjectRef<number>[]): Promise<number[]> {
  const outcomes = await Promise.allSettled(refs);
  return outcomes.flatMap((outcome, index) => (outcome.status === "fulfilled" && outcome.value === index ? [] : [index]));
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

async function nameOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "no error";
  } catch (error) {
    if (error instanceof QueueFullError) return "full";
    if (error instanceof QueueEmptyError) return "empty";
    return "another error";
  }
}

export const programs: Readonly<Record<string, () => Promise<unknown>>> = {
  isInitialized: async () => isInitialized(),
  initAgain: async () =>
    await init({ numCpus: 1 }).then(
      () => "accepted",
      () => "refused",
    ),
  initAgainIgnored: async () =>
    await init({ ignoreReinitError: true }).then(
      () => "accepted",
      () => "refused",
    ),
  waitOrder: async () => {
    const refs = [3, 1, 2].map((x) => double.remote(x));
    const [ready, pending] = await wait(refs, { numReturns: 3, timeoutMs: 20_000 });
    return [await get(ready), pending.length];
  },
  beginsWhileDriverComputes: async () => {
    await now.remote();
    const task = await beginsMeanwhile(() => now.remote());
    const clock = ClockActor.remote();
    await clock.now.remote();
    return { task, method: await beginsMeanwhile(() => clock.now.remote()) };
  },
  taskAmongQuickOnesEnds: async () => await failedOf(Array.from({ length: 2000 }, (_, index) => exitAt.remote(index, 39))),
  actorEndsInBulk: async () => {
    const actor = EndsActor.remote();
    await actor.call.remote(0, -1);
    const failed = await failedOf(Array.from({ length: 1000 }, (_, index) => actor.call.remote(index, 500)));
    // Ray loses one answer now and then that was on its way.
    return { before: failed.filter((index) => index < 500).length <= 1, from: failed.filter((index) => index >= 500).length };
  },
  readsWhileOwnerComputes: async () => {
    const read = async (value: unknown): Promise<boolean> => {
      // A worker is at hand then.
      await readNow.remote([put(0)]);
      const ref = put(value);
      return await beginsMeanwhile(() => readNow.remote([ref]));
    };
    return { stored: await read(new Uint8Array(1_000_000)), small: await read("small") };
  },
  graphChain: async () => {
    const input = new InputNode<number>();
    const graph = add.bind(double.bind(input), 1);
    return [await graph.execute(3), await graph.execute(4)];
  },
  graphShared: async () => {
    const worker = WorkerActor.remote();
    const squared = worker.square.bind(new InputNode<number>());
    const graph = add.bind(squared, squared);
    return [await graph.execute(3), await worker.calls.remote()];
  },
  graphOutputs: async () => {
    const input = new InputNode<number>();
    return await get(new MultiOutputNode([double.bind(input), add.bind(input, 10)]).execute(5));
  },
  graphAttributes: async () => {
    const input = new InputNode<{ a: number; b: number }>();
    return await add.bind(input.at("a"), input.at("b")).execute({ a: 2, b: 40 });
  },
  graphCompiled: async () => {
    const [first, second] = [WorkerActor.remote(), WorkerActor.remote()];
    const graph = await second.square.bind(first.square.bind(new InputNode<number>())).compile();
    const results = [await graph.execute(2), await graph.execute(3)];
    await graph.teardown();
    return results;
  },
  actorPoolMap: async () => {
    const pool = new ActorPool([WorkerActor.remote(), WorkerActor.remote()]);
    return await collect(pool.map((worker, x: number) => worker.square.remote(x, x === 1 ? 200 : 0), [1, 2, 3, 4]));
  },
  actorPoolUnordered: async () => {
    const pool = new ActorPool([WorkerActor.remote(), WorkerActor.remote()]);
    const squares = await collect(pool.mapUnordered((worker, x: number) => worker.square.remote(x), [1, 2, 3, 4]));
    return squares.sort((a, b) => a - b);
  },
  actorPoolSubmit: async () => {
    const pool = new ActorPool([WorkerActor.remote()]);
    pool.submit((worker, x: number) => worker.square.remote(x), 5);
    pool.submit((worker, x: number) => worker.square.remote(x), 6);
    const first = await pool.getNext();
    return [first, pool.hasNext(), await pool.getNext(), pool.hasNext()];
  },
  queueOrder: async () => {
    const queue = new Queue<number>();
    for (const item of [1, 2, 3]) await queue.put(item);
    return [await queue.size(), await queue.get(), await queue.get(), await queue.get(), await queue.empty()];
  },
  queueFull: async () => {
    const queue = new Queue<number>({ maxSize: 1 });
    await queue.put(1);
    return [await queue.full(), await nameOf(() => queue.putNowait(2)), await nameOf(() => queue.put(2, { timeoutMs: 100 }))];
  },
  queueEmpty: async () => {
    const queue = new Queue<number>();
    return [await nameOf(() => queue.getNowait()), await nameOf(() => queue.get({ timeoutMs: 100 }))];
  },
  poolMap: async () => {
    await using pool = new Pool({ processes: 2 });
    return await pool.map((x: number) => x * 10, [1, 2, 3, 4, 5]);
  },
  poolStarmap: async () => {
    await using pool = new Pool({ processes: 2 });
    return await pool.starmap(
      (a: number, b: number) => a + b,
      [
        [1, 2],
        [3, 4],
      ],
    );
  },
  poolImap: async () => {
    await using pool = new Pool({ processes: 2 });
    return await collect(pool.imap((x: number) => x + 1, [1, 2, 3]));
  },
  poolApply: async () => {
    await using pool = new Pool({ processes: 1 });
    return await pool.apply((x: number) => x - 1, [8]);
  },
};
