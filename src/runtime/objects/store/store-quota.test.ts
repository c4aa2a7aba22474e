/**
 * The default quota is a part of the machine's memory, and leaves half of the shared memory to others.
 */
import { totalmem } from "node:os";
import { expect, test } from "vitest";
import { memoryRoot } from "../../os/files/sessions/session-sweep.ts";
import { freeBytesOf } from "../../os/files/store/store-file.ts";
import { defaultStoreBytes } from "./store-quota.ts";

test("the default is at most 30 % of memory and about half of what is free in shared memory", () => {
  const quotaBytes = defaultStoreBytes();
  expect(Number.isSafeInteger(quotaBytes)).toBe(true);
  expect(quotaBytes).toBeGreaterThan(0);
  expect(quotaBytes).toBeLessThanOrEqual(totalmem() * 0.3);
  // Other processes use the memory at the same time.
  expect(quotaBytes).toBeLessThanOrEqual(freeBytesOf(memoryRoot()) * 0.75);
});
