/**
 * Placement groups over a head that is killed and started again: with its tables in NATS, and without any, when only the nodes know what they hold.
 */
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  availableResources,
  get,
  init,
  type PlacementGroup,
  type PlacementGroupInfo,
  placementGroup,
  placementGroupTable,
  remote,
  shutdown,
} from "shoal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LocalHead, type LocalNodeProcess, type NodeOptions, startHead, startNode } from "../../src/ops/providers/local-processes.ts";
import { NatsServers } from "../control-plane/nats-servers.ts";
import { describeNats } from "../control-plane/planes.ts";
import { until, useFolder } from "./session.ts";

const TOKEN = "token of the test";
const onLine = (): void => {};
const folder = useFolder();

/** A head, and nodes that are this test's own children. */
class Machines {
  readonly #servers: NatsServers | undefined;
  readonly #nodes: LocalNodeProcess[] = [];
  #head: LocalHead | undefined;
  address = "tcp://127.0.0.1:0";

  constructor(servers: NatsServers | undefined) {
    this.#servers = servers;
  }

  async start(): Promise<void> {
    const urls = this.#servers?.urls;
    const controlPlane = urls === undefined ? undefined : { kind: "nats" as const, urls, cluster: "heads", name: "head" };
    this.#head = await startHead({ token: TOKEN, address: this.address, onLine, controlPlane });
    this.address = this.#head.address;
  }

  async kill(): Promise<void> {
    this.#head?.kill("SIGKILL");
    await this.#head?.ended;
  }

  async addNode(options: NodeOptions): Promise<LocalNodeProcess> {
    const node = await startNode({ token: TOKEN, headAddress: this.address, listenAddress: "tcp://127.0.0.1:0", ...options, onLine });
    this.#nodes.push(node);
    return node;
  }

  async close(): Promise<void> {
    for (const { kill } of this.#nodes) kill("SIGTERM");
    this.#head?.kill("SIGTERM");
    await Promise.all([...this.#nodes.map(({ ended }) => ended), this.#head?.ended]);
    await this.#servers?.close();
  }
}

const where = remote(() => process.ppid);

async function freeCpus(): Promise<number | undefined> {
  return (await availableResources())["CPU"];
}

async function infoOf({ id }: PlacementGroup): Promise<PlacementGroupInfo | undefined> {
  return (await placementGroupTable()).find((group) => group.id === id);
}

function suite(newServers: () => Promise<NatsServers | undefined>): void {
  let machines: Machines;
  let first: LocalNodeProcess;
  let second: LocalNodeProcess;

  beforeEach(async () => {
    machines = new Machines(await newServers());
    await machines.start();
    first = await machines.addNode({ numCpus: 2 });
    second = await machines.addNode({ numCpus: 2 });
    await init({ address: machines.address });
  });
  afterEach(async () => {
    await shutdown();
    await machines.close();
  });

  test("what is reserved stays where it is, is booked once, and goes when it is removed", async () => {
    const group = placementGroup([{ CPU: 1 }, { CPU: 1 }], { strategy: "STRICT_SPREAD", name: "kept" });
    await group.ready();
    const inBundle = (bundleIndex: number): Promise<number> =>
      get(where.options({ schedulingStrategy: { placementGroup: group, bundleIndex } }).remote());
    const before = [await inBundle(0), await inBundle(1)];
    expect(new Set(before)).toEqual(new Set([first.pid, second.pid]));
    const go = join(mkdtempSync(join(folder, "go-")), "go");
    const long = remote(async (file: string) => {
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
      return process.ppid;
    })
      .options({ schedulingStrategy: { placementGroup: group, bundleIndex: 1 }, maxRetries: 0 })
      .remote(go);
    await until(async () => (await freeCpus()) === 2, "the bundles to be reserved");
    await machines.kill();
    await machines.start();
    await until(async () => (await freeCpus()) === 2, "both nodes to have come back");
    await until(async () => (await infoOf(group))?.state === "created", "the group to be known");
    writeFileSync(go, "");
    expect(await long).toBe(before[1]);
    expect([await inBundle(0), await inBundle(1)]).toEqual(before);
    const other = placementGroup([{ CPU: 2 }]);
    await expect(other.ready({ timeoutMs: 500 })).rejects.toThrow("were not reserved");
    await group.remove();
    await other.ready({ timeoutMs: 20_000 });
    await other.remove();
    await until(async () => (await freeCpus()) === 4, "everything to be free");
  });

  test("one that is removed, or whose program ends, while there is no head leaves nothing", async () => {
    const group = placementGroup([{ CPU: 1 }, { CPU: 1 }], { strategy: "STRICT_SPREAD" });
    const left = placementGroup([{ CPU: 1 }, { CPU: 1 }], { strategy: "STRICT_SPREAD" });
    await Promise.all([group.ready(), left.ready()]);
    await machines.kill();
    const removed = group.remove();
    await machines.start();
    await removed;
    await until(async () => (await freeCpus()) === 2, "the resources of the one that was removed");
    await machines.kill();
    await shutdown();
    await machines.start();
    await init({ address: machines.address });
    await until(async () => (await freeCpus()) === 4, "the resources of the one whose program has ended");
  });
}

describe("placement groups and a head without a store", () => {
  suite(() => Promise.resolve(undefined));
});

describeNats("placement groups and a head with its tables in NATS", () => {
  suite(() => NatsServers.start());
});

describeNats("a head with its tables in NATS", () => {
  let machines: Machines;
  beforeEach(async () => {
    machines = new Machines(await NatsServers.start());
    await machines.start();
    await machines.addNode({ numCpus: 2 });
    await init({ address: machines.address });
  });
  afterEach(async () => {
    await shutdown();
    await machines.close();
  });

  test("a group that waits is reserved by the next head", async () => {
    const group = placementGroup([{ CPU: 2 }, { CPU: 2 }], { strategy: "STRICT_SPREAD" });
    const isReady = group.ready({ timeoutMs: 40_000 });
    await expect(group.ready({ timeoutMs: 500 })).rejects.toThrow("were not reserved");
    await machines.kill();
    await machines.start();
    await until(async () => (await freeCpus()) === 2, "the node to have come back");
    await machines.addNode({ numCpus: 2 });
    await isReady;
    await until(async () => (await freeCpus()) === 0, "the bundles to be taken");
  });

  test("bundles of a node that ended meanwhile are placed again, and the others stay", { timeout: 60_000 }, async () => {
    const other = await machines.addNode({ numCpus: 1, resources: { mark: 1 } });
    const group = placementGroup([{ CPU: 2 }, { CPU: 1 }], { strategy: "STRICT_SPREAD" });
    await group.ready();
    const before = (await infoOf(group))?.nodeIds;
    expect(before?.[1]).toBe(other.nodeId);
    await machines.kill();
    other.kill("SIGKILL");
    await other.ended;
    await machines.start();
    const third = await machines.addNode({ numCpus: 1 });
    await until(async () => (await infoOf(group))?.nodeIds[1] === third.nodeId, "the bundle to be placed again");
    expect((await infoOf(group))?.nodeIds[0]).toBe(before?.[0]);
    expect(await get(where.options({ schedulingStrategy: { placementGroup: group, bundleIndex: 1 } }).remote())).toBe(third.pid);
    await until(async () => (await freeCpus()) === 0, "the head to hear that all is taken");
  });
});
