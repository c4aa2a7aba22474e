/**
 * Gangs of replicas over several nodes, under a client that counts. They are scaled, updated, moved from a drained node, and replaced as a
 * whole when the node of a member and the controller die.
 */
import { appendFileSync } from "node:fs";
import { getRuntimeContext, init, placementGroupTable, shutdown } from "shoal";
import * as serve from "shoal/serve";
import { TestCluster, type TestNode } from "shoal/testing";
import { expect, test } from "vitest";
import { connectToCluster } from "../../src/ops/connection/cluster-connection.ts";
import { MESSAGE } from "../../src/runtime/wire/messages.ts";
import { CountingClient, loses } from "../integration/serve-client.ts";
import { Log, until, useFolder } from "../integration/session.ts";

const folder = useFolder();

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

test("gangs over several nodes are scaled, updated and moved without losing a request, and replaced as a whole when the node of a member and the controller die", {
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
  // The controller as well: the next one finds gangs that lack a member.
  process.kill((await serve.controllerHealth())?.pid ?? 0, "SIGKILL");
  await loses(lost);
  // The next controller finds a proxy there before the death is known.
  await serve.start();
  const deployment = async () => (await serve.status()).applications["default"]?.deployments["Member"];
  await until(async () => (await deployment())?.status !== "HEALTHY", "the death to be known");
  await until(async () => (await deployment())?.status === "HEALTHY", "the gangs to be replaced");
  // Replicas in a gang with one of that node are gone with it, and no others.
  const broken = new Set(before.flatMap(({ node, gang }) => (node === lost.pid ? [gang] : [])));
  const after = await places();
  expect(after.filter(({ node }) => node === lost.pid)).toEqual([]);
  expect(after.filter(({ pid }) => before.some((place) => place.pid === pid))).toEqual(before.filter(({ gang }) => !broken.has(gang)));
  for (const members of Map.groupBy(after, ({ gang }) => gang).values()) expect(new Set(members.map(({ node }) => node)).size).toBe(2);
  // Eight are under way at a time: some are lost with the node, others with the gangs' other members, which end, too.
  expect(client.failures.length).toBeLessThanOrEqual(16);
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
  const inTheEnd = await places();
  expect(inTheEnd).toHaveLength(2);
  expect(inTheEnd.filter(({ node, pid }) => node === drained.pid || moved.includes(pid))).toEqual([]);
  expect(client.failures).toEqual(failures);
  expect(CountingClient.twice(log)).toEqual([]);
  await serve.shutdown();
  expect(await gangs()).toEqual([]);
  await shutdown();
});
