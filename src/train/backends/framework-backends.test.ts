import { expect, test } from "vitest";
import type { BackendGroup } from "./backend.ts";
import { torchBackend } from "./framework-backends.ts";

function groupOn(...gpus: readonly [nodeId: string, ids: readonly string[]][]): BackendGroup & { calls: unknown[] } {
  const calls: unknown[] = [];
  return {
    calls,
    ranks: gpus.map(([nodeId, gpuIds], rank) => ({
      pid: 1,
      hostname: "host",
      nodeId,
      ip: "10.0.0.1",
      gpuIds,
      port: 1,
      rank,
      localRank: 0,
      localWorldSize: 1,
      nodeRank: 0,
    })),
    setEnvironment: () => {},
    execute: () => Promise.resolve([]),
    setUp: (framework, options) => {
      calls.push([framework, options["backend"]]);
      return Promise.resolve([]);
    },
  };
}

test("ranks that share a GPU need another backend than nccl, and the error says which", async () => {
  const shared = groupOn(["a", ["0"]], ["b", ["0"]], ["a", ["1"]], ["a", ["0"]]);
  const start = torchBackend({ timeoutMs: 1000 }, true, false).onTrainingStart?.(shared);
  await expect(start).rejects.toThrow(/ranks 0 and 3 share GPU 0, .* torchConfig: \{ backend: "gloo" \}/);
  expect(shared.calls).toEqual([]);
  for (const backend of ["gloo", "nccl"] as const) await torchBackend({ timeoutMs: 1000, backend }, true, false).onTrainingStart?.(shared);
  expect(shared.calls).toEqual([
    ["torch", "gloo"],
    ["torch", "nccl"],
  ]);
});

test("ranks with GPUs of their own begin without a word", async () => {
  const apart = groupOn(["a", ["0"]], ["b", ["0"]], ["a", ["1"]]);
  await torchBackend({ timeoutMs: 1000 }, true, false).onTrainingStart?.(apart);
  expect(apart.calls).toEqual([["torch", null]]);
});
