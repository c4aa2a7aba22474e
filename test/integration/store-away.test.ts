/**
 * Several heads whose NATS is away for longer than nodes go on without a proof: running actors go on, calls are answered, and a head leads
 * when NATS is back.
 *
 * Real processes and a real nats-server that is killed, or stands still. Whether an actor was there twice is told by its own log. The times are those of every cluster.
 */
import { appendFileSync } from "node:fs";
import { type ActorHandle, get, getActor, init, nodes, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NatsServers } from "../control-plane/nats-servers.ts";
import { describeNats } from "../control-plane/planes.ts";
import { isAlive, Log, until, useFolder } from "./session.ts";

class Counter {
  #count = 0;
  constructor(log: string) {
    appendFileSync(log, `${process.pid}\n`);
  }
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
}

const folder = useFolder();
/** A node that nothing is proven to ends 27 s after the last proof, which is at most 3 s older than the absence. */
const AWAY_MS = 31_000;

describeNats("several heads whose NATS is away", () => {
  let servers: NatsServers;
  let cluster: TestCluster;
  let second: TestNode;
  let log: Log;
  let counter: ActorHandle<Counter>;
  let count = 0;
  const said: string[] = [];

  beforeAll(async () => {
    servers = await NatsServers.start();
    cluster = await TestCluster.start({
      heads: 2,
      nats: { urls: servers.urls },
      head: { numCpus: 1 },
      onLine: (line) => said.push(line),
    });
    second = await cluster.addNode({ numCpus: 1 });
    await init({ address: cluster.address, namespace: "test" });
    log = new Log(folder);
    counter = remote(Counter)
      .options({
        name: "counter",
        lifetime: "detached",
        maxRestarts: 3,
        numCpus: 0,
        schedulingStrategy: { nodeId: second.nodeId, soft: false },
      })
      .remote(log.file);
    await increments();
    // From then on they see when it is away.
    await until(() => said.filter((line) => line.includes("reaches the control store")).length === 2, "both nodes know the NATS");
  }, 60_000);

  afterAll(async () => {
    await shutdown();
    await cluster.shutdown();
    await servers.close();
  }, 60_000);

  async function increments(): Promise<void> {
    count += 1;
    expect(await get(counter.increment.remote())).toBe(count);
  }

  const proofs = (): number => said.filter((line) => line.includes("no head can lead")).length;

  test.each([
    ["is killed", () => servers.kill(0), () => servers.restart(0)],
    ["stands still", async () => servers.pause(0), async () => servers.resume(0)],
  ] as const)("that %s: nodes go on, and what they have is there when it is back", { timeout: 120_000 }, async (_, away, back) => {
    const [pid] = log.lines;
    const before = proofs();
    await away();
    const endMs = performance.now() + AWAY_MS;
    while (performance.now() < endMs) {
      await increments();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // Both nodes have looked for themselves.
    expect(proofs()).toBe(before + 2);
    await back();
    await cluster.leaderTakesOver();
    // Work that needs a head succeeds again.
    const created = remote(Counter).options({ numCpus: 0 }).remote(new Log(folder).file);
    expect(await get(created.increment.remote())).toBe(1);
    counter = await getActor<Counter>("counter");
    await increments();
    expect((await nodes()).map(({ alive }) => alive)).toEqual([true, true]);
    expect([log.lines, isAlive(Number(pid))]).toEqual([[pid], true]);
  });

  test("a node that is cut off from the heads while NATS lives ends", { timeout: 60_000 }, async () => {
    const [pid] = log.lines;
    const before = proofs();
    await cluster.partition([second]);
    await until(() => !isAlive(Number(pid)), "the worker of the node that is cut off ends");
    expect(proofs()).toBe(before);
    await cluster.heal();
  });
});
