/**
 * Where tasks, actors and placement groups of a program go when there are several nodes.
 *
 * The nodes are real daemons on this machine; a task tells its node by the process that started its worker.
 */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import {
  actors,
  availableResources,
  get,
  init,
  kill,
  placementGroup,
  placementGroupTable,
  remote,
  type SchedulingStrategy,
  shutdown,
  wait,
  why,
} from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Log, until, useFolder } from "./session.ts";

/** The daemon that it runs under, after a while in which it keeps its CPU. */
async function daemonAfter(ms: number): Promise<number> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
  return process.ppid;
}

/** The same, which says that it has begun and keeps its CPU until its gate is open. */
async function daemonBehind(began: string, gate: string): Promise<number> {
  appendFileSync(began, `${process.ppid}\n`);
  while (!existsSync(gate)) {
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
  return process.ppid;
}

class Place {
  daemon(): number {
    return process.ppid;
  }
}

const where = remote(daemonAfter);

interface Wanted {
  labelSelector?: Record<string, string>;
  fallbackStrategy?: { labelSelector: Record<string, string> }[];
  resources?: Record<string, number>;
  schedulingStrategy?: SchedulingStrategy;
}

const folder = useFolder();
const behind = remote(daemonBehind);

/** Holds tasks for as long as the test wants: how long a node takes to start a worker is the machine's affair. */
class Gate {
  readonly #log = new Log(folder);
  get began(): string {
    return this.#log.file;
  }
  get file(): string {
    return `${this.#log.file}-gate`;
  }
  async hasHeld(count: number): Promise<void> {
    await until(() => this.#log.lines.length >= count, `${count} tasks to have begun`);
  }
  open(): void {
    writeFileSync(this.file, "");
  }
}

const freeCpus = async (): Promise<number | undefined> => (await availableResources())["CPU"];

/** Also as the head sees it, to which a node's last report may be on the way: those of free nodes that come after those of full ones are the last. */
async function allFree(): Promise<void> {
  const gate = new Gate();
  const held = Array.from({ length: 4 }, () => behind.remote(gate.began, gate.file));
  await gate.hasHeld(4);
  await until(async () => (await freeCpus()) === 0, "the head to see that all nodes are full");
  gate.open();
  await get(held);
  await until(async () => (await freeCpus()) === 4, "the work of earlier tests to have ended");
}

describe("three nodes", () => {
  let cluster: TestCluster;
  let first: TestNode;
  let second: TestNode;
  let third: TestNode;

  beforeAll(async () => {
    cluster = await TestCluster.start({ head: { numCpus: 1 } });
    first = cluster.nodes[0] as TestNode;
    second = await cluster.addNode({ numCpus: 2, labels: { zone: "east" }, resources: { special: 1 } });
    third = await cluster.addNode({ numCpus: 1, labels: { zone: "west" } });
  });
  afterAll(() => cluster.shutdown());
  beforeEach(async () => {
    await init({ address: cluster.address });
  });
  afterEach(shutdown);

  test("tasks that find no room on their driver's node run on others, and all at once", async () => {
    await until(async () => (await freeCpus()) === 4, "the nodes to be free");
    const gate = new Gate();
    const held = Array.from({ length: 4 }, () => behind.remote(gate.began, gate.file));
    await gate.hasHeld(4);
    gate.open();
    const pids = await get(held);
    expect(new Set(pids)).toEqual(new Set([first.pid, second.pid, third.pid]));
    expect(pids.filter((pid) => pid === second.pid)).toHaveLength(2);
  });

  test("many short tasks are done by all, and nothing is left over", async () => {
    await allFree();
    const seen = new Set<number>();
    const runMany = async (): Promise<void> => {
      for (const pid of await get(Array.from({ length: 300 }, () => where.remote(10)))) seen.add(pid);
    };
    // A node may be late once.
    await until(async () => {
      await runMany();
      return seen.size === 3;
    }, "all nodes to have taken part");
    await until(async () => (await freeCpus()) === 4, "nothing to be left over");
  });

  test("labels, resources and affinities choose the node", async () => {
    const one = (options: Wanted): Promise<number> => get(where.options(options).remote(0));
    expect(await one({ labelSelector: { zone: "west" } })).toBe(third.pid);
    expect(await one({ labelSelector: { zone: "!in(west,nowhere)" }, resources: { special: 1 } })).toBe(second.pid);
    expect(await one({ schedulingStrategy: { nodeId: third.nodeId } })).toBe(third.pid);
    expect(await one({ schedulingStrategy: { nodeId: "f".repeat(32), soft: true } })).toBeTypeOf("number");
    for (const { nodeId, pid } of [first, second, third]) expect(await one({ schedulingStrategy: { nodeId, soft: true } })).toBe(pid);
    await expect(one({ schedulingStrategy: { nodeId: "f".repeat(32) } })).rejects.toThrow(/there is no node f{32}/);
  });

  test("what it falls back on is taken in its order, while what it asks for first has no room", async () => {
    await allFree();
    const inOrder: Wanted = { labelSelector: { zone: "east" }, fallbackStrategy: [{ labelSelector: { zone: "west" } }] };
    const one = (options: Wanted): Promise<number> => get(where.options(options).remote(0));
    const place = async (options: Wanted): Promise<number> => {
      using actor = remote(Place)
        .options({ ...options, numCpus: 1 })
        .remote();
      return await actor.daemon.remote();
    };
    expect(await one(inOrder)).toBe(second.pid);
    expect(await place(inOrder)).toBe(second.pid);
    expect(await one({ labelSelector: { zone: "nowhere" }, fallbackStrategy: [{ labelSelector: { zone: "west" } }] })).toBe(third.pid);
    expect(await one({ labelSelector: { zone: "nowhere" }, fallbackStrategy: [{ labelSelector: {} }] })).toBeTypeOf("number");
    await allFree();
    const gate = new Gate();
    const held = Array.from({ length: 2 }, () => behind.options({ labelSelector: { zone: "east" } }).remote(gate.began, gate.file));
    await gate.hasHeld(2);
    await until(async () => (await freeCpus()) === 2, "the head to see that the east is full");
    expect(await one(inOrder)).toBe(third.pid);
    expect(await place(inOrder)).toBe(third.pid);
    await until(async () => (await freeCpus()) === 2, "the west to be free");
    const west = behind.options({ labelSelector: { zone: "west" } }).remote(gate.began, gate.file);
    await gate.hasHeld(3);
    const pending = where.options(inOrder).remote(0);
    const tried = "tried in this order: 1 node whose label zone is east, 1 node whose label zone is west";
    await until(async () => String(await why(pending)).includes(tried), "why() to say what was tried");
    gate.open();
    expect([second.pid, third.pid]).toContain(await get(pending));
    await get([...held, west]);
  });

  test("a first choice that is the driver's own node is taken there, and one that only falls back on it is not", async () => {
    await allFree();
    const { nodeId } = first;
    const own: Wanted = { labelSelector: { "shoal.io/node-id": nodeId }, fallbackStrategy: [{ labelSelector: { zone: "west" } }] };
    const others: Wanted = { labelSelector: { zone: "west" }, fallbackStrategy: [{ labelSelector: { "shoal.io/node-id": nodeId } }] };
    expect(await get(where.options(own).remote(0))).toBe(first.pid);
    await allFree();
    expect(await get(where.options(others).remote(0))).toBe(third.pid);
    const gate = new Gate();
    const west = behind.options({ labelSelector: { zone: "west" } }).remote(gate.began, gate.file);
    await gate.hasHeld(1);
    await until(async () => (await freeCpus()) === 3, "the head to see that the west is full");
    expect(await get(where.options(others).remote(0))).toBe(first.pid);
    gate.open();
    await west;
  });

  test("spread goes round over the nodes", async () => {
    await allFree();
    const gate = new Gate();
    const spread = behind.options({ schedulingStrategy: "spread" });
    const held = Array.from({ length: 3 }, () => spread.remote(gate.began, gate.file));
    await gate.hasHeld(3);
    gate.open();
    expect(new Set(await get(held)).size).toBe(3);
  });

  test("a task goes to the node where its arguments lie, and elsewhere when that is full", async () => {
    await allFree();
    for (const { nodeId, pid } of [first, second, third]) {
      const bytes = remote(() => new Uint8Array(8 * 1024 * 1024))
        .options({ schedulingStrategy: { nodeId } })
        .remote();
      const reader = remote((data: Uint8Array) => [data.length, process.ppid] as const);
      await wait([bytes], { fetchLocal: false });
      await allFree();
      expect(await reader.remote(bytes)).toEqual([8 * 1024 * 1024, pid]);
    }
    const bytes = remote(() => new Uint8Array(8 * 1024 * 1024))
      .options({ schedulingStrategy: { nodeId: third.nodeId } })
      .remote();
    await wait([bytes], { fetchLocal: false });
    await allFree();
    const gate = new Gate();
    const busy = behind.options({ schedulingStrategy: { nodeId: third.nodeId } }).remote(gate.began, gate.file);
    await gate.hasHeld(1);
    await until(async () => (await freeCpus()) === 3, "the node to be full");
    expect(await remote((_data: Uint8Array) => process.ppid).remote(bytes)).not.toBe(third.pid);
    gate.open();
    expect(await busy).toBe(third.pid);
  });

  test("tasks of tasks find other nodes, too, and nobody waits for ever", async () => {
    const parent = remote(async () => {
      const children = Array.from({ length: 3 }, () => remote(() => process.ppid).remote());
      return await Promise.all(children);
    });
    const found = await get(Array.from({ length: 6 }, () => parent.remote()));
    expect(found.flat()).toHaveLength(18);
  });

  test("actors fill the nodes", async () => {
    await allFree();
    const Placed = remote(Place).options({ numCpus: 1 });
    const made = Array.from({ length: 4 }, () => Placed.remote());
    const pids = await Promise.all(made.map((actor) => actor.daemon.remote()));
    expect(
      new Map(
        Array.from(
          Map.groupBy(pids, (pid) => pid),
          ([pid, all]) => [pid, all.length],
        ),
      ),
    ).toEqual(
      new Map([
        [first.pid, 1],
        [second.pid, 2],
        [third.pid, 1],
      ]),
    );
    // A fifth one has no place until one of them ends, while tasks want the returned resources, too.
    const late = Placed.remote();
    const tasks = Array.from({ length: 3 }, () => where.remote(10));
    void kill(made[0] as (typeof made)[0]);
    expect(await late.daemon.remote()).toBe(pids[0]);
    void kill(made[1] as (typeof made)[0]);
    expect(await get(tasks)).toHaveLength(3);
  }, 60_000);

  test("the bundles of a placement group lie on nodes of their own, and work goes to its bundle", async () => {
    await using group = await groupOf([{ CPU: 1 }, { CPU: 1 }, { CPU: 1 }], "STRICT_SPREAD");
    const inBundle = (bundleIndex: number): Promise<number> =>
      get(where.options({ schedulingStrategy: { placementGroup: group.group, bundleIndex } }).remote(0));
    const pids = [await inBundle(0), await inBundle(1), await inBundle(2)];
    expect(new Set(pids).size).toBe(3);
    const actor = remote(Place)
      .options({ numCpus: 1, schedulingStrategy: { placementGroup: group.group, bundleIndex: 1 } })
      .remote();
    expect(await actor.daemon.remote()).toBe(pids[1]);
    const anywhere = await get(Array.from({ length: 3 }, () => where.options({ placementGroup: group.group }).remote(300)));
    expect(anywhere).toHaveLength(3);
  });

  test("groups that want the same nodes get them one after the other", async () => {
    await using one = await groupOf([{ CPU: 2 }, { CPU: 1 }], "STRICT_SPREAD");
    const other = placementGroup([{ CPU: 2 }, { CPU: 1 }], { strategy: "STRICT_SPREAD" });
    await expect(other.ready({ timeoutMs: 300 })).rejects.toThrow(/not ready|within|300/);
    await one.group.remove();
    await other.ready();
    await other.remove();
  });

  test("a group gets its nodes though tasks without end would fill them", async () => {
    const over = new AbortController();
    const stream = (async () => {
      while (!over.signal.aborted) await get(Array.from({ length: 12 }, () => where.remote(20)));
    })();
    await using group = await groupOf([{ CPU: 2 }, { CPU: 1 }, { CPU: 1 }], "STRICT_SPREAD");
    expect((await placementGroupTable()).find(({ id }) => id === group.group.id)?.state).toBe("created");
    await group.group.remove();
    over.abort();
    await stream;
  });
});

describe("nodes that come and go", () => {
  test("what waits for a node that does not exist yet runs when it joins, and again elsewhere when it dies", async () => {
    await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine: () => {} });
    await init({ address: cluster.address, logToDriver: false });
    try {
      const special = where.options({ resources: { special: 1 }, maxRetries: 3 });
      const gate = new Gate();
      const waiting = [special.remote(200), special.remote(200)];
      const node = await cluster.addNode({ numCpus: 2, resources: { special: 1 } });
      expect(await waiting[0]).toBe(node.pid);
      expect(await waiting[1]).toBe(node.pid);
      const lost = [behind.options({ resources: { special: 1 }, maxRetries: 3 }).remote(gate.began, gate.file), special.remote(100)];
      await gate.hasHeld(1);
      await node.kill();
      gate.open();
      const other = await cluster.addNode({ numCpus: 2, resources: { special: 1 } });
      expect(await get(lost)).toEqual([other.pid, other.pid]);
    } finally {
      await shutdown();
    }
  }, 60_000);

  test("the bundle of a node that died is placed again, with the actor in it; those of others go on", async () => {
    await using cluster = await TestCluster.start({ head: { numCpus: 0 }, onLine: () => {} });
    const nodes = [await cluster.addNode({ numCpus: 1 }), await cluster.addNode({ numCpus: 1 })];
    await init({ address: cluster.address, logToDriver: false });
    try {
      const group = placementGroup([{ CPU: 1 }, { CPU: 1 }], { strategy: "STRICT_SPREAD" });
      await group.ready();
      const made = [0, 1].map((bundleIndex) =>
        remote(Place)
          .options({ numCpus: 1, maxRestarts: 1, maxTaskRetries: 1, schedulingStrategy: { placementGroup: group, bundleIndex } })
          .remote(),
      );
      const pids = await Promise.all(made.map((actor) => actor.daemon.remote()));
      const dying = nodes.find(({ pid }) => pid === pids[1]) as TestNode;
      await dying.kill();
      await until(
        async () => (await placementGroupTable()).some(({ id, state }) => id === group.id && state === "rescheduling"),
        "the group to be placed again",
      );
      expect(await made[0]?.daemon.remote()).toBe(pids[0]);
      const fresh = await cluster.addNode({ numCpus: 1 });
      expect(await made[1]?.daemon.remote()).toBe(fresh.pid);
      expect((await placementGroupTable()).find(({ id }) => id === group.id)?.nodeIds).toContain(fresh.nodeId);
      expect(await actors()).toHaveLength(2);
    } finally {
      await shutdown();
    }
  }, 60_000);
});

async function groupOf(bundles: Record<string, number>[], strategy: "STRICT_SPREAD") {
  const group = placementGroup(bundles, { strategy });
  await group.ready();
  return { group, [Symbol.asyncDispose]: () => group.remove() };
}
