/**
 * Serve where its controller goes to another node: with the node that dies, while the head is elsewhere, and by itself.
 */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { init, kill, shutdown } from "shoal";
import * as serve from "shoal/serve";
import { TestCluster } from "shoal/testing";
import { expect, test } from "vitest";
import { ask, CountingClient, fullNode, loses, startAwayFromDriver } from "./serve-client.ts";
import { failureOf, Log, until, useFolder } from "./session.ts";

const folder = useFolder();

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
  expect(new Set((await healthy()).map(({ address }) => address))).toEqual(new Set(kept.map(({ address }) => address)));
  const { nodeId } = (await serve.controllerHealth()) as { nodeId: string };
  const { address: apiAddress = "", token = "" } = (await serve.restApi()) ?? {};
  expect(nodeId).not.toBe(lost.nodeId);
  const rest = await ask(apiAddress, "/api/serve/applications/", { headers: { authorization: `Bearer ${token}` } });
  const { applications, proxies } = JSON.parse(rest.body);
  expect([rest.status, Object.keys(applications).sort(), Object.keys(proxies)]).toEqual([
    200,
    ["auto", "many"],
    expect.not.arrayContaining([lost.nodeId]),
  ]);
  // The same controller does one more update, and loses nothing.
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

test("the only proxy stays where clients know it when its controller goes to another node", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine: () => {} });
  await cluster.addNode({ numCpus: 2 });
  await init({ address: cluster.address, logToDriver: false });
  const { nodeId } = await startAwayFromDriver(cluster, { httpOptions: { port: 0, location: "headOnly" } });
  class Here {
    fetch(): string {
      return "here";
    }
  }
  await serve.run(serve.deployment(Here, { actorOptions: { numCpus: 0 } }).bind());
  const [{ address = "" } = {}] = Object.values((await serve.status()).proxies);
  // With no room on its node the controller is started again on the other.
  const holder = await fullNode(nodeId);
  process.kill((await serve.controllerHealth())?.pid ?? 0, "SIGKILL");
  await serve.run(serve.deployment(Here, { actorOptions: { numCpus: 0 }, maxOngoingRequests: 9 }).bind());
  expect((await serve.controllerHealth())?.nodeId).not.toBe(nodeId);
  expect(Object.values((await serve.status()).proxies)).toEqual([expect.objectContaining({ nodeId, address, status: "HEALTHY" })]);
  expect((await ask(address, "/")).body).toBe("here");
  await kill(holder);
  await serve.shutdown();
  expect(await failureOf(ask(address, "/", { agent: new Agent() }))).toMatchObject({ code: "ECONNREFUSED" });
  await shutdown();
});
