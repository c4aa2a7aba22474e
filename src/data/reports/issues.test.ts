/** Warnings of runs: which tasks hang, which use much memory, and that each is told once. */
import { expect, test } from "vitest";
import { IssueDetector, type WatchedOperator } from "./issues.ts";
import { Measured } from "./measured.ts";

const GIB = 2 ** 30;
const MACHINE = { cpus: 4, memoryBytes: 16 * GIB };

function measured(...values: readonly number[]): Measured {
  const made = new Measured();
  for (const value of values) made.add(value);
  return made;
}

interface Given {
  readonly pulls?: readonly number[];
  readonly since?: readonly number[];
  readonly memory?: readonly number[];
  readonly requestedBytes?: number | undefined;
  readonly numCpus?: number;
}

function watched({ pulls = [], since = [], memory = [], numCpus = 1, ...given }: Given): WatchedOperator {
  const statistics = { pullMs: measured(...pulls), memoryBytes: measured(...memory) };
  const requestedBytes = "requestedBytes" in given ? given.requestedBytes : 0;
  return { operator: { name: "map(parse)", statistics, pulledSinceMs: since }, requestedBytes, numCpus };
}

const look = (given: Given, nowMs = 0, machine: ConstructorParameters<typeof IssueDetector>[0] = MACHINE): string[] =>
  new IssueDetector(machine).look([watched(given)], nowMs);

test("a measurement has the mean, the deviation and the largest", () => {
  const { mean, deviation, max, count } = measured(2, 4, 4, 4, 5, 5, 7, 9);
  expect([mean, max, count]).toEqual([5, 9, 8]);
  expect(deviation).toBeCloseTo(Math.sqrt(32 / 7), 12);
  expect(measured(3).deviation).toBe(0);
});

test("a task hangs that is waited for much longer than the others were", () => {
  const pulls = Array.from({ length: 10 }, (_, i) => 1000 + 100 * i);
  const [warning, ...others] = look({ pulls, since: [90_000, 5000] }, 100_000);
  expect(others).toEqual([]);
  expect(warning).toBe(
    "a task of map(parse) has given nothing for 95.00 s, where blocks took 1.45 s on average: see what its function waits for, such as a request without a time limit, " +
      "and whether a worker of the cluster is free for it; data.configure({ detectIssues: false }) ends these warnings",
  );
  expect(look({ pulls, since: [75_000] }, 100_000)).toEqual([]);
  expect(look({ pulls, since: [] }, 100_000)).toEqual([]);
  expect(look({ pulls: pulls.slice(1), since: [5000] }, 100_000)).toEqual([]);
  // Where blocks take long, or differ much, more is waited.
  expect(look({ pulls: pulls.map((ms) => 60 * ms), since: [0] }, 100_000)).toEqual([]);
  expect(look({ pulls: pulls.map((ms) => 60 * ms), since: [0] }, 400_000)).toHaveLength(1);
});

test("tasks use much memory that use more than they ask for, and than their part of the machine", () => {
  const [warning] = look({ memory: [5 * GIB, 6 * GIB] });
  expect(warning).toBe(
    "tasks of map(parse) use 5.50 GiB of memory on average and up to 6.00 GiB, and ask for 0.0 MiB: give the step memoryBytes: 8053063680 (7.50 GiB), so that fewer run at a time; " +
      "data.configure({ detectIssues: false }) ends these warnings",
  );
  expect(look({ memory: [3 * GIB] })).toEqual([]);
  expect(look({ memory: [6 * GIB], requestedBytes: 7 * GIB })).toEqual([]);
  expect(look({ memory: [6 * GIB], numCpus: 2 })).toEqual([]);
  // As in Ray, a task without CPUs counts as a task with one CPU.
  expect(look({ memory: [3 * GIB], numCpus: 0 })).toEqual([]);
  expect(look({ memory: [6 * GIB], requestedBytes: undefined })).toEqual([]);
  expect(look({ memory: [6 * GIB] }, 0, { cpus: 4, memoryBytes: undefined })).toEqual([]);
  expect(look({})).toEqual([]);
});

test("each is told once for each operator", () => {
  const detector = new IssueDetector(MACHINE);
  const operators = [watched({ memory: [5 * GIB] }), watched({ memory: [5 * GIB] })];
  expect(detector.look(operators, 0)).toHaveLength(2);
  expect(detector.look(operators, 60_000)).toEqual([]);
});
