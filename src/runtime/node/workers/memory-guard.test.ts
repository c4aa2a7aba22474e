/**
 * Whether the machine has memory for a process more than its pool.
 */
import { expect, test } from "vitest";
import type { MemoryProbe } from "../../os/machine/memory-usage.ts";
import { roomForProcesses } from "./memory-guard.ts";

const GIB = 1024 ** 3;

test("there is room for a process until the machine is nearly full, as it was at the last look", () => {
  let nowMs = 0;
  let usedBytes = GIB;
  const probe = { machine: () => ({ usedBytes, totalBytes: 10 * GIB, what: "the machine" }) } as unknown as MemoryProbe;
  const hasRoom = roomForProcesses({ probe, threshold: 0.9, pretendedBytes: undefined }, () => nowMs);
  expect(hasRoom()).toBe(true);
  usedBytes = 9 * GIB - 1;
  expect(hasRoom()).toBe(true);
  nowMs = 1000;
  expect(hasRoom()).toBe(false);
  usedBytes = GIB;
  nowMs = 2000;
  expect(hasRoom()).toBe(true);
});

test("there is room where the system does not tell", () => {
  const probe = { machine: () => undefined } as unknown as MemoryProbe;
  expect(roomForProcesses({ probe, threshold: 0.9, pretendedBytes: undefined }, () => 0)()).toBe(true);
});
