/**
 * A program on several nodes: where tasks run, refs and values between nodes, and the death of a node.
 *
 * The nodes are real daemons with their own workers and stores on this machine, which meet over TCP alone.
 */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ActorDiedError, actors, clusterResources, get, getActor, init, kill, nodes, put, ready, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "./session.ts";

const LINES: string[] = [];

class Counter {
  #count = 0;
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
  daemon(): number {
    return process.ppid;
  }
  async addTo(box: { ref: PromiseLike<number> }): Promise<number> {
    return (await box.ref) + 1;
  }
  make(): { ref: PromiseLike<string> } {
    return { ref: put("made elsewhere") };
  }
  fail(): never {
    throw new RangeError("on purpose");
  }
}

describe("two nodes", () => {
  let cluster: TestCluster;
  let second: TestNode;
  const at = (node: TestNode): { schedulingStrategy: { nodeId: string; soft: boolean } } => ({
    schedulingStrategy: { nodeId: node.nodeId, soft: false },
  });

  beforeAll(async () => {
    cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine: (line) => void LINES.push(line) });
    second = await cluster.addNode({ numCpus: 2, resources: { special: 1 } });
  });
  afterAll(async () => {
    await cluster.shutdown();
    if (LINES.length > 0) throw new Error(`the processes of the cluster printed:\n${LINES.join("\n")}`);
  });
  beforeEach(async () => {
    await init({ address: cluster.address });
  });
  afterEach(shutdown);

  test("are one cluster", async () => {
    expect((await nodes()).filter(({ alive }) => alive).map(({ resources }) => resources["CPU"])).toEqual([1, 2]);
    expect(await clusterResources()).toMatchObject({ CPU: 3, special: 1 });
  });

  test("an actor lives where it was asked to be, and is called directly", async () => {
    const counter = remote(Counter).options(at(second)).remote();
    expect(await counter.daemon.remote()).toBe(second.pid);
    expect(await Promise.all([1, 2, 3].map(() => counter.increment.remote()))).toEqual([1, 2, 3]);
  });

  test("refs go from node to node, and values come back", async () => {
    const counter = remote(Counter).options(at(second)).remote();
    expect(await counter.addTo.remote({ ref: put(41) })).toBe(42);
    const { ref } = await counter.make.remote();
    expect(await ref).toBe("made elsewhere");
  });

  test("an error keeps its class and its message", async () => {
    const counter = remote(Counter).options(at(second)).remote();
    await expect(get(counter.fail.remote())).rejects.toMatchObject({ cause: expect.any(RangeError) as unknown });
  });

  test("a named actor of one node is found by its name and ends with its creator", async () => {
    const named = remote(Counter)
      .options({ ...at(second), name: "counter" })
      .remote();
    await ready(named);
    const found = await getActor<Counter>("counter");
    expect(await found.increment.remote()).toBe(1);
    // Those of the programs before may still be ending.
    const listed = (await actors()).filter(({ name }) => name !== undefined);
    expect(listed).toMatchObject([{ name: "counter", nodeId: second.nodeId, phase: "alive" }]);
  });

  /** Outlives its driver and waits for what that owns. */
  class Waiter {
    #outcome: Promise<string> | undefined;
    wait(box: { ref: PromiseLike<unknown> }): void {
      this.#outcome = Promise.resolve(box.ref).then(
        () => "a value",
        (error: Error) => error.name,
      );
    }
    outcome(): Promise<string> | undefined {
      return this.#outcome;
    }
  }

  test.each([
    ["the driver's node", false],
    ["another node", true],
  ])("who waits on %s for an object of a driver that ends is told so", async (_, isElsewhere) => {
    const place = { name: "waiter", namespace: "waiting" };
    const options = { ...place, lifetime: "detached", numCpus: 0, ...(isElsewhere ? at(second) : {}) } as const;
    const waiter = remote(Waiter, options).remote();
    // The task fits nowhere, so it never begins.
    await waiter.wait.remote({ ref: remote(() => 1, { resources: { nowhere: 1 } }).remote() });
    await shutdown();
    await init({ address: cluster.address });
    const found = await getActor<Waiter>(place.name, { namespace: place.namespace });
    // A driver that shuts down may still answer that its calls have ended.
    expect(["OwnerDiedError", "ShoalError"]).toContain(await get(found.outcome.remote(), { timeoutMs: 30_000 }));
    await kill(found);
  });

  test("what a driver leaves behind ends with it, and the nodes go on", async () => {
    await ready(remote(Counter).options(at(second)).remote());
    await shutdown();
    await init({ address: cluster.address });
    await until(async () => (await actors()).length === 0, "the actor of the driver that has gone to end");
  });
});

test("the file of a killed node, with the cluster's token in it, goes with the node", async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine: () => {} });
  const node = await cluster.addNode({ numCpus: 1 });
  const file = join(tmpdir(), `shoal-nodes-${process.getuid?.()}`, `${node.nodeId}.json`);
  expect(existsSync(file)).toBe(true);
  await node.kill();
  expect(existsSync(file)).toBe(false);
});

test("the death of a node ends its actors with the cause, and the rest goes on", async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine: () => {} });
  const node = await cluster.addNode({ numCpus: 1 });
  await init({ address: cluster.address });
  try {
    const lost = remote(Counter)
      .options({ schedulingStrategy: { nodeId: node.nodeId, soft: false } })
      .remote();
    await ready(lost);
    const { ref } = await lost.make.remote();
    await node.kill();
    await expect(get(lost.increment.remote())).rejects.toThrow(ActorDiedError);
    await expect(ref).rejects.toThrow(/node/);
    expect(await remote((x: number) => x + 1).remote(1)).toBe(2);
    expect((await nodes()).filter(({ alive }) => alive)).toHaveLength(1);
  } finally {
    await shutdown();
  }
});
