/**
 * Several heads on one NATS: one leads, and another takes over when it is killed, or stands still and wakes up again.
 *
 * Real processes at separate loopback addresses. An actor's own log tells whether it ran twice. A process that has nothing to do with Shoal
 * measures the machine's own delay, which is subtracted from the time of a call.
 */
import { appendFileSync } from "node:fs";
import { type ActorHandle, actors, get, getActor, getRuntimeContext, init, kill, nodes, put, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nowMs } from "../../chaos/clock.ts";
import { Gaps } from "../../chaos/gaps.ts";
import { NatsServers } from "../control-plane/nats-servers.ts";
import { describeNats } from "../control-plane/planes.ts";
import { collectGarbage, isAlive, Log, storeUsedBytes, until, useFolder } from "./session.ts";

class Counter {
  #count = 0;
  constructor(log: string) {
    appendFileSync(log, `${process.pid}\n`);
  }
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
  pid(): number {
    return process.pid;
  }
}

class Keeper {
  kept: unknown;
  keep(value: unknown): void {
    this.kept = value;
  }
  pid(): number {
    return process.pid;
  }
}

const folder = useFolder();
/** The goal is five seconds; the machine of the tests is shared. */
const LEADS_WITHIN_MS = 5_000;
const GAP_MAX_MS = 250;
/** A machine that stands still at the wrong moment is no gap: a real one is there each time. */
const TRIES = 3;

describeNats("several heads", () => {
  let servers: NatsServers;
  let cluster: TestCluster;
  let second: TestNode;
  let log: Log;
  let counter: ActorHandle<Counter>;
  let count = 0;

  beforeAll(async () => {
    servers = await NatsServers.start({ token: "secret" });
    const nats = { urls: servers.urls, token: "secret" };
    cluster = await TestCluster.start({ heads: 2, nats, tls: true, head: { numCpus: 2 } });
    second = await cluster.addNode({ numCpus: 2 });
    // Any head's address names the cluster.
    await init({ address: cluster.address.split(",")[1] as string, namespace: "test" });
    log = new Log(folder);
    counter = remote(Counter)
      .options({ name: "counter", lifetime: "detached", maxRestarts: 3, numCpus: 0, ...there() })
      .remote(log.file);
    await increments();
  }, 60_000);

  afterAll(async () => {
    await shutdown();
    await cluster.shutdown();
    await servers.close();
  }, 60_000);

  /** Increments through the actor's name; it must be the same actor as before. */
  async function increments(): Promise<void> {
    const found = await getActor<Counter>("counter");
    count += 1;
    expect(await get(found.increment.remote())).toBe(count);
    expect(log.lines.length).toBe(1);
  }

  /** On the second node only. */
  function there(): { schedulingStrategy: { nodeId: string; soft: false } } {
    return { schedulingStrategy: { nodeId: second.nodeId, soft: false } };
  }

  /** The leader is the one that is hurt. */
  async function takesOver(hurt: () => Promise<void> | void): Promise<{ before: number; leadsMs: number; createdMs: number }> {
    const before = cluster.headPid as number;
    const hurtMs = performance.now();
    await hurt();
    // Asked of nobody, and answered by the next, which has to meet that node first.
    const late = remote(Counter)
      .options({ numCpus: 0, ...there() })
      .remote(new Log(folder).file);
    const created = get(late.increment.remote());
    await cluster.leaderTakesOver({ after: before });
    const leadsMs = performance.now() - hurtMs;
    expect(await created).toBe(1);
    const createdMs = performance.now() - hurtMs;
    await kill(late);
    return { before, leadsMs, createdMs };
  }

  test("another one leads after the leader was killed: calls go on meanwhile, and what is created waits for it", {
    timeout: 90_000,
  }, async () => {
    const found: string[] = [];
    for (let tries = 0; tries < TRIES; tries += 1) {
      const gaps = new Gaps();
      const stored = put(new Uint8Array(200_000));
      gaps.watch("calls", () => get(counter.pid.remote()));
      gaps.watch("gets", () => get(stored));
      await new Promise((resolve) => setTimeout(resolve, 300));
      const beginMs = nowMs();
      const { leadsMs, createdMs } = await takesOver(() => cluster.killHead());
      const { ms, name, failed, watched, machineMs } = gaps.worst(beginMs, nowMs());
      gaps.stop();
      await increments();
      expect((await nodes()).map(({ alive }) => alive)).toEqual([true, true]);
      await cluster.restartHead();
      expect([watched, failed]).toEqual([2, []]);
      found.push(
        `leads after ${leadsMs.toFixed(0)} ms, created after ${createdMs.toFixed(0)}, gap ${ms.toFixed(0)} (${name}), machine ${machineMs.toFixed(0)}`,
      );
      if (leadsMs < LEADS_WITHIN_MS && ms < GAP_MAX_MS) return;
    }
    expect(found).toEqual([]);
  });

  test("one that stood still stands by when it wakes up, and leads again when it is its turn", { timeout: 60_000 }, async () => {
    const { before } = await takesOver(() => cluster.pauseHead());
    await increments();
    cluster.resumeHead();
    // The old leader still takes itself for the leader, but nobody believes its messages; it stays as a standby for the next time.
    await until(() => cluster.standbyPids.includes(before), "the old leader stands by");
    await increments();
    expect(isAlive(before)).toBe(true);
    await takesOver(() => cluster.killHead());
    expect(cluster.headPid).toBe(before);
    await increments();
    expect((await nodes()).map(({ alive }) => alive)).toEqual([true, true]);
    expect((await actors()).filter(({ phase }) => phase === "alive").map(({ name }) => name)).toEqual(["counter"]);
    await cluster.restartHead();
  });

  test("a process whose end the leader took with it holds nothing for ever", { timeout: 60_000 }, async () => {
    const isHome = ({ nodeId }: TestNode): boolean => nodeId === getRuntimeContext().nodeId;
    const home = cluster.nodes.find(isHome) as TestNode;
    const { nodeId } = cluster.nodes.find((node) => !isHome(node)) as TestNode;
    const keeper = remote(Keeper)
      .options({ numCpus: 0, schedulingStrategy: { nodeId, soft: false } })
      .remote();
    {
      using kept = put(new Uint8Array(1_000_000));
      await keeper.keep.remote({ kept });
    }
    const pid = await keeper.pid.remote();
    const before = cluster.headPid;
    expect(await storeUsedBytes()).toBeGreaterThanOrEqual(1_000_000);
    await cluster.partition(["leader"], [home], { oneWay: true });
    process.kill(pid, "SIGKILL");
    await until(() => !isAlive(pid), "the process to end");
    // The leader learns of the death, but home does not hear the leader.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await cluster.killHead();
    await cluster.heal();
    await cluster.leaderTakesOver({ after: before });
    await until(async () => {
      // Objects that the tests before have put lie there until their refs are collected.
      await collectGarbage();
      return (await storeUsedBytes()) === 0;
    }, "what it held to be freed");
    await cluster.restartHead();
  });

  test("without any head what runs goes on, and the next one knows it", { timeout: 60_000 }, async () => {
    const before = cluster.headPid;
    await cluster.killHead();
    await cluster.leaderTakesOver({ after: before });
    await cluster.killHead();
    expect(cluster.headPid).toBeUndefined();
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    count += 1;
    expect(await get(counter.increment.remote())).toBe(count);
    await cluster.restartHead();
    await cluster.leaderTakesOver();
    await cluster.restartHead();
    await increments();
  });
});
