/** The exchange of a join with a small side: the begin of its tasks, their arguments, and the released blocks. */
import { expect, test } from "vitest";
import type { ObjectRef } from "../../../core/index.ts";
import { ExchangeOperator } from "./exchange-operator.ts";
import type { BlockRef } from "./operator.ts";
import { SmallSide } from "../tables/small-side.ts";
import type { TaskStart } from "../tasks/task.ts";

const MIB = 1024 * 1024;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function refTo(value: unknown): ObjectRef<never> {
  return Object.assign(Promise.resolve(value), { [Symbol.dispose]: () => {} }) as unknown as ObjectRef<never>;
}

/** An inner join, and the names of the blocks that its tasks get, and of those that are released. */
function makeJoin(smallSide?: SmallSide) {
  const begun: unknown[] = [];
  const released: string[] = [];
  async function* items(rowCount: number) {
    yield { ref: refTo({}) };
    yield { ref: refTo({ rowCount, sizeBytes: 1, schema: [] }) };
  }
  const startTask = ((args: readonly unknown[], inputs: readonly BlockRef[]) => {
    begun.push(args);
    return { refs: () => items(inputs.reduce((sum, { rowCount }) => sum + rowCount, 0)) };
  }) as unknown as TaskStart;
  const operator = new ExchangeOperator({
    name: "join",
    partitionings: ["left", "right"].map((key) => ({ kind: "hash", keys: [key], use: "join on" })),
    partitions: undefined,
    takesBins: true,
    combines: "join",
    wholeInputs: [1, 0],
    smallSide,
    startTask,
    cpus: 2,
    concurrencyMax: 4,
    preserveOrder: true,
    events: { onChange: () => {}, onFailure: expect.unreachable },
  });
  const block = (name: string, sizeBytes: number): BlockRef => ({
    ref: name as unknown as BlockRef["ref"],
    rowCount: 10,
    sizeBytes,
    schema: [],
    release: () => released.push(name),
  });
  const work = async (): Promise<number> => {
    while (operator.canStart()) operator.start();
    let rows = 0;
    for (let turn = 0; turn < 4; turn += 1) {
      await settled();
      operator.pull("all");
      for (let taken = operator.take(); taken !== undefined; taken = operator.take()) rows += taken.rowCount;
    }
    return rows;
  };
  return { operator, begun, released, block, work };
}

test("blocks of the large side go to tasks as they come, with all of the small side", async () => {
  const { operator, begun, released, block, work } = makeJoin();
  operator.add(block("small", 1024), 1);
  operator.add(block("a", 3 * MIB), 0);
  operator.endInput(1);
  expect(operator.canStart()).toBe(false);
  operator.add(block("b", 3 * MIB), 0);
  operator.add(block("c", 3 * MIB), 0);
  expect(await work()).toBe(30);
  expect(begun).toEqual([[[3, 1], "a", "b", "c", "small"]]);
  operator.add(block("d", 1), 0);
  expect(await work()).toBe(0);
  expect(released).toEqual(["a", "b", "c"]);
  operator.endInput(0);
  expect(await work()).toBe(10);
  expect(begun.slice(1)).toEqual([[[1, 1], "d", "small"]]);
  expect(operator.isDone).toBe(true);
  expect(released).toEqual(["a", "b", "c", "d", "small"]);
  operator.stop();
  expect(released.length).toBe(5);
});

test("which side is small is known when it has ended, whichever ends first, and all is released when nobody wants the rest", async () => {
  const { operator, begun, released, block, work } = makeJoin();
  operator.add(block("a", 9 * MIB), 1);
  operator.endInput(1);
  operator.add(block("small", 1024), 0);
  expect(operator.canStart()).toBe(false);
  operator.endInput(0);
  expect(await work()).toBe(10);
  expect(begun).toEqual([[[1, 1], "small", "a"]]);
  const other = makeJoin();
  other.operator.add(other.block("small", 1024), 0);
  other.operator.endInput(0);
  for (const name of ["a", "b"]) other.operator.add(other.block(name, 5 * MIB), 1);
  other.operator.stop();
  expect(other.released.toSorted()).toEqual(["a", "b", "small"]);
  expect(released.toSorted()).toEqual(["a", "small"]);
});

const JOIN = {
  kind: "join",
  name: "join",
  type: "inner",
  leftKeys: ["left"],
  rightKeys: ["right"],
  leftSuffix: "",
  rightSuffix: "",
} as const;

test("blocks that the other side's tasks have joined with the small side are handed on, and that is released behind the last", async () => {
  const side = new SmallSide(JOIN, []);
  const { operator, begun, released, block, work } = makeJoin(side);
  operator.add(block("small", 1024), 1);
  expect(side.isSettled).toBe(false);
  operator.endInput(1);
  expect(side.isSettled).toBe(true);
  expect(side.blocks?.map(({ ref }) => ref)).toEqual(["small"]);
  const [first, second] = [block("a", 5 * MIB), block("b", 9 * MIB)];
  operator.add({ ...first, rowCount: 0 }, 0);
  operator.add(second, 0);
  operator.add({ ...block("c", 0), rowCount: 0 }, 0);
  expect(operator.heldBytes).toBe(14 * MIB);
  expect(await work()).toBe(10);
  expect([begun.length, operator.statistics.rows, operator.isDone]).toEqual([0, 10, false]);
  expect(released).toEqual(["c"]);
  operator.endInput(0);
  expect(await work()).toBe(0);
  expect(operator.isDone).toBe(true);
  expect(released).toEqual(["c", "small"]);
});

test("the other side's tasks read alone where a side is not small after all", async () => {
  const side = new SmallSide(JOIN, []);
  const { operator, begun, block, work } = makeJoin(side);
  operator.add(block("large", 64 * MIB), 1);
  operator.endInput(1);
  expect([side.isSettled, side.blocks]).toEqual([true, undefined]);
  operator.add(block("a", 1024), 0);
  operator.endInput(0);
  expect(await work()).toBe(10);
  expect(begun).toEqual([[[1, 1], "a", "large"]]);
});

/** A sort of two blocks with a task each, and how its tasks end: the first one as it would, the second one when its signal aborts. */
function makeSort(phase: "sample" | "partition") {
  const released: string[] = [];
  const named = (name: string): never =>
    Object.assign(Promise.resolve(), { [Symbol.dispose]: () => void released.push(name) }) as unknown as never;
  const signals: AbortSignal[] = [];
  const cancelled = (signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("cancelled")), { once: true }));
  const hanging = (signal: AbortSignal): ObjectRef<never> => Object.assign(cancelled(signal), { [Symbol.dispose]: () => {} }) as never;
  async function* parts(name: string, isHanging: boolean, signal: AbortSignal) {
    for (const part of ["0", "1"]) yield { ref: named(`${name}${part}`) };
    const facts = { rowCount: 1, sizeBytes: 1, schema: [] };
    yield { ref: isHanging ? hanging(signal) : refTo({ parts: [facts, facts], wallMs: 0, cpuMs: 0 }) };
  }
  const isHanging = (name: unknown): boolean => name === "b";
  const operator = new ExchangeOperator({
    name: "sort",
    partitionings: [phase === "sample" ? { kind: "range", keys: [{ column: "id", descending: false }] } : { kind: "even" }],
    partitions: 2,
    takesBins: false,
    combines: undefined,
    wholeInputs: [],
    startTask: expect.unreachable as never,
    cutting: {
      partitionTasks: (_partitioning, _name, options) => (_request, blocks) => {
        const signal = options?.signal as AbortSignal;
        signals.push(signal);
        const [name] = blocks as unknown as readonly [string];
        return { refs: () => parts(name, isHanging(name), signal) } as never;
      },
      sampleTasks: (_keys, _name, options) => (_rows, blocks) => {
        const signal = options?.signal as AbortSignal;
        signals.push(signal);
        return isHanging(blocks[0]) ? hanging(signal) : refTo({ rows: undefined, wallMs: 0, cpuMs: 0 });
      },
    },
    cpus: 2,
    concurrencyMax: 2,
    preserveOrder: true,
    events: { onChange: () => {}, onFailure: expect.unreachable },
  });
  for (const name of ["a", "b", "c"]) {
    const ref = name as unknown as BlockRef["ref"];
    operator.add({ ref, rowCount: 10, sizeBytes: 64 * MIB, schema: [], release: () => void released.push(name) }, 0);
  }
  operator.endInput(0);
  return { operator, signals, released };
}

test.each(["sample", "partition"] as const)(
  "a consumer that leaves cancels each %s under way, and all blocks are released",
  async (phase) => {
    const { operator, signals, released } = makeSort(phase);
    while (operator.canStart()) operator.start();
    await settled();
    expect([signals.map(({ aborted }) => aborted), operator.runningCount]).toEqual([[false, false], 1]);
    operator.stop();
    await operator.ended();
    expect([signals.map(({ aborted }) => aborted), operator.runningCount]).toEqual([[true, true], 0]);
    const parts = phase === "sample" ? [] : ["a0", "a1", "b0", "b1"];
    expect(released.toSorted()).toEqual(["a", ...parts.slice(0, 2), "b", ...parts.slice(2), "c"]);
  },
);
