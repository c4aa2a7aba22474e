/** Python workers on another node than their driver: reached over the network, with arguments and results in either node's store. */
import { type ActorHandle, get, init, put, python, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";

interface Counter {
  add(by?: number): number;
}

interface Sum {
  add(by: number): number;
  length(data: Uint8Array): number;
}

/** Lives in TypeScript, wherever its resources are. */
class Adder {
  #sum = 0;
  add(by: number): number {
    return (this.#sum += by);
  }
  length(data: Uint8Array): number {
    return data.length;
  }
}

const SUBMITS = new URL("python/submits.py", import.meta.url);
const THINGS = new URL("python/things.py", import.meta.url);

describe.skipIf(WITHOUT_PYTHON !== undefined).each([{ tls: false }, { tls: true }])(
  `Python on another node, tls: $tls${unless(WITHOUT_PYTHON)}`,
  ({ tls }) => {
    let cluster: TestCluster;
    let second: TestNode;
    const there = { resources: { special: 0.1 } };
    const echo = python.task<(...values: unknown[]) => unknown>(THINGS, "echo", there);

    beforeAll(async () => {
      cluster = await TestCluster.start({ head: { numCpus: 1, resources: { near: 1 } }, ...(tls ? { tls } : {}) });
      second = await cluster.addNode({ numCpus: 2, resources: { special: 1 } });
      await init({ address: cluster.address });
    });
    afterAll(async () => {
      await shutdown();
      await cluster.shutdown();
    });

    test("tasks run there", async () => {
      expect(await echo.remote({ a: [1, 2] })).toEqual({ a: [1, 2] });
      const double = python.task<(x: number) => number>(THINGS, "double", there);
      expect(await get(Array.from({ length: 50 }, (_, index) => double.remote(index)))).toEqual(
        Array.from({ length: 50 }, (_, index) => index * 2),
      );
      expect(second.pid).toBeGreaterThan(0);
    });

    test("large arguments and results cross", async () => {
      const big = new Float64Array(200_000).fill(0.5);
      expect(await python.task<(values: Float64Array) => number>(THINGS, "total", there).remote(put(big))).toBe(100_000);
      expect(await echo.remote(big)).toEqual(big);
      const text = "x".repeat(3_000_000);
      expect(await echo.remote(text)).toBe(text);
    });

    test("Python calls actors of other nodes, from the head's node and from there, with large arguments", async () => {
      const use = python.task<(actor: ActorHandle<Sum>, size: number) => unknown>(SUBMITS, "uses_actor");
      using remoteOne = remote(Adder, there).remote();
      using nearOne = remote(Adder, { resources: { near: 0.1 } }).remote();
      expect(await use.options({ resources: { near: 0.1 } }).remote(remoteOne, 300_000)).toEqual([1, 3, 300_000]);
      expect(await use.options(there).remote(nearOne, 300_000)).toEqual([1, 3, 300_000]);
    });

    test("Python submits tasks and creates actors there, and reads what they make", async () => {
      const spread = python.task<(size: number) => unknown>(SUBMITS, "uses_other_node", { resources: { near: 0.1 } });
      expect(await spread.remote(200_000)).toEqual([[200_000], 200_000, 8, [0, 1, 2]]);
    });

    test("functions of TypeScript are called from there, and instances of classes come from there and go back", async () => {
      const FUNCTIONS = new URL("python/functions.py", import.meta.url);
      const KEPT = new URL("python/kept.py", import.meta.url);
      const factor = 3;
      const triple = remote((value: number) => value * factor);
      const call = python.task<(f: object, value: number) => number>(FUNCTIONS, "call");
      expect(await call.options(there).remote(triple, 5)).toBe(15);
      expect(await call.options({ resources: { near: 0.1 } }).remote(triple.options(there), 6)).toBe(18);
      const give = python.task<(kind: string) => object>(KEPT, "give");
      const same = python.task<(kind: string, value: object) => string[]>(KEPT, "same");
      for (const kind of ["objects", "classes", "exact"]) {
        const made = give.options(there).remote(kind);
        expect(await same.options({ resources: { near: 0.1 } }).remote(kind, made)).toEqual([]);
      }
    });

    test("actors live there", async () => {
      using counter = python.actor<Counter, [number]>(THINGS, "Counter", there).remote(1);
      expect(await counter.add.remote(2)).toBe(3);
    });
  },
);
