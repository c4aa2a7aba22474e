/** Two readers of one part of a split: the later one takes the place of the other, which gets an error. */
import { expect, test } from "vitest";
import { EMPTY_BLOCK } from "../../blocks/block.ts";
import { resolveSettings } from "../../options/settings.ts";
import { SplitCoordinator } from "./split-coordinator.ts";

const coordinatorOf = (splits: number): SplitCoordinator =>
  new SplitCoordinator({
    plan: { kind: "input", name: "rows", blocks: [EMPTY_BLOCK] },
    settings: resolveSettings({}),
    name: undefined,
    splits,
    equal: false,
    requireRows: false,
    localityHints: undefined,
    timeoutMs: 60_000,
  });

test("a reader whose part another one has begun is told so, and does not end as if it had all rows", async () => {
  const coordinator = coordinatorOf(1);
  const [first, second] = [await coordinator.begin(0), await coordinator.begin(0)];
  expect([first, second]).toEqual([1, 2]);
  await expect(coordinator.next(0, first)).rejects.toMatchObject({
    name: "DataError",
    message: "Cannot read split 0 of streamingSplit to its end: another reader has begun the split meanwhile",
  });
});

test("a reader that has left its epoch is in nobody's way", async () => {
  const coordinator = coordinatorOf(2);
  expect(await Promise.all([coordinator.begin(0), coordinator.begin(1)])).toEqual([1, 1]);
  coordinator.leave(0, 1);
  const next = coordinator.begin(0);
  expect(await coordinator.next(0, 1)).toBeUndefined();
  await coordinator.begin(1);
  expect(await next).toBe(2);
  await expect(coordinator.next(1, 1)).rejects.toThrow("Cannot read split 1 of streamingSplit");
});
