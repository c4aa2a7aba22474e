/**
 * Heads that die and come back, and networks that are cut, under a program on several nodes (`shoal/testing`).
 */
import { get, init, nodes, ready, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { isAlive, until } from "./session.ts";

class Counter {
  #count = 0;
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
}

let cluster: TestCluster;
let second: TestNode;

beforeAll(async () => {
  cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine: () => {} });
  second = await cluster.addNode({ numCpus: 2 });
});
afterAll(() => cluster.shutdown());
beforeEach(async () => {
  await init({ address: cluster.address, logToDriver: false });
});
afterEach(shutdown);

const at = (node: TestNode): { schedulingStrategy: { nodeId: string; soft: boolean } } => ({
  schedulingStrategy: { nodeId: node.nodeId, soft: false },
});

describe("a head that is killed", () => {
  test("is not missed by calls to an actor of another node, and its successor takes the nodes in", async () => {
    const counter = remote(Counter).options(at(second)).remote();
    await ready(counter);
    await cluster.killHead();
    expect(await get(Array.from({ length: 5 }, () => counter.increment.remote()))).toEqual([1, 2, 3, 4, 5]);
    await cluster.restartHead();
    await until(async () => (await nodes()).filter(({ alive }) => alive).length === 2, "both nodes to have registered");
    expect(await counter.increment.remote()).toBe(6);
  });
});

describe.skipIf(process.platform !== "linux")("a network that is cut", () => {
  test("for less than the cluster's patience delays calls and loses none", async () => {
    const counter = remote(Counter).options(at(second)).remote();
    expect(await counter.increment.remote()).toBe(1);
    await cluster.partition([second]);
    const begunMs = performance.now();
    const call = counter.increment.remote();
    setTimeout(() => void cluster.heal(), 700);
    expect(await call).toBe(2);
    expect(performance.now() - begunMs).toBeGreaterThan(600);
    expect((await nodes()).filter(({ alive }) => alive)).toHaveLength(2);
  });
});

describe("a node that stands still", () => {
  test("is dead after ten seconds and no sooner, its actors live elsewhere, and it ends when it wakes up", {
    timeout: 60_000,
  }, async () => {
    const third = await cluster.addNode({ numCpus: 1 });
    const counter = remote(Counter)
      .options({ maxRestarts: 1, schedulingStrategy: { nodeId: third.nodeId, soft: true } })
      .remote();
    expect(await counter.increment.remote()).toBe(1);
    const stoppedMs = performance.now();
    third.pause();
    const isDead = async (): Promise<boolean> => (await nodes()).some(({ nodeId, alive }) => nodeId === third.nodeId && !alive);
    await until(isDead, "the node to be dead");
    expect(performance.now() - stoppedMs).toBeGreaterThan(8_000);
    await until(async () => (await get(counter.increment.remote()).catch(() => 0)) === 1, "the actor to live elsewhere");
    third.resume();
    await until(() => !isAlive(third.pid), "the node to end");
  });
});
