/**
 * The executor with operators that need no cluster. It keeps to its budget, gives or releases every block exactly once, never stands still, and throws a
 * failure once.
 */
import { expect, test } from "vitest";
import { MemoryBudget } from "./pools/budget.ts";
import { UnionOperator } from "./operators/several-inputs.ts";
import { type BlockRef, type Operator, type OperatorEvents, OperatorStatistics } from "./operators/operator.ts";
import { type Stage, StreamingExecutor } from "./streaming-executor.ts";

/** Blocks whose releases are counted. */
class Blocks {
  readonly released = new Map<number, number>();
  made = 0;

  make(id: number): BlockRef {
    this.made += 1;
    this.released.set(id, 0);
    const release = (): void => void this.released.set(id, (this.released.get(id) as number) + 1);
    return { ref: { id } as never, rowCount: 1, sizeBytes: 10, schema: [], release };
  }
}

const idOf = (block: BlockRef): number => (block.ref as unknown as { id: number }).id;

interface FakeOptions {
  readonly blocks: Blocks;
  readonly first: number;
  readonly count: number;
  readonly events: OperatorEvents;
  readonly random: () => number;
  readonly failsAt: number | undefined;
}

/** Gives `count` blocks, each after a random number of turns. */
class FakeSource implements Operator {
  readonly name = "source";
  readonly statistics = new OperatorStatistics();
  readonly load = { queuedBlocks: 0, workers: 0 };
  readonly isSatisfied = false;
  readonly #outputs: BlockRef[] = [];
  #next = 0;
  #isUnderWay = false;
  #isStopped = false;

  readonly #options: FakeOptions;

  constructor(options: FakeOptions) {
    this.#options = options;
  }

  get runningCount(): number {
    return this.#isUnderWay ? 1 : 0;
  }
  get heldBytes(): number {
    return 10 * this.#outputs.length;
  }
  get isDone(): boolean {
    return this.#isStopped || (this.#next === this.#options.count && !this.#isUnderWay && this.#outputs.length === 0);
  }

  add(): void {}
  endInput(): void {}
  needs(): boolean {
    return true;
  }
  pull(): boolean {
    return false;
  }
  canStart(): boolean {
    return !this.#isStopped && !this.#isUnderWay && this.#next < this.#options.count;
  }

  start(): void {
    const { blocks, first, failsAt, events, random } = this.#options;
    const id = first + this.#next++;
    this.#isUnderWay = true;
    const finish = (): void => {
      this.#isUnderWay = false;
      if (this.#isStopped) return;
      if (failsAt === id) events.onFailure(new Error(`block ${id}`));
      else this.#outputs.push(blocks.make(id));
      events.onChange();
    };
    if (random() < 0.5) queueMicrotask(finish);
    else setImmediate(finish);
  }

  take(): BlockRef | undefined {
    return this.#outputs.shift();
  }

  stop(): void {
    this.#isStopped = true;
    for (const block of this.#outputs.splice(0)) block.release();
  }
}

/** Numbers from 0 to before 1, the same for a seed. */
function randomOf(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

interface Case {
  readonly seed: number;
  readonly counts: readonly number[];
  readonly budgetBytes: number;
  readonly failsAt?: number;
  /** Default: a separate budget. */
  readonly budget?: MemoryBudget;
}

function unionOf({ seed, counts, budgetBytes, failsAt, budget = new MemoryBudget() }: Case): {
  executor: StreamingExecutor;
  blocks: Blocks;
  budget: MemoryBudget;
} {
  const blocks = new Blocks();
  const random = randomOf(seed);
  const executor = new StreamingExecutor({ budget, limitBytes: budgetBytes }, (events) => {
    const stages: Stage[] = counts.map((count, i) => ({
      operator: new FakeSource({ blocks, first: i * 1000, count, events, random, failsAt }),
      inputs: [],
    }));
    return [...stages, { operator: new UnionOperator("union", counts.length), inputs: counts.map((_, i) => i) }];
  });
  return { executor, blocks, budget };
}

const heldBytes = (executor: StreamingExecutor): number => executor.stages.reduce((sum, { operator }) => sum + operator.heldBytes, 0);

test("a union gives every block once and in order with any budget, and holds no more than it", async () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const random = randomOf(seed);
    const counts = Array.from({ length: 1 + Math.floor(random() * 4) }, () => Math.floor(random() * 8));
    const budgetBytes = random() < 0.5 ? 1 : 35;
    const { executor, blocks, budget } = unionOf({ seed, counts, budgetBytes });
    const given: number[] = [];
    for (let block = await executor.next(); block !== undefined; block = await executor.next()) {
      // Each source may have one block under way when the budget ends.
      expect(heldBytes(executor)).toBeLessThanOrEqual(budgetBytes + 10 * (counts.length + 1));
      given.push(idOf(block));
      block.release();
    }
    expect(given).toEqual(counts.flatMap((count, i) => Array.from({ length: count }, (_, j) => i * 1000 + j)));
    expect([...blocks.released.values()].every((times) => times === 1)).toBe(true);
    expect(budget.hasRoom(1)).toBe(true);
  }
});

test("a budget that a later input of a union has used up does not stop the first one", async () => {
  const { executor, blocks } = unionOf({ seed: 1, counts: [50, Number.POSITIVE_INFINITY], budgetBytes: 1 });
  for (let i = 0; i < 50; i += 1) {
    const block = (await executor.next()) as BlockRef;
    expect(idOf(block)).toBe(i);
    block.release();
  }
  expect(blocks.made).toBeLessThan(60);
  executor.stop();
});

test("pipelines of one process keep their own limits beside each other, of what all hold together", async () => {
  const budget = new MemoryBudget();
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 100; i += 1) await new Promise(setImmediate);
  };
  const endless = { counts: [Number.POSITIVE_INFINITY], budget };
  const narrow = unionOf({ seed: 1, budgetBytes: 40, ...endless });
  (await narrow.executor.next())?.release();
  await settled();
  expect(heldBytes(narrow.executor)).toBe(40);
  const wide = unionOf({ seed: 2, budgetBytes: 200, ...endless });
  (await wide.executor.next())?.release();
  await settled();
  // The wide pipeline gets the rest of the 200 bytes, and the narrow one gets no room of its neighbour's.
  expect([heldBytes(narrow.executor), heldBytes(wide.executor)]).toEqual([40, 160]);
  const tiny = unionOf({ seed: 3, budgetBytes: 1, ...endless });
  (await tiny.executor.next())?.release();
  for (let i = 0; i < 10; i += 1) (await wide.executor.next())?.release();
  (await narrow.executor.next())?.release();
  await settled();
  expect([heldBytes(narrow.executor), heldBytes(wide.executor)]).toEqual([30, 170]);
  for (const { executor, blocks } of [narrow, wide, tiny]) {
    executor.stop();
    await settled();
    expect([...blocks.released.values()].every((times) => times === 1)).toBe(true);
  }
  expect(budget.hasRoom(1)).toBe(true);
});

test("stopped at any block, it has released every block that nobody took exactly once", async () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const { executor, blocks, budget } = unionOf({ seed, counts: [5, 5, 5], budgetBytes: 45 });
    const stopAt = seed % 15;
    for (let i = 0; i < stopAt; i += 1) (await executor.next())?.release();
    executor.stop();
    executor.stop();
    await new Promise(setImmediate);
    expect([...blocks.released.values()].every((times) => times === 1)).toBe(true);
    expect(budget.hasRoom(1)).toBe(true);
    expect(await executor.next()).toBeUndefined();
  }
});

test("a failure is thrown once, and ends all work though the consumer has paused", async () => {
  const { executor, blocks } = unionOf({ seed: 1, counts: [5, Number.POSITIVE_INFINITY], budgetBytes: 1000, failsAt: 3 });
  (await executor.next())?.release();
  for (let i = 0; i < 20; i += 1) await new Promise(setImmediate);
  expect(heldBytes(executor)).toBe(0);
  expect([...blocks.released.values()].every((times) => times === 1)).toBe(true);
  await expect(executor.next()).rejects.toThrow("block 3");
  expect(await executor.next()).toBeUndefined();
});
