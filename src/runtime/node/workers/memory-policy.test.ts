/** The choice of workers to end for their memory. */
import { describe, expect, test } from "vitest";
import type { ProcessId } from "../../base/ids.ts";
import { VICTIM_MIN_BYTES } from "./limits.ts";
import { chooseVictims, listProcesses, type MemoryState, victimReason, type WorkerMemory } from "./memory-policy.ts";

const MEGABYTE = 1_000_000;
let workers = 0;

function worker(part: Partial<WorkerMemory>): WorkerMemory {
  workers += 1;
  const id = `worker ${workers}` as ProcessId;
  return {
    id,
    pid: workers,
    name: "worker",
    kind: "task",
    owner: "driver" as ProcessId,
    order: workers,
    usedBytes: 100 * MEGABYTE,
    isRetriable: true,
    limitBytes: undefined,
    ...part,
  };
}

function state(usedMegabytes: number, ...list: WorkerMemory[]): MemoryState {
  const machine = { usedBytes: usedMegabytes * MEGABYTE, totalBytes: 1000 * MEGABYTE, what: "the machine" };
  return { machine, threshold: 0.95, workers: list };
}

function chosen(of: MemoryState, endsForMachine = true): ProcessId[] {
  return chooseVictims(of, endsForMachine).map((victim) => victim.worker.id);
}

describe("a full machine", () => {
  test("is full above its threshold only", () => {
    expect(chosen(state(950, worker({})))).toEqual([]);
    expect(chosen(state(951, worker({})))).toHaveLength(1);
  });

  test("ends the largest idle worker before any task", () => {
    const idle = { kind: "idle", owner: undefined } as const;
    const [small, large] = [worker({ ...idle, usedBytes: 70 * MEGABYTE }), worker({ ...idle, usedBytes: 90 * MEGABYTE })];
    expect(chosen(state(990, worker({}), small, large, worker({})))).toEqual([large.id]);
  });

  test("ends the newest task of the owner with the most, and a task before an actor", () => {
    const other = "other" as ProcessId;
    const [first, second, third, actor] = [worker({}), worker({}), worker({ owner: other }), worker({ kind: "actor", owner: undefined })];
    expect(chosen(state(990, first, second, third, actor))).toEqual([second.id]);
    expect(chosen(state(990, first, third, actor))).toEqual([third.id]);
  });

  test("ends a task that may run again before one that may not, and that before an actor", () => {
    const once = { isRetriable: false } as const;
    const [first, second, third, actor] = [worker({}), worker(once), worker(once), worker({ kind: "actor", ...once })];
    expect(chosen(state(990, first, second, third, actor))).toEqual([first.id]);
    expect(chosen(state(990, second, third, actor))).toEqual([third.id]);
  });

  test("ends an actor when there is nothing else, the newest", () => {
    const actors = [worker({ kind: "actor" }), worker({ kind: "actor" })];
    expect(chosen(state(990, ...actors))).toEqual([actors[1]?.id]);
  });

  test("ends nobody whose end would not help, and nobody while the last one is going", () => {
    expect(chosen(state(990, worker({ usedBytes: VICTIM_MIN_BYTES - 1 })))).toEqual([]);
    expect(chosen(state(990, worker({})), false)).toEqual([]);
  });

  test("is not known everywhere", () => {
    expect(chosen({ machine: undefined, threshold: 0.95, workers: [worker({})] })).toEqual([]);
  });
});

describe("a limit of its own", () => {
  test("ends whoever is above it, all at once, also on an empty machine", () => {
    const [a, b, c] = [99, 100, 101].map((megabytes) => worker({ usedBytes: megabytes * MEGABYTE, limitBytes: 99.5 * MEGABYTE }));
    expect(chosen(state(100, a as WorkerMemory, b as WorkerMemory, c as WorkerMemory), false)).toEqual([b?.id, c?.id]);
  });

  test("comes before the machine's: it may be enough", () => {
    const over = worker({ limitBytes: MEGABYTE });
    expect(chosen(state(990, over, worker({})))).toEqual([over.id]);
  });
});

test("the reasons name the numbers", () => {
  const full = state(960, worker({ usedBytes: 300 * MEGABYTE }));
  expect(chooseVictims(full, true).map((victim) => victimReason(victim, full))).toEqual([
    "the machine used 96 % of its memory (960 MB of 1000 MB; the limit is 95 %), of which it had 300 MB",
  ]);
  const over = state(10, worker({ usedBytes: 300 * MEGABYTE, limitBytes: 200 * MEGABYTE }));
  expect(chooseVictims(over, true).map((victim) => victimReason(victim, over))).toEqual([
    "it used 300 MB of memory, and may use 200 MB by its memoryBytes",
  ]);
  expect(listProcesses([{ pid: 7, name: "node", usedBytes: 12 * MEGABYTE }])).toBe("         12 MB  pid 7  node");
});
