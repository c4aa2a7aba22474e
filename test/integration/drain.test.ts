/**
 * Nodes that are drained: what becomes of the work, the actors and the programs on them, and what the others hear.
 *
 * Asked as `shoal drain` asks (`cluster-commands.test.ts` has the command itself); a task tells its node by the process that started its worker.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, getRuntimeContext, init, kill, nodes, type ObjectRef, type PreemptionInfo, python, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { expect, test } from "vitest";
import { connectToCluster } from "../../src/ops/connection/cluster-connection.ts";
import { findNode } from "../../src/runtime/os/files/clusters/local-node.ts";
import type { ClusterStatusHeader, NodeDrainHeader } from "../../src/runtime/wire/cluster/cluster-messages.ts";
import { MESSAGE } from "../../src/runtime/wire/messages.ts";
import { WITHOUT_PYTHON } from "./python-places.ts";
import { until, useFolder } from "./session.ts";

const lines: string[] = [];
const onLine = (line: string): void => void lines.push(line);

async function daemonAfter(ms: number): Promise<number> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
  return process.ppid;
}
const where = remote(daemonAfter);

/** Says that it has begun, and ends when the test writes the file. */
const whereOnce = remote(async (file: string): Promise<number> => {
  writeFileSync(`${file}.began`, "");
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
  return process.ppid;
});
const folder = useFolder();

class Place {
  daemon(): number {
    return process.ppid;
  }
}

async function connected(cluster: TestCluster): Promise<AsyncDisposable> {
  await init({ address: cluster.address, logToDriver: false });
  return { [Symbol.asyncDispose]: shutdown };
}

async function drain(cluster: TestCluster, node: string, { deadlineMs, reason }: Partial<NodeDrainHeader> = {}): Promise<string> {
  using connection = await connectToCluster(cluster.address);
  return await connection.ask(MESSAGE.NODE_DRAIN, { node, deadlineMs, ...(reason && { reason }) });
}

async function status(cluster: TestCluster): Promise<ClusterStatusHeader> {
  using connection = await connectToCluster(cluster.address);
  return await connection.ask(MESSAGE.CLUSTER_STATUS, undefined);
}

/** Resolves when the head says so. Any node is suspect for a moment when the machine has kept it from speaking for two seconds. */
async function untilStateIs(wanted: string, cluster: TestCluster, ...expected: readonly TestNode[]): Promise<void> {
  const isSo = ({ nodes: found }: ClusterStatusHeader): boolean =>
    expected.every((node) => found.some(({ nodeId, state }) => nodeId === node.nodeId && state === wanted));
  await until(async () => isSo(await status(cluster)), `the nodes to be ${wanted}`);
}

async function reasonOf(cluster: TestCluster, { nodeId }: TestNode): Promise<string> {
  // Asked through the node that goes, it is not always answered.
  const isGone = (found: ClusterStatusHeader): boolean => found.gone.some((node) => node.nodeId === nodeId);
  await until(() => status(cluster).then(isGone, () => false), "the node to be gone");
  return (await status(cluster)).gone.find((node) => node.nodeId === nodeId)?.reason ?? "";
}

test.each([false, true])(
  "a node leaves when what it has has ended, and what prefers it or fits nowhere else is not kept waiting (TLS %s)",
  {
    timeout: 60_000,
  },
  async (tls) => {
    await using cluster = await TestCluster.start({ head: { numCpus: 1 }, tls, onLine });
    const first = cluster.nodes[0] as TestNode;
    const second = await cluster.addNode({ numCpus: 1, resources: { special: 1 } });
    await using _program = await connected(cluster);
    const there = { schedulingStrategy: { nodeId: second.nodeId, soft: true } };
    const mover = remote(Place)
      .options({ ...there, numCpus: 0, maxRestarts: -1, maxTaskRetries: -1 })
      .remote();
    expect(await mover.daemon.remote()).toBe(second.pid);
    const go = join(folder, `tls ${tls}`);
    const begun = whereOnce.options({ ...there, maxRetries: 0 }).remote(go);
    await until(() => existsSync(`${go}.began`), "the task to begin");
    await until(
      async () => (await status(cluster)).nodes.some(({ nodeId, free }) => nodeId === second.nodeId && free["CPU"] === 0),
      "the task to run",
    );
    const hard = where.options({ schedulingStrategy: { nodeId: second.nodeId, soft: false } }).remote(0);

    expect(await drain(cluster, second.nodeId.slice(0, 6))).toBe(second.nodeId);
    await untilStateIs("draining", cluster, second);
    await until(async () => (await mover.daemon.remote()) === first.pid, "the actor to have moved");
    expect(await where.options(there).remote(0)).toBe(first.pid);
    writeFileSync(go, "");
    expect(await begun).toBe(second.pid);
    expect(await reasonOf(cluster, second)).toBe("it was drained");
    await expect(get(hard)).rejects.toThrow(second.nodeId);
    expect((await nodes()).find(({ nodeId }) => nodeId === second.nodeId)?.alive).toBe(false);
    const special = where.options({ resources: { special: 1 } }).remote(0);
    const joining = await cluster.addNode({ numCpus: 1, resources: { special: 1 } });
    expect(await special).toBe(joining.pid);
  },
);

test("a program whose own node is drained has its work done elsewhere, and the node waits for it", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine });
  await using _program = await connected(cluster);
  const own = cluster.nodes.find(({ nodeId }) => nodeId === getRuntimeContext().nodeId) as TestNode;
  const other = await cluster.addNode({ numCpus: 1 });
  expect(await where.options({ schedulingStrategy: { nodeId: own.nodeId, soft: false } }).remote(0)).toBe(own.pid);
  await drain(cluster, own.nodeId);
  const pids = await get(Array.from({ length: 20 }, () => where.remote(5)));
  expect(new Set(pids)).toEqual(new Set([other.pid]));
  expect((await nodes()).filter(({ alive }) => alive)).toHaveLength(2);
  await shutdown();
  expect(await reasonOf(cluster, own)).toBe("it was drained");
});

test("a node that is silent gets nothing new until it is heard of again", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine });
  const second = await cluster.addNode({ numCpus: 1 });
  await using _program = await connected(cluster);
  const there = { schedulingStrategy: { nodeId: second.nodeId, soft: false } };
  expect(await where.options(there).remote(0)).toBe(second.pid);
  await until(async () => (await status(cluster)).nodes.every(({ free }) => free["CPU"] === 1), "both to be free");
  await cluster.partition([second], ["head"]);
  await untilStateIs("suspect", cluster, second);
  await cluster.heal();
  await untilStateIs("alive", cluster, second);
  expect(await where.options(there).remote(0)).toBe(second.pid);
});

test("a head that takes over hears from the node itself that it is to leave", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine });
  const second = await cluster.addNode({ numCpus: 1 });
  await using _program = await connected(cluster);
  const there = { schedulingStrategy: { nodeId: second.nodeId, soft: true } };
  const go = join(folder, "head");
  const begun = whereOnce.options({ ...there, maxRetries: 0 }).remote(go);
  await until(() => existsSync(`${go}.began`), "the task to begin");
  await until(async () => (await status(cluster)).nodes.some(({ free }) => free["CPU"] === 0), "the task to run");
  await drain(cluster, second.nodeId);
  await until(async () => (await status(cluster)).nodes.some(({ state }) => state === "draining"), "the node to know it");
  await cluster.restartHead();
  await until(
    () =>
      status(cluster).then(
        ({ nodes: found }) => found.some(({ nodeId, state }) => nodeId === second.nodeId && state === "draining"),
        () => false,
      ),
    "the next head to know it",
  );
  expect(await where.options(there).remote(0)).not.toBe(second.pid);
  writeFileSync(go, "");
  expect(await begun).toBe(second.pid);
  expect(await reasonOf(cluster, second)).toBe("it was drained");
});

test("drained twice, the later deadline holds; one that dies meanwhile is said to have died", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine });
  const [second, third] = [await cluster.addNode({ numCpus: 1 }), await cluster.addNode({ numCpus: 1 })];
  await using _program = await connected(cluster);
  const unwritten = ["never second", "never third"].map((name) => join(folder, name));
  const never = [second, third].map(({ nodeId }, index) =>
    whereOnce.options({ maxRetries: 0, schedulingStrategy: { nodeId, soft: false } }).remote(unwritten[index] as string),
  );
  await until(() => unwritten.every((file) => existsSync(`${file}.began`)), "the tasks to begin");
  await drain(cluster, second.nodeId);
  await drain(cluster, third.nodeId);
  await third.kill();
  expect(await reasonOf(cluster, third)).toMatch(/^it has had no link to the head/);
  await untilStateIs("draining", cluster, second);
  await drain(cluster, second.nodeId, { deadlineMs: 200 });
  expect(await reasonOf(cluster, second)).toBe("it was drained, and its time was over with 1 tasks, actors and programs on it");
  await expect(get(never[0] as ObjectRef<number>)).rejects.toThrow("drained");
  await expect(get(never[1] as ObjectRef<number>)).rejects.toThrow("Task whereOnce failed: ");
  await expect(drain(cluster, second.nodeId)).rejects.toThrow("no node of the cluster has an id that begins with");
  await expect(drain(cluster, "")).rejects.toThrow("no node of the cluster has an id that begins with");
});

/** When its node is to be drained: what its code is told, by the signal and when it asks. */
async function whenPreempted(): Promise<[told: unknown, asked: PreemptionInfo | undefined]> {
  const { preemptionSignal } = getRuntimeContext();
  if (!preemptionSignal.aborted) await new Promise((resolve) => preemptionSignal.addEventListener("abort", resolve));
  return [preemptionSignal.reason, getRuntimeContext().preemption];
}

class Rank {
  whenPreempted(): ReturnType<typeof whenPreempted> {
    return whenPreempted();
  }
  preemption(): PreemptionInfo | undefined {
    return getRuntimeContext().preemption;
  }
}

test("what runs on the node is told why and until when, in Python too, and only an idle one leaves for being idle", {
  timeout: 60_000,
}, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine });
  const second = await cluster.addNode({ numCpus: WITHOUT_PYTHON === undefined ? 2 : 1 });
  await using _program = await connected(cluster);
  const there = { schedulingStrategy: { nodeId: second.nodeId, soft: false } } as const;
  const rank = remote(Rank)
    .options({ ...there, maxConcurrency: 2 })
    .remote();
  expect(await rank.preemption.remote()).toBeUndefined();
  const told = [
    rank.whenPreempted.remote(),
    remote(whenPreempted)
      .options({ ...there, maxRetries: 0 })
      .remote(),
  ];
  const inPython =
    WITHOUT_PYTHON === undefined
      ? python.task<() => unknown>(new URL("python/things.py", import.meta.url), "when_preempted", { ...there, maxRetries: 0 }).remote()
      : undefined;
  await until(async () => (await status(cluster)).nodes.some(({ free }) => free["CPU"] === 0), "all to run");
  await expect(drain(cluster, second.nodeId, { reason: "idle" })).rejects.toThrow(`node ${second.nodeId} is not idle`);
  expect(await rank.preemption.remote()).toBeUndefined();

  const beganMs = Date.now();
  await drain(cluster, second.nodeId, { deadlineMs: 30_000 });
  const info = { deadlineMs: expect.closeTo(beganMs + 30_000, -4), reason: "preemption" };
  for (const said of await Promise.all(told)) expect(said).toEqual([info, info]);
  if (inPython !== undefined) expect(await inPython).toEqual({ deadline_ms: info.deadlineMs, reason: "preemption" });
  expect(await rank.preemption.remote()).toEqual(info);
  // The later deadline holds from now on.
  await drain(cluster, second.nodeId, { deadlineMs: 90_000 });
  await until(async () => Number((await rank.preemption.remote())?.deadlineMs) > beganMs + 60_000, "the later deadline to be known");
  expect([getRuntimeContext().preemption, getRuntimeContext().preemptionSignal.aborted]).toEqual([undefined, false]);
  await kill(rank);
  expect(await reasonOf(cluster, second)).toBe("it was drained");
});

test("programs begin on nodes that stay, and where there are none they hear why", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine });
  const first = cluster.nodes[0] as TestNode;
  const second = await cluster.addNode({ numCpus: 1 });
  await using _ = await connected(cluster);
  expect(getRuntimeContext().nodeId).toBe(first.nodeId);
  const place = remote(Place)
    .options({ numCpus: 0, schedulingStrategy: { nodeId: second.nodeId } })
    .remote();
  expect(await place.daemon.remote()).toBe(second.pid);
  // The test's program keeps the first node, its actor the second.
  await drain(cluster, first.nodeId);
  await until(() => findNode(cluster.address).nodeId === second.nodeId, "the file of the node to say that it leaves");
  await drain(cluster, second.nodeId);
  const message = /^Cannot connect to the cluster at .*: all its nodes here \([0-9a-f]{12}, [0-9a-f]{12}\) are being drained\.$/;
  await until(() => {
    try {
      findNode(cluster.address);
      return false;
    } catch (error) {
      return message.test((error as Error).message);
    }
  }, "nobody to be taken in any more");
  await untilStateIs("draining", cluster, first, second);
});
