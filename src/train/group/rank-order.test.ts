/** The order of ranks. */
import { expect, test } from "vitest";
import { fitting } from "./placement.ts";
import { rankOrder } from "./rank-order.ts";
import type { RankFacts } from "../ranks/rank-protocol.ts";

function facts(nodeId: string, gpuIds: readonly number[] = []): RankFacts {
  return { pid: 1, hostname: nodeId, nodeId, ip: "127.0.0.1", gpuIds, port: 0 };
}

test("the ranks of a node are consecutive, and nodes come in the order of their first process", () => {
  const places = rankOrder([facts("b"), facts("a"), facts("b"), facts("a"), facts("b")]);
  expect(places.map(({ index, rank, localRank, localWorldSize, nodeRank }) => [index, rank, localRank, localWorldSize, nodeRank])).toEqual([
    [0, 0, 0, 3, 0],
    [2, 1, 1, 3, 0],
    [4, 2, 2, 3, 0],
    [1, 3, 0, 2, 1],
    [3, 4, 1, 2, 1],
  ]);
});

test("ranks of a node come in the order of their GPUs, and know which of the node's are their own", () => {
  const places = rankOrder([facts("a", [3]), facts("a", [1, 2]), facts("a", [0])]);
  expect(places.map(({ index, nodeGpuIds, deviceIndices }) => [index, nodeGpuIds.join(), deviceIndices])).toEqual([
    [2, "0,1,2,3", [0]],
    [1, "0,1,2,3", [1, 2]],
    [0, "0,1,2,3", [3]],
  ]);
});

test("devices are counted among the GPUs of the ranks, not among those of the machine", () => {
  const places = rankOrder([facts("a", [6]), facts("a", [4])]);
  expect(places.map(({ nodeGpuIds, deviceIndices }) => [nodeGpuIds.join(), deviceIndices])).toEqual([
    ["4,6", [0]],
    ["4,6", [1]],
  ]);
});

test("ranks that share a GPU see it once", () => {
  expect(rankOrder([facts("a", [0]), facts("a", [0])]).map(({ nodeGpuIds, deviceIndices }) => [nodeGpuIds, deviceIndices])).toEqual([
    [["0"], [0]],
    [["0"], [0]],
  ]);
});

test("as many ranks fit as the scarcest resource allows, also by fractions", () => {
  expect(fitting({ CPU: 1, GPU: 0.3 }, { CPU: 8, GPU: 0.9 })).toBe(3);
  expect(fitting({ CPU: 2, GPU: 1 }, { CPU: 8 })).toBe(0);
  expect(fitting({ CPU: 0 }, { CPU: 8 })).toBe(Number.POSITIVE_INFINITY);
});
