/**
 * Serve on nodes that are drained: clients with WebSockets and calls of gRPC open at the proxy there, the controller on such a node, and nodes that were drained before it began.
 */
import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { Agent } from "node:http";
import { init, nodes, remote, shutdown } from "shoal";
import * as serve from "shoal/serve";
import { TestCluster, type TestNode } from "shoal/testing";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { connectToCluster } from "../../src/ops/connection/cluster-connection.ts";
import { MESSAGE } from "../../src/runtime/wire/messages.ts";
import { ask, CountingClient, startAwayFromDriver } from "./serve-client.ts";
import { failureOf, Log, until, useFolder } from "./session.ts";

const PROTO = fileURLToPath(new URL("grpc/shop.proto", import.meta.url));
const GRACE_MS = 2_000;
const DEADLINE_MS = 7_000;
const folder = useFolder();

interface Item {
  readonly name: string;
}
type ShopClient = grpc.Client & {
  Describe(item: Item, done: (error: grpc.ServiceError | null, answer: Item) => void): void;
  Chat(): grpc.ClientDuplexStream<Item, Item>;
};

function shopAt(target: string): ShopClient {
  const { shop } = grpc.loadPackageDefinition(loadSync(PROTO, { defaults: true })) as unknown as {
    shop: { v1: { Shop: new (target: string, credentials: grpc.ChannelCredentials) => ShopClient } };
  };
  return new shop.v1.Shop(target, grpc.credentials.createInsecure());
}

function describe(client: ShopClient): Promise<string> {
  return new Promise((resolve, reject) =>
    client.Describe({ name: "cup" }, (error, answer) => (error === null ? resolve(answer.name) : reject(error))),
  );
}

/** A call that stays open. */
function chatOf(client: ShopClient) {
  const call = client.Chat();
  const heard: string[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<Pick<grpc.StatusObject, "code" | "details">>();
  call
    .on("data", ({ name }: Item) => heard.push(name))
    .on("error", () => {})
    .on("status", ({ code, details }) => resolve({ code, details }));
  const say = async (name: string): Promise<void> => {
    call.write({ name });
    await until(() => heard.includes(`re: ${name}`), `an answer to ${name}`);
  };
  return { call, say, ended };
}

/** The status of gRPC's health service, as a probe of a load balancer asks for it: 1 serves, 2 does not. */
function healthOf(target: string): Promise<number> {
  const path = "/grpc.health.v1.Health/Check";
  const Probe = grpc.makeGenericClientConstructor(
    {
      Check: {
        path,
        requestStream: false,
        responseStream: false,
        requestSerialize: () => Buffer.alloc(0),
        requestDeserialize: () => undefined,
        responseSerialize: () => Buffer.alloc(0),
        responseDeserialize: (bytes) => bytes[1],
      },
    },
    "Health",
  );
  const probe = new Probe(target, grpc.credentials.createInsecure());
  return new Promise<number>((resolve, reject) => {
    probe["Check"]?.({}, (error: Error | null, status: number) => (error === null ? resolve(status) : reject(error)));
  }).finally(() => probe.close());
}

class Shop {
  #file: string;
  constructor(file: string) {
    this.#file = file;
  }
  async fetch(request: Request): Promise<string> {
    const { appendFileSync } = await import("node:fs");
    appendFileSync(this.#file, `${new URL(request.url).searchParams.get("n")}\n`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return "shop";
  }
  describe({ name }: Item): Item {
    return { name: `the ${name}` };
  }
  async *chat(items: AsyncIterable<Item>): AsyncGenerator<Item> {
    for await (const { name } of items) yield { name: `re: ${name}` };
  }
  async websocket(socket: serve.ServerWebSocket): Promise<void> {
    for await (const message of socket) await socket.send(`re: ${String(message)}`);
  }
}

class Resident {
  ready(): void {}
}

test("what is open at the proxy of a drained node has its grace, new clients go elsewhere, and each protocol says why it ends", {
  timeout: 90_000,
}, async () => {
  const log = new Log(folder);
  await using cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine: () => {} });
  const [first] = cluster.nodes as [TestNode];
  const [, third] = await Promise.all([cluster.addNode({ numCpus: 2 }), cluster.addNode({ numCpus: 1 })]);
  await init({ address: cluster.address, logToDriver: false });
  using connection = await connectToCluster(cluster.address);
  const drain = async ({ nodeId }: TestNode, deadlineMs?: number) => await connection.ask(MESSAGE.NODE_DRAIN, { node: nodeId, deadlineMs });
  // A node that is drained already, and stays while its actor runs: nothing waits for a proxy on it.
  const resident = remote(Resident, { numCpus: 0, schedulingStrategy: { nodeId: third.nodeId } }).remote();
  await resident.ready.remote();
  await drain(third);
  expect((await nodes()).map(({ nodeId, draining }) => draining === (nodeId === third.nodeId))).toEqual([true, true, true]);
  const leaving = await startAwayFromDriver(cluster, {
    httpOptions: { port: 0, drainGraceMs: GRACE_MS },
    grpcOptions: { port: 0, services: [{ protoFile: PROTO, service: "shop.v1.Shop" }] },
  });
  const labelSelector = { "shoal.io/node-id": first.nodeId };
  const Shops = serve.deployment(Shop, { maxOngoingRequests: 50, actorOptions: { labelSelector, numCpus: 0.5 } });
  await serve.run(Shops.bind(log.file));
  const proxyOf = async ({ nodeId }: TestNode): Promise<{ status: string; address: string; grpcAddress: string }> =>
    Object.values((await serve.status()).proxies).find((proxy) => proxy.nodeId === nodeId) as never;
  await until(async () => (await proxyOf(leaving))?.status === "HEALTHY", "the proxy of the node to listen");
  expect(await proxyOf(third)).toBeUndefined();
  const { address, grpcAddress } = await proxyOf(leaving);
  const client = shopAt(grpcAddress);
  const chats = [chatOf(client), chatOf(client)] as const;
  const socket = new WebSocket(address.replace("http", "ws"));
  const heard: string[] = [];
  socket.on("message", (data: Buffer) => heard.push(data.toString()));
  const closed = new Promise((resolve) => socket.on("close", (code, reason) => resolve([code, String(reason)])));
  await new Promise((resolve) => socket.on("open", resolve));
  const sayAll = async (word: string): Promise<void> => {
    socket.send(word);
    await Promise.all(chats.map(({ say }) => say(word)));
    await until(() => heard.includes(`re: ${word}`), `the WebSocket's answer to ${word}`);
  };
  await sayAll("before");
  const counting = new CountingClient((await proxyOf(first)).address);

  await drain(leaving, DEADLINE_MS);
  await until(async () => (await ask(address, "/-/healthz", { agent: new Agent() })).status === 503, "the probe to learn of it");
  expect(await healthOf(grpcAddress)).toBe(2);
  await sayAll("in the grace");
  const late = shopAt(grpcAddress);
  expect(await describe(late)).toBe("the cup");
  expect(await closed).toEqual([1001, "the proxy ends"]);
  // The grace is over: nobody new, and what is open goes on.
  expect(await failureOf(ask(address, "/", { agent: new Agent() }))).toMatchObject({ code: "ECONNREFUSED" });
  expect(
    await failureOf(new Promise((_resolve, reject) => new WebSocket(address.replace("http", "ws")).on("error", reject))),
  ).toMatchObject({
    code: "ECONNREFUSED",
  });
  for (const one of [client, late, shopAt(grpcAddress)]) {
    expect(await failureOf(describe(one))).toMatchObject({ code: grpc.status.UNAVAILABLE });
    if (one !== client) one.close();
  }
  expect(await describe(shopAt((await proxyOf(first)).grpcAddress))).toBe("the cup");
  await Promise.all(chats.map(({ say }) => say("after the grace")));
  // The controller has left the node as well, and deploys while the node is still there.
  expect((await serve.controllerHealth())?.nodeId).not.toBe(leaving.nodeId);
  await serve.run(Shops.options({ maxOngoingRequests: 60 }).bind(log.file));
  expect(cluster.nodes).toContain(leaving);
  chats[0].call.end();
  expect(await chats[0].ended).toEqual({ code: grpc.status.OK, details: "OK" });
  // The other one would go on for ever: it is told before the node's deadline.
  expect(await chats[1].ended).toEqual({ code: grpc.status.UNAVAILABLE, details: "the proxy ends" });
  await until(() => !cluster.nodes.includes(leaving), "the node to have gone");
  await counting.more(20);
  await counting.stop();
  expect(counting.failures).toEqual([]);
  expect(CountingClient.twice(log)).toEqual([]);
  client.close();
  await serve.shutdown();
  await shutdown();
});
