import { expect, test } from "vitest";
import { torchrunPlace } from "./torchrun.ts";

const ENV = { RANK: "3", LOCAL_RANK: "1", WORLD_SIZE: "4", LOCAL_WORLD_SIZE: "2", MASTER_ADDR: "host", MASTER_PORT: "29500" };

test("a program that torchrun started knows its place, and what torch reads", () => {
  const more = { TORCHELASTIC_RUN_ID: "none", ROLE_RANK: "3", OMP_NUM_THREADS: "1" };
  expect(torchrunPlace({ ...ENV, ...more, HOME: "/root", RANKED: "no" })).toEqual({
    worldSize: 4,
    worldRank: 3,
    localRank: 1,
    localWorldSize: 2,
    nodeRank: 1,
    env: { ...ENV, ...more },
  });
  expect(torchrunPlace({ ...ENV, GROUP_RANK: "0" })?.nodeRank).toBe(0);
});

test("any other program has none", () => {
  expect(torchrunPlace({})).toBeUndefined();
  const { MASTER_PORT: _, ...others } = ENV;
  expect(torchrunPlace(others)).toBeUndefined();
});

test("numbers that are none are named", () => {
  expect(() => torchrunPlace({ ...ENV, LOCAL_RANK: "one" })).toThrow(
    'Cannot train under torchrun: LOCAL_RANK of the environment is no whole number: received "one"',
  );
});
