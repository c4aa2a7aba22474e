/** The operator of tasks with scripted streams: the number of begun tasks and the order of the output. */
import { expect, test } from "vitest";
import type { ObjectRef } from "../../../core/index.ts";
import { TASKS_ENDED_AHEAD_MAX } from "../../limits.ts";
import { ownedBlock } from "./operator.ts";
import type { TaskStart } from "../tasks/task.ts";
import { TaskOperator } from "./task-operator.ts";

/** Lets all promises that can go on do so. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const refTo = (value: unknown): ObjectRef<never> =>
  Object.assign(Promise.resolve(value), { [Symbol.dispose]: () => {} }) as unknown as ObjectRef<never>;

/** Reads that give one block each, of as many rows as their number says, when they are let go. */
function makeReads(count: number) {
  const gates = Array.from({ length: count }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  async function* items(read: number) {
    await gates[read]?.promise;
    yield { ref: refTo({ rowCount: read }) };
    yield { ref: refTo({ rowCount: read, sizeBytes: 1, schema: [] }) };
  }
  const startTask = (([read]: readonly number[]) => {
    begun.push(read as number);
    return { refs: () => items(read as number) };
  }) as unknown as TaskStart;
  const operator = new TaskOperator({
    name: "read",
    startTask,
    reads: Array.from({ length: count }, (_, read) => [read]),
    rowsPerTaskMin: 0,
    concurrencyMax: 2,
    preserveOrder: true,
    events: { onChange: () => {}, onFailure: expect.unreachable },
  });
  const fill = (): void => {
    while (operator.canStart()) operator.start();
  };
  /** Lets a read give its block and end. */
  const end = async (read: number): Promise<void> => {
    gates[read]?.resolve();
    for (let turn = 0; turn < 3; turn += 1) {
      await settled();
      operator.pull("all");
    }
    await settled();
  };
  const taken = (): number[] => {
    const rows: number[] = [];
    for (let block = operator.take(); block !== undefined; block = operator.take()) rows.push(block.rowCount);
    return rows;
  };
  return { operator, begun, fill, end, taken };
}

test("a slow task does not keep those behind it from beginning, and all come in their order", async () => {
  const { operator, begun, fill, end, taken } = makeReads(4);
  fill();
  expect(begun).toEqual([0, 1]);
  await end(1);
  fill();
  expect(begun).toEqual([0, 1, 2]);
  expect(operator.load.workers).toBe(2);
  await end(2);
  expect(taken()).toEqual([]);
  await end(0);
  expect(taken()).toEqual([0, 1, 2]);
  fill();
  await end(3);
  expect(taken()).toEqual([3]);
  expect(operator.isDone).toBe(true);
});

test("tasks that have ended are so many at most", async () => {
  const { begun, fill, end } = makeReads(100);
  fill();
  for (let read = 1; read < 100; read += 1) {
    await end(read);
    fill();
  }
  expect(begun.length).toBe(2 * TASKS_ENDED_AHEAD_MAX);
});

test("a task is waited for from its pull to its block, and not while nobody asks for the next one", async () => {
  const { operator, fill, end } = makeReads(2);
  const before = performance.now();
  fill();
  expect(operator.pulledSinceMs).toHaveLength(2);
  for (const since of operator.pulledSinceMs) expect(since).toBeGreaterThanOrEqual(before);
  await end(0);
  expect(operator.pulledSinceMs).toHaveLength(1);
  // The task was waited for twice: for its block and for its end.
  expect(operator.statistics.pullMs.count).toBe(2);
  operator.stop();
  expect(operator.pulledSinceMs).toEqual([]);
});

test("small blocks go to one task together, unless they are to stay apart or it needs more rows or bytes", () => {
  const taken = (options: { keepsBlocksApart?: boolean; rowsPerTaskMin?: number; bytesPerTaskMin?: number }): number[] => {
    const counts: number[] = [];
    const startTask = ((_args: unknown, inputs: readonly unknown[]) => {
      counts.push(inputs.length);
      return { refs: async function* () {} };
    }) as unknown as TaskStart;
    const events = { onChange: () => {}, onFailure: expect.unreachable };
    const operator = new TaskOperator({
      name: "write",
      startTask,
      rowsPerTaskMin: 0,
      concurrencyMax: 1,
      preserveOrder: true,
      events,
      ...options,
    });
    for (let block = 0; block < 20; block += 1) operator.add(ownedBlock(refTo(block), { rowCount: 5, sizeBytes: 10, schema: [] }));
    operator.endInput();
    for (let left = 20; left > 0; left -= counts.at(-1) as number) operator.start();
    return counts;
  };
  expect(taken({})[0]).toBeGreaterThan(1);
  expect(taken({ keepsBlocksApart: true })).toEqual(Array.from({ length: 20 }, () => 1));
  expect(taken({ keepsBlocksApart: true, rowsPerTaskMin: 50 })).toEqual([10, 10]);
  expect(taken({ keepsBlocksApart: true, bytesPerTaskMin: 75 })).toEqual([8, 8, 4]);
  expect(taken({ keepsBlocksApart: true, rowsPerTaskMin: 50, bytesPerTaskMin: 75 })).toEqual([10, 10]);
});

test("the share of reads that have ended is known", async () => {
  const { operator, fill, end } = makeReads(4);
  fill();
  expect(operator.share).toBe(0);
  await end(0);
  expect(operator.share).toBe(0.25);
  fill();
  await end(1);
  await end(2);
  fill();
  await end(3);
  expect(operator.share).toBe(1);
});
