/** A node that is silent for as long as a dead one, under tasks that Python has submitted to it: which fail, and which run on another node. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import { TestCluster } from "shoal/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { until, useFolder } from "./session.ts";

const SUBMITS = new URL("python/submits.py", import.meta.url);

interface Caller {
  call(name: string, ...args: unknown[]): unknown;
}

describe.skipIf(WITHOUT_PYTHON !== undefined)(`a node that dies under tasks that Python has submitted${unless(WITHOUT_PYTHON)}`, () => {
  const folder = useFolder();
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.start({ head: { numCpus: 0, resources: { near: 1 } } });
    await init({ address: cluster.address });
  });
  afterAll(async () => {
    await shutdown();
    await cluster.shutdown();
  });

  test("with max_retries=0 what may have begun fails, none runs twice, and what had not been sent runs on another node", async () => {
    const doomed = await cluster.addNode({ numCpus: 1, resources: { special: 1 } });
    const file = join(folder, "log");
    using caller = python.actor<Caller, []>(SUBMITS, "Caller", { numCpus: 0, resources: { near: 0.1 } }).remote();
    const running = caller.call.remote("on_dying_node", file, doomed.pid);
    await until(() => existsSync(`${file}.died`), "the node to stand still");
    await cluster.addNode({ numCpus: 1, resources: { special: 1 } });
    const found = (await running) as unknown[];
    const runs = readFileSync(file, "utf8").trim().split("\n").map(Number);
    expect(runs).toHaveLength(new Set(runs).size);
    expect(runs).toEqual(expect.arrayContaining([0, 1, 2, 3, 8]));
    for (const [number, value] of found.entries()) expect(value === number || value === "crashed").toBe(true);
    expect(found[3]).toBe("crashed");
    expect(found[8]).toBe(8);
  });
});
