/** How pools part the CPUs that the tasks beside them leave. */
import { describe, expect, test } from "vitest";
import { fitPools, PoolCpus } from "./pool-cpus.ts";

describe("fitPools", () => {
  test("pools that fit keep what they ask for", () => {
    const pools = [
      { min: 1, max: 4, numCpus: 1 },
      { min: 1, max: 2, numCpus: 0.5 },
    ];
    expect(fitPools(pools, 2)).toEqual(pools);
  });

  test("pools that do not fit hold less, each by the same part, and do not grow", () => {
    const pools = [
      { min: 2, max: 4, numCpus: 1 },
      { min: 1, max: 1, numCpus: 2 },
      { min: 1, max: 3, numCpus: 0 },
    ];
    expect(fitPools(pools, 1)).toEqual([
      { min: 2, max: 2, numCpus: 0.25 },
      { min: 1, max: 1, numCpus: 0.5 },
      { min: 1, max: 3, numCpus: 0 },
    ]);
  });

  test("without room actors hold nothing", () => {
    expect(fitPools([{ min: 3, max: 3, numCpus: 1 }], 0)).toEqual([{ min: 3, max: 3, numCpus: 0 }]);
  });
});

test("what one pipeline's pools hold is not there for another's", () => {
  const cpus = new PoolCpus();
  const first = cpus.account(4, 1);
  first.take(2);
  expect(cpus.account(4, 1).room).toBe(1);
  expect(first.hasRoom(1)).toBe(true);
  expect(first.hasRoom(2)).toBe(false);
  first.fit(2);
  expect([first.held, first.room, first.hasRoom(0)]).toEqual([2, 1, false]);
  first.give(2);
  expect([first.hasRoom(1), cpus.account(4, 1).room, cpus.account(1, 1).room]).toEqual([true, 3, 0]);
});
