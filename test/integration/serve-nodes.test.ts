/**
 * Serve on several nodes, with a proxy on each that prefers replicas on its own node. Requests cross from node to node, a node is drained
 * under load, and a node dies.
 */
import { appendFileSync } from "node:fs";
import { Agent } from "node:http";
import { init, shutdown } from "shoal";
import * as serve from "shoal/serve";
import { TestCluster, type TestNode } from "shoal/testing";
import { expect, test } from "vitest";
import { connectToCluster } from "../../src/ops/connection/cluster-connection.ts";
import { MESSAGE } from "../../src/runtime/wire/messages.ts";
import { ask, CountingClient } from "./serve-client.ts";
import { failureOf, Log, until, useFolder } from "./session.ts";

const folder = useFolder();

class Where {
  #file: string;
  constructor(file: string) {
    this.#file = file;
  }
  async fetch(request: Request): Promise<string> {
    const [, path = "", n = ""] = /^https?:\/\/[^/]*\/([^?]*)\?n=(.*)/.exec(request.url) ?? [];
    appendFileSync(this.#file, `${path}${n}\n`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return String(process.ppid);
  }
}

test("replicas leave a node that is drained without losing a request, and are started elsewhere when one dies", {
  timeout: 90_000,
}, async () => {
  const log = new Log(folder);
  await using cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine: () => {} });
  const second = await cluster.addNode({ numCpus: 2 });
  const third = await cluster.addNode({ numCpus: 2 });
  await init({ address: cluster.address, logToDriver: false });
  await serve.start({ httpOptions: { port: 0, preferLocalNode: false, drainGraceMs: 3_000 } });
  const deployment = serve.deployment(Where, { numReplicas: 3, maxReplicasPerNode: 2, maxOngoingRequests: 20 });
  await serve.run(deployment.bind(log.file));
  const addresses = async (): Promise<string[]> =>
    Object.values((await serve.status()).proxies).flatMap(({ status, address = "" }) => (status === "HEALTHY" ? [address] : []));
  await until(async () => (await addresses()).length === 3, "a proxy on each node");
  const nodesSeen = async (address: string): Promise<Set<number>> => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(address, "/?n=seen")));
    return new Set(answers.map(({ body }) => Number(body)));
  };
  // Each proxy reaches replicas of other nodes.
  for (const address of await addresses()) expect((await nodesSeen(address)).size).toBeGreaterThan(1);

  // Through a proxy of a node that stays, and through the one of the node that goes, for as long as a load balancer may not know.
  const first = cluster.nodes.find(({ nodeId }) => nodeId !== second.nodeId && nodeId !== third.nodeId) as TestNode;
  const proxyOf = async ({ nodeId }: TestNode): Promise<{ status: string; address: string }> =>
    Object.entries((await serve.status()).proxies).find(([name]) => name.includes(nodeId))?.[1] as { status: string; address: string };
  const kept = await proxyOf(first);
  const leaving = await proxyOf(second);
  const client = new CountingClient(kept.address);
  const lateClient = new CountingClient(leaving.address, { path: "/late" });
  await Promise.all([client.more(50), lateClient.more(50)]);
  using connection = await connectToCluster(cluster.address);
  await connection.ask(MESSAGE.NODE_DRAIN, { node: second.nodeId, deadlineMs: undefined });
  // A new connection, as a probe has.
  await until(async () => (await ask(leaving.address, "/-/healthz", { agent: new Agent() })).status === 503, "the probe to learn of it");
  expect((await proxyOf(second)).status).toBe("DRAINING");
  await lateClient.more(50);
  await lateClient.stop();
  expect(lateClient.failures).toEqual([]);
  expect([...lateClient.answers.values()].at(-1)?.headers["connection"]).toBe("close");
  // The proxy's node may have gone by now, and the proxy with it.
  await until(async () => ((await proxyOf(second))?.status ?? "DRAINED") === "DRAINED", "the proxy to have ended");
  expect(await failureOf(ask(leaving.address, "/", { agent: new Agent() }))).toMatchObject({ code: "ECONNREFUSED" });
  await until(async () => {
    await client.more(1);
    return client.answers.size > 0 && !(await nodesSeen(kept.address)).has(second.pid);
  }, "the replicas to have left the node");
  await client.more(50);
  expect(client.failures).toEqual([]);

  await third.kill();
  const isLeft = async (): Promise<boolean> =>
    (await serve.status()).applications["default"]?.deployments["Where"]?.replicaStates.RUNNING === 2;
  await until(async () => (await addresses()).length === 1 && (await isLeft()), "as many replicas to run on the node that is left as may");
  await client.more(50);
  await client.stop();
  // Only requests in flight to the dead node.
  for (const failure of client.failures) expect(failure).toContain("the replica died while it had the request");
  expect(client.failures.length).toBeLessThanOrEqual(8);
  expect(CountingClient.twice(log).filter((line) => line !== "seen")).toEqual([]);
  expect(await nodesSeen(kept.address)).toEqual(new Set([first.pid]));
  await serve.shutdown();
  await shutdown();
});

test("a proxy sends requests to the replica of its own node as long as that has room", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine: () => {} });
  await cluster.addNode({ numCpus: 2 });
  await init({ address: cluster.address, logToDriver: false });
  await serve.start({ httpOptions: { port: 0 } });
  await serve.run(serve.deployment(Where, { numReplicas: 2, maxReplicasPerNode: 1, maxOngoingRequests: 2 }).bind(new Log(folder).file));
  const proxies = async (): Promise<[string, serve.ServeStatus["proxies"][string]][]> => Object.entries((await serve.status()).proxies);
  await until(async () => (await proxies()).filter(([, { status }]) => status === "HEALTHY").length === 2, "a proxy on each node");
  for (const [name, { address = "" }] of await proxies()) {
    const own = cluster.nodes.find(({ nodeId }) => name.includes(nodeId))?.pid;
    for (let request = 0; request < 8; request += 1) expect(Number((await ask(address, "/")).body)).toBe(own);
    const many = await Promise.all(Array.from({ length: 40 }, () => ask(address, "/")));
    expect(new Set(many.map(({ body }) => body)).size).toBe(2);
  }
  await serve.shutdown();
  await shutdown();
});
