/**
 * Limits of resources, alone and in pipelines of the real operators. There tasks and actors count the resources they hold: never more than a limit, and each
 * pipeline reaches its end with any budget of memory.
 */
import { describe, expect, test } from "vitest";
import type { ObjectRef } from "../../../core/index.ts";
import type { StreamProducer } from "../../../core/internal.ts";
import { ActorPoolOperator } from "../operators/actor-operator.ts";
import { MemoryBudget } from "./budget.ts";
import { type BlockRef, type Operator, type OperatorEvents } from "../operators/operator.ts";
import { PoolCpus } from "./pool-cpus.ts";
import { type Amounts, ResourceLimits } from "./resource-limits.ts";
import type { BlockItems } from "../streams/running-streams.ts";
import { UnionOperator } from "../operators/several-inputs.ts";
import { type Stage, StreamingExecutor } from "../streaming-executor.ts";
import type { TaskStart } from "../tasks/task.ts";
import { TaskOperator } from "../operators/task-operator.ts";

describe("a limit", () => {
  test("admits what fits, in exact sums, and looks at no other resource", () => {
    const limits = new ResourceLimits({ CPU: 0.3 }, {});
    const step = limits.step({ CPU: 0.1, GPU: 8 });
    for (let task = 0; task < 3; task += 1) {
      limits.beginRound();
      expect(step.admitsTask()).toBe(true);
      step.change("nothing", "everything");
    }
    limits.beginRound();
    expect(step.admitsTask()).toBe(false);
    step.change("everything", "nothing");
    limits.beginRound();
    expect(step.admitsTask()).toBe(true);
  });

  test("gets the CPUs of a task that stands still back, and all else at its end", () => {
    const limits = new ResourceLimits({ CPU: 1, GPU: 1 }, {});
    const step = limits.step({ CPU: 1, GPU: 1 });
    step.change("nothing", "everything");
    step.change("everything", "rest");
    expect([limits.held("CPU"), limits.held("GPU")]).toEqual([0, 1]);
    expect([step.admitsTask(), step.keepsWhatIsLacking, step.admitsMore("rest")]).toEqual([false, true, true]);
    step.change("rest", "nothing");
    expect([limits.held("CPU"), limits.held("GPU")]).toEqual([0, 0]);
  });

  test("follows the cluster, and what is held beyond it comes back by itself", () => {
    const limits = new ResourceLimits({ GPU: 2 }, {});
    const step = limits.step({ GPU: 1 });
    const admits = (): boolean => {
      limits.beginRound();
      return step.admitsTask();
    };
    for (let task = 0; task < 2; task += 1) step.change("nothing", "everything");
    limits.fit({ GPU: 1 });
    expect(admits()).toBe(false);
    for (let task = 0; task < 2; task += 1) step.change("everything", "nothing");
    expect(admits()).toBe(true);
    for (let task = 0; task < 2; task += 1) step.change("nothing", "everything");
    limits.fit({ GPU: 3 });
    expect(admits()).toBe(true);
  });

  test("keeps what a step lacks from those asked later in the round, and nothing else", () => {
    const limits = new ResourceLimits({ CPU: 2, GPU: 1 }, {});
    const [large, read, other] = [limits.step({ CPU: 2 }), limits.step({ CPU: 1 }), limits.step({ GPU: 1 })];
    read.change("nothing", "everything");
    limits.beginRound();
    expect([read.admitsMore("everything"), large.admitsTask(), read.admitsTask(), other.admitsTask()]).toEqual([true, false, false, true]);
    expect([read.admitsMore("everything"), read.admitsMore("nothing")]).toEqual([false, true]);
    limits.beginRound();
    expect([read.admitsTask(), large.admitsTask()]).toEqual([true, false]);
  });

  test("lets pools leave room for the largest task, and wait for what tasks hold", () => {
    const limits = new ResourceLimits({ CPU: 4 }, { CPU: 2 });
    const [pool, task] = [limits.step({ CPU: 1 }), limits.step({ CPU: 2 })];
    pool.takeForActor(1);
    task.change("nothing", "everything");
    expect(pool.admitsActor(1)).toBe(true);
    pool.takeForActor(1);
    // There is never room beside a task, so other steps keep their share.
    expect(pool.admitsActor(0.5)).toBe(false);
    expect(limits.isLacking({ CPU: 1 })).toBe(false);
    pool.giveOfActor(1);
    const small = limits.step({ CPU: 1 });
    small.change("nothing", "everything");
    expect(pool.admitsActor(1)).toBe(false);
    expect(limits.isLacking({ CPU: 1 })).toBe(true);
    expect(small.admitsTask()).toBe(false);
  });
});

/** Items that a task may be ahead: two blocks, as of real ones. */
const ITEMS_AHEAD = 4;

type Random = () => number;

function randomOf(seed: number): Random {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function refTo(value: unknown): ObjectRef<never> {
  return Object.assign(Promise.resolve(value), { [Symbol.dispose]: () => {} }) as unknown as ObjectRef<never>;
}

/** The resources that all tasks and actors of a pipeline really hold. */
class World {
  readonly #limits: Amounts;
  readonly #held: Record<string, number> = {};
  readonly most: Record<string, number> = {};

  constructor(limits: Amounts) {
    this.#limits = limits;
  }

  take(amounts: Amounts): void {
    for (const [name, amount] of Object.entries(amounts)) {
      const held = (this.#held[name] ?? 0) + amount;
      const limit = this.#limits[name] ?? Number.POSITIVE_INFINITY;
      if (held > limit) throw new Error(`${held} of ${name} are held, and the limit is ${limit}`);
      this.#held[name] = held;
      this.most[name] = Math.max(this.most[name] ?? 0, held);
    }
  }

  give(amounts: Amounts): void {
    for (const [name, amount] of Object.entries(amounts)) this.#held[name] = (this.#held[name] as number) - amount;
  }
}

/** A task as the core runs it: it gives blocks of a row each, holds its CPUs unless it is as far ahead as it may be, and all else until it ends. */
class FakeTask implements StreamProducer {
  isAtRest = false;
  hasEnded = false;
  readonly #world: World;
  readonly #cpus: Amounts;
  readonly #rest: Amounts;
  readonly #items: unknown[] = [];
  #ahead = 0;
  #unread = 0;
  #onRest = (): void => {};
  #onItem = (): void => {};
  #onCredit = (): void => {};

  constructor(world: World, { CPU = 0, ...rest }: Amounts, work: { readonly rows: number; readonly random: Random }) {
    this.#world = world;
    this.#cpus = { CPU };
    this.#rest = rest;
    void this.#run(work);
  }

  onRest(listener: () => void): void {
    this.#onRest = listener;
  }

  refs(): BlockItems {
    return { next: () => this.#next(), return: async () => ({ done: true, value: undefined }) };
  }

  async #run({ rows, random }: { readonly rows: number; readonly random: Random }): Promise<void> {
    this.#world.take({ ...this.#cpus, ...this.#rest });
    for (let row = 0; row < rows; row += 1) {
      if (random() < 0.5) await new Promise(setImmediate);
      this.#items.push({ rowCount: 1 }, { rowCount: 1, sizeBytes: 10, schema: [] });
      this.#ahead += 2;
      this.#onItem();
      if (this.#ahead >= ITEMS_AHEAD) await this.#untilCredit();
    }
    this.#world.give({ ...this.#cpus, ...this.#rest });
    this.hasEnded = true;
    this.isAtRest = true;
    this.#onItem();
    this.#onRest();
  }

  async #untilCredit(): Promise<void> {
    this.#world.give(this.#cpus);
    this.isAtRest = true;
    const credit = new Promise<void>((resolve) => (this.#onCredit = resolve));
    this.#onRest();
    await credit;
  }

  async #next(): Promise<IteratorResult<never, undefined>> {
    while (this.#items.length === 0) {
      if (this.hasEnded) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.#onItem = resolve));
    }
    this.#unread += 1;
    if (this.#unread === ITEMS_AHEAD / 2) this.#credit();
    return { done: false, value: { ref: refTo(this.#items.shift()) } as never };
  }

  #credit(): void {
    this.#ahead -= this.#unread;
    this.#unread = 0;
    if (!this.isAtRest || this.hasEnded) return;
    this.isAtRest = false;
    this.#world.take(this.#cpus);
    this.#onCredit();
  }
}

interface Shape {
  readonly world: World;
  readonly limits: ResourceLimits;
  readonly events: OperatorEvents;
  readonly random: Random;
  readonly preserveOrder: boolean;
}

/** @param reads - the rows of each task, where it reads; else tasks give as many rows as they take */
function tasksOf({ world, limits, events, random, preserveOrder }: Shape, amounts: Amounts, reads?: readonly number[]): Operator {
  const startTask = ((args: readonly [number], inputs: readonly BlockRef[]) =>
    new FakeTask(world, amounts, {
      rows: reads === undefined ? inputs.reduce((sum, { rowCount }) => sum + rowCount, 0) : args[0],
      random,
    })) as unknown as TaskStart;
  return new TaskOperator({
    name: "tasks",
    startTask,
    reads: reads?.map((rows) => [rows]),
    rowsPerTaskMin: 0,
    concurrencyMax: 6,
    claim: limits.step(amounts),
    producerOf: (task) => task as FakeTask,
    preserveOrder,
    events,
  });
}

function poolOf({ world, limits, events, random, preserveOrder }: Shape, amounts: Amounts): Operator {
  return new ActorPoolOperator({
    name: "pool",
    actors: {
      start: () => {
        world.take(amounts);
        return {
          ready: new Promise((resolve) => setImmediate(resolve)),
          run: (inputs) => new FakeTask(new World({}), {}, { rows: inputs.length, random }).refs(),
          hasDied: async () => false,
          end: async () => world.give(amounts),
        };
      },
      unitRows: Number.POSITIVE_INFINITY,
      close: () => {},
    },
    min: 1,
    max: 4,
    initial: 1,
    tasksInFlightMax: 2,
    maxRestarts: undefined,
    maxTaskRetries: undefined,
    numCpus: amounts["CPU"] ?? 0,
    cpus: new PoolCpus().account(100, 0),
    actorClaim: limits.step(amounts),
    rowsPerTaskMin: 0,
    preserveOrder,
    events,
  });
}

const threes = (count: number): number[] => Array.from({ length: count }, () => 3);

/** Some pipeline: one or two branches of reads and steps, with pools among them, and at times a union and a last step. */
function makePipeline(seed: number) {
  const random = randomOf(seed);
  const pick = <T>(...of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const some = (): Amounts =>
    pick<Amounts>({ CPU: 1 }, { CPU: 2 }, { CPU: 0.5 }, { CPU: 1, GPU: 1 }, { CPU: 0, GPU: 1 }, { CPU: 0, GPU: 2 }, { CPU: 1, tpu: 1 });
  const branches = Array.from({ length: pick(1, 1, 2) }, () => {
    const steps = Array.from({ length: pick(0, 1, 2, 3) }, () => ({ kind: pick("tasks", "tasks", "pool"), amounts: some() }));
    return { read: some(), reads: pick([3], threes(4), [40], [10, 1, 20]), steps };
  });
  const last = pick(undefined, { kind: "tasks", amounts: some() });
  const all = [
    ...branches.flatMap(({ read, steps }) => [{ kind: "tasks", amounts: read }, ...steps]),
    ...(last === undefined ? [] : [last]),
  ];
  const forTasks: Record<string, number> = {};
  const forActors: Record<string, number> = {};
  for (const { kind, amounts } of all)
    for (const [name, amount] of Object.entries(amounts))
      if (kind === "pool") forActors[name] = (forActors[name] ?? 0) + amount;
      else forTasks[name] = Math.max(forTasks[name] ?? 0, amount);
  // The least that `refuseBeyond` lets pass, and more.
  const extra = pick(0, 0, 1, 3);
  const least = Object.entries({ ...forActors, ...forTasks });
  const limits = Object.fromEntries(least.map(([name]) => [name, (forActors[name] ?? 0) + (forTasks[name] ?? 0) + extra]));
  const budgetBytes = pick(1, 35, 10_000);
  const world = new World(limits);
  const counted = new ResourceLimits(limits, forTasks);
  const executor = new StreamingExecutor({ budget: new MemoryBudget(), limitBytes: budgetBytes, limits: counted }, (events) => {
    const shape: Shape = { world, limits: counted, events, random, preserveOrder: random() < 0.5 };
    const stages: Stage[] = [];
    const ends = branches.map(({ read, reads, steps }) => {
      let end = stages.push({ operator: tasksOf(shape, read, reads), inputs: [] }) - 1;
      for (const { kind, amounts } of steps)
        end = stages.push({ operator: kind === "pool" ? poolOf(shape, amounts) : tasksOf(shape, amounts), inputs: [end] }) - 1;
      return end;
    });
    stages.push({ operator: new UnionOperator("union", ends.length), inputs: ends });
    if (last !== undefined) stages.push({ operator: tasksOf(shape, last.amounts), inputs: [stages.length - 1] });
    return stages;
  });
  return {
    executor,
    world,
    limits: counted,
    rows: branches.flatMap(({ reads }) => reads).reduce((sum, count) => sum + count, 0),
    names: Object.keys(limits),
  };
}

test("pipelines of all kinds end within limits that are just enough, with any budget, and never hold more", async () => {
  for (let seed = 0; seed < 1000; seed += 1) {
    const { executor, limits, rows, names } = makePipeline(seed);
    let given = 0;
    const timer = setTimeout(() => executor.onFailure(new Error(`seed ${seed} stands still after ${given} of ${rows} rows`)), 2000);
    for (let block = await executor.next(); block !== undefined; block = await executor.next()) {
      given += block.rowCount;
      block.release();
    }
    clearTimeout(timer);
    expect(given, `seed ${seed}`).toBe(rows);
    await executor.close();
    expect(
      names.map((name) => limits.held(name)),
      `seed ${seed}`,
    ).toEqual(names.map(() => 0));
  }
});

test.each([
  [1, [200], 1],
  [1, [200], 10_000],
  [1, threes(20), 10_000],
  [2, [100, 100, 100], 10_000],
])("with %i CPUs steps behind reads of %j rows get a CPU before them, with a budget of %i bytes", async (CPU, reads, budgetBytes) => {
  const world = new World({ CPU });
  const limits = new ResourceLimits({ CPU }, { CPU: 1 });
  const executor = new StreamingExecutor({ budget: new MemoryBudget(), limitBytes: budgetBytes, limits }, (events) => {
    const shape: Shape = { world, limits, events, random: () => 0, preserveOrder: true };
    return [
      { operator: tasksOf(shape, { CPU: 1 }, reads), inputs: [] },
      { operator: tasksOf(shape, { CPU: 1 }), inputs: [0] },
    ];
  });
  let rows = 0;
  let mostBytes = 0;
  for (let block = await executor.next(); block !== undefined; block = await executor.next()) {
    mostBytes = Math.max(
      mostBytes,
      executor.stages.reduce((sum, { operator }) => sum + operator.heldBytes, 0),
    );
    rows += block.rowCount;
    block.release();
  }
  expect([rows, world.most["CPU"]]).toEqual([reads.reduce((sum, count) => sum + count, 0), CPU]);
  // Without the turn of the steps behind them the reads would give all of their rows first.
  expect(mostBytes).toBeLessThanOrEqual(150);
  await executor.close();
});

test("a task that stands still on the only GPU, for rows that nobody needs yet, goes on to its end where another one needs it", async () => {
  const limits = new ResourceLimits({ GPU: 1 }, { GPU: 1 });
  const executor = new StreamingExecutor({ budget: new MemoryBudget(), limitBytes: 35, limits }, (events) => {
    const shape: Shape = { world: new World({ GPU: 1 }), limits, events, random: () => 0, preserveOrder: true };
    return [
      { operator: tasksOf(shape, { CPU: 1 }, threes(4)), inputs: [] },
      { operator: tasksOf(shape, { GPU: 1 }), inputs: [0] },
      { operator: tasksOf(shape, { GPU: 1 }, [20]), inputs: [] },
      { operator: new UnionOperator("union", 2), inputs: [1, 2] },
    ];
  });
  let rows = 0;
  const timer = setTimeout(() => executor.onFailure(new Error(`stands still after ${rows} rows`)), 2000);
  for (let block = await executor.next(); block !== undefined; block = await executor.next()) {
    rows += block.rowCount;
    block.release();
  }
  clearTimeout(timer);
  expect(rows).toBe(32);
});

test("a pipeline whose consumer pauses holds no CPU once its tasks stand still", async () => {
  const limits = new ResourceLimits({ CPU: 1 }, { CPU: 1 });
  const executor = new StreamingExecutor({ budget: new MemoryBudget(), limitBytes: 15, limits }, (events) => [
    {
      operator: tasksOf({ world: new World({ CPU: 1 }), limits, events, random: () => 0.9, preserveOrder: true }, { CPU: 1 }, threes(100)),
      inputs: [],
    },
  ]);
  (await executor.next())?.release();
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(limits.held("CPU")).toBe(0);
  (await executor.next())?.release();
  await executor.close();
  expect(limits.held("CPU")).toBe(0);
});
