/**
 * Serve where nodes die whose loss concerns more than one replica: the node of the controller, while the head is elsewhere, and a node with members of gangs.
 */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { getRuntimeContext, init, placementGroupTable, shutdown } from "shoal";
import * as serve from "shoal/serve";
import { TestCluster, type TestNode } from "shoal/testing";
import { expect, test } from "vitest";
import { connectToCluster } from "../../src/ops/cli/cluster-connection.ts";
import { MESSAGE } from "../../src/runtime/wire/messages.ts";
import { ask, CountingClient, startAwayFromDriver } from "./serve-client.ts";
import { isAlive, Log, shoalProcesses, until, useFolder } from "./session.ts";

const folder = useFolder();

/** SIGKILL for the daemon and for each of its workers, as when a machine loses its power. */
async function loses(node: TestNode): Promise<void> {
  const workers = shoalProcesses({ under: node.pid });
  await node.kill();
  for (const pid of workers) if (isAlive(pid)) process.kill(pid, "SIGKILL");
}

test("another controller follows when its node dies with the head elsewhere, and clients of other nodes lose what was in flight there alone", {
  timeout: 90_000,
}, async () => {
  class Numbered {
    #file: string;
    #version: string;
    constructor(file: string, version: string) {
      this.#file = file;
      this.#version = version;
    }
    async fetch(request: Request): Promise<string> {
      return await this.answer(/^https?:\/\/[^/]*\/([^?]*\?n=.*)/.exec(request.url)?.[1] ?? "");
    }
    async answer(line: string): Promise<string> {
      appendFileSync(this.#file, `${line}\n`);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return this.#version;
    }
  }
  const gate = join(folder, "gate");
  class Scaled {
    async fetch(): Promise<string> {
      while (!existsSync(gate)) await new Promise((resolve) => setTimeout(resolve, 20));
      return "scaled";
    }
  }
  const log = new Log(folder);
  await using cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine: () => {} });
  await Promise.all([cluster.addNode({ numCpus: 2 }), cluster.addNode({ numCpus: 2 })]);
  await init({ address: cluster.address, logToDriver: false });
  const options = { httpOptions: { port: 0, preferLocalNode: false }, apiOptions: { port: 0 } };
  const lost = await startAwayFromDriver(cluster, options);
  const Many = serve.deployment(Numbered, { numReplicas: 3, actorOptions: { numCpus: 0.25 }, maxOngoingRequests: 20 });
  const place = { name: "many", routePrefix: "/many" };
  const handle = await serve.run(Many.bind(log.file, "one"), place);
  const autoscalingConfig = {
    minReplicas: 1,
    maxReplicas: 3,
    targetOngoingRequests: 1,
    upscaleDelayMs: 0,
    downscaleDelayMs: 300,
    lookBackPeriodMs: 500,
  };
  await serve.run(serve.deployment(Scaled, { autoscalingConfig, actorOptions: { numCpus: 0.25 } }).bind(), {
    name: "auto",
    routePrefix: "/auto",
  });
  const healthy = async () => Object.values((await serve.status()).proxies).filter(({ status }) => status === "HEALTHY");
  await until(async () => (await healthy()).length === 3, "a proxy on each node");
  const kept = (await healthy()).filter(({ nodeId }) => nodeId !== lost.nodeId);
  const clients = [
    ...kept.map(({ address = "" }, index) => new CountingClient(address, { path: `/many/${index}`, atATime: 4 })),
    new CountingClient("", { atATime: 4, via: (n) => handle.answer.remote(`handle?n=${n}`) }),
  ];
  const more = async (count: number) => await Promise.all(clients.map((client) => client.more(count)));
  await more(50);

  // An update is under way when the node dies.
  const updating = serve.run(Many.bind(log.file, "two"), place);
  await until(async () => (await serve.status()).applications["many"]?.status === "DEPLOYING", "the update to begin");
  await loses(lost);
  await more(50);
  await updating;
  await until(async () => (await healthy()).length === 2, "the next controller to know the proxies that are left");
  expect((await healthy()).map(({ address }) => address).sort()).toEqual(kept.map(({ address }) => address).sort());
  const { nodeId, apiAddress = "" } = (await serve.controllerHealth()) as { nodeId: string; apiAddress: string | undefined };
  expect(nodeId).not.toBe(lost.nodeId);
  const rest = await ask(apiAddress, "/api/serve/applications/");
  const { applications, proxies } = JSON.parse(rest.body);
  expect([rest.status, Object.keys(applications).sort(), Object.keys(proxies)]).toEqual([
    200,
    ["auto", "many"],
    expect.not.arrayContaining([lost.nodeId]),
  ]);
  // Another update goes through this controller, and loses nothing.
  const failures = clients.flatMap((client) => client.failures);
  await serve.run(Many.options({ numReplicas: 2 }).bind(log.file, "three"), place);
  await more(20);
  expect((await serve.status()).applications["many"]).toMatchObject({
    status: "RUNNING",
    deployments: { Numbered: { replicaStates: { RUNNING: 2 } } },
  });
  await Promise.all(clients.map((client) => client.stop()));
  expect(clients.flatMap((client) => client.failures)).toEqual(failures);
  for (const failure of failures) expect(failure).toMatch(/the replica died|died while/);
  expect(failures.length).toBeLessThanOrEqual(12);
  expect(CountingClient.twice(log)).toEqual([]);
  for (const client of clients) expect([...client.answers.values()].at(-1)?.body).toBe("three");

  const running = async () => (await serve.status()).applications["auto"]?.deployments["Scaled"]?.replicaStates.RUNNING;
  const held = Array.from({ length: 4 }, () => ask(kept[0]?.address ?? "", "/auto", { agent: new Agent() }));
  await until(async () => (await running()) === 3, "the load to bring replicas");
  writeFileSync(gate, "");
  for (const { status } of await Promise.all(held)) expect(status).toBe(200);
  await until(async () => (await running()) === 1, "the replicas to go with the load");
  await serve.shutdown();
  await shutdown();
});

class Member {
  #file: string;
  constructor(file: string) {
    this.#file = file;
  }
  async fetch(request: Request): Promise<string> {
    appendFileSync(this.#file, `${new URL(request.url).searchParams.get("n")}\n`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return "member";
  }
  where(): { node: number; pid: number; gang: string | undefined } {
    return { node: process.ppid, pid: process.pid, gang: getRuntimeContext().placementGroupId };
  }
}

test("gangs over several nodes are scaled, updated and moved without losing a request, and replaced as a whole when the node of a member dies", {
  timeout: 90_000,
}, async () => {
  const log = new Log(folder);
  await using cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine: () => {} });
  const [first] = cluster.nodes as [TestNode];
  await Promise.all([cluster.addNode({ numCpus: 2 }), cluster.addNode({ numCpus: 2 })]);
  await init({ address: cluster.address, logToDriver: false });
  const { address = "" } = await serve.start({ httpOptions: { port: 0, preferLocalNode: false, drainGraceMs: 0 } });
  const Gang = serve.deployment(Member, {
    gangConfig: { gangSize: 2, strategy: "STRICT_SPREAD" },
    numReplicas: 2,
    actorOptions: { numCpus: 0.5 },
  });
  const handle = await serve.run(Gang.bind(log.file));
  const places = async () => await handle.broadcast("where");
  const gangs = async () =>
    (await placementGroupTable()).filter(({ name = "", state }) => name.startsWith("SERVE_GROUP::") && state !== "removed");
  const client = new CountingClient(address);
  await client.more(20);
  const [one, other] = await places();
  expect(one?.node).not.toBe(other?.node);
  await serve.run(Gang.options({ numReplicas: 4 }).bind(log.file));
  expect([(await places()).length, (await gangs()).length]).toEqual([4, 2]);
  const old = new Set((await places()).map(({ pid }) => pid));
  const updated = Gang.options({ numReplicas: 4, actorOptions: { numCpus: 0.4 } });
  await serve.run(updated.bind(log.file));
  expect((await places()).filter(({ pid }) => old.has(pid))).toEqual([]);
  await client.more(20);
  expect(client.failures).toEqual([]);

  const before = await places();
  const lost = cluster.nodes.find(({ nodeId, pid }) => nodeId !== first.nodeId && before.some(({ node }) => node === pid)) as TestNode;
  await loses(lost);
  const deployment = async () => (await serve.status()).applications["default"]?.deployments["Member"];
  await until(async () => (await deployment())?.status !== "HEALTHY", "the death to be known");
  await until(async () => (await deployment())?.status === "HEALTHY", "the gangs to be replaced");
  // Whoever was in a gang with a replica of that node is gone with it, and nobody else.
  const broken = new Set(before.flatMap(({ node, gang }) => (node === lost.pid ? [gang] : [])));
  const after = await places();
  expect(after.filter(({ node }) => node === lost.pid)).toEqual([]);
  expect(after.filter(({ pid }) => before.some((place) => place.pid === pid))).toEqual(before.filter(({ gang }) => !broken.has(gang)));
  for (const members of Map.groupBy(after, ({ gang }) => gang).values()) expect(new Set(members.map(({ node }) => node)).size).toBe(2);
  expect(client.failures.length).toBeLessThanOrEqual(8);
  await serve.run(updated.options({ numReplicas: 2 }).bind(log.file));
  await until(async () => (await gangs()).length === 1, "the group of the second gang to be removed");
  await client.more(20);
  const failures = [...client.failures];

  // A node is drained: the gang moves as a whole, to one that has joined.
  const joined = await cluster.addNode({ numCpus: 2 });
  const drained = cluster.nodes.find((node) => node !== first && node !== joined) as TestNode;
  const moved = (await places()).map(({ pid }) => pid);
  using connection = await connectToCluster(cluster.address);
  await connection.ask(MESSAGE.NODE_DRAIN, { node: drained.nodeId, deadlineMs: undefined });
  await until(() => !cluster.nodes.includes(drained), "the node to have gone");
  await client.more(20);
  await client.stop();
  expect((await places()).map(({ node, pid }) => [node === drained.pid, moved.includes(pid)])).toEqual(Array(2).fill([false, false]));
  expect(client.failures).toEqual(failures);
  expect(CountingClient.twice(log)).toEqual([]);
  await serve.shutdown();
  expect(await gangs()).toEqual([]);
  await shutdown();
});
