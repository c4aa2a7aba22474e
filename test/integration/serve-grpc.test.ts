/** gRPC through the proxy, asked by the client of `@grpc/grpc-js`: every kind of call, metadata, statuses, cancellation on both sides, health, Ray's API, and Python. */
import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { python } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { NodeId } from "../../src/runtime/base/ids.ts";
import { type Authority, certifyNode, newAuthority, newNodeKey } from "../../src/runtime/os/network/certificates.ts";
import { OWN_SERVICES } from "../../src/serve/grpc/grpc-services.ts";
import { ask } from "./serve-client.ts";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

const PROTO = new URL("grpc/shop.proto", import.meta.url);
const folder = useFolder();
useSession({ numCpus: 8 });

interface Item {
  name: string;
  priceCents: string | number;
  picture?: Uint8Array;
  size?: string;
  stock?: Record<string, number>;
}

const log = new Log(folder);
let target = "";
let apiAddress = "";
let token = "";
let client: Dynamic;

/** A client whose methods are those of a `.proto` file. */
type Dynamic = grpc.Client & {
  [method: string]: (...args: unknown[]) => grpc.ClientUnaryCall & grpc.ClientDuplexStream<unknown, unknown>;
};

function clientOf(name: string, credentials = grpc.credentials.createInsecure(), options: grpc.ClientOptions = {}): Dynamic {
  const own = OWN_SERVICES.flatMap(({ files }) => Object.entries(files)).map(([file, text]) => {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  });
  const form = { longs: String, enums: String, defaults: true, oneofs: true };
  const root = grpc.loadPackageDefinition(loadSync([fileURLToPath(PROTO), ...own], form));
  const Service = name.split(".").reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], root);
  return new (Service as new (...args: unknown[]) => Dynamic)(target, credentials, options);
}

function unary(
  from: Dynamic,
  method: string,
  request: object,
  given: { metadata?: Record<string, string>; deadlineMs?: number } = {},
): Promise<any> {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries({ application: "shop", ...given.metadata })) metadata.set(name, value);
  const options = given.deadlineMs === undefined ? {} : { deadline: Date.now() + given.deadlineMs };
  return new Promise((resolve, reject) => {
    from[method]?.(request, metadata, options, (error: Error | null, value: unknown) => (error === null ? resolve(value) : reject(error)));
  });
}

function itemsOf(request: object, metadata: grpc.Metadata): AsyncIterable<Item> {
  return (client["Items"] as NonNullable<Dynamic[string]>)(request, metadata) as AsyncIterable<Item>;
}

function shopMetadata(): grpc.Metadata {
  const metadata = new grpc.Metadata();
  metadata.set("application", "shop");
  return metadata;
}

class Shop {
  readonly #file: string;
  constructor(file: string) {
    this.#file = file;
  }
  describe(item: Item, context: serve.GrpcContext): Item {
    context.trailers.set("x-seen", context.metadata.get("x-word")?.[0] ?? "");
    context.headers.set("x-first", context.metadata.get("x-word")?.[0] ?? "");
    return { ...item, name: `${item.name} ${context.requestId} ${serve.getMultiplexedModelId()}`, stock: { ...item.stock, new: 1 } };
  }
  async *items({ to }: { to: number }): AsyncGenerator<Partial<Item>> {
    for (let n = 0; n < to; n += 1) yield { name: `item ${n}`, picture: new Uint8Array(1000) };
  }
  async Add(items: AsyncIterable<Item>): Promise<object> {
    let [sum, count] = [0, 0];
    for await (const { priceCents } of items) [sum, count] = [sum + Number(priceCents), count + 1];
    return { priceCents: sum, items: count };
  }
  async *chat(items: AsyncIterable<Item>, { headers, metadata }: serve.GrpcContext): AsyncGenerator<Partial<Item>> {
    headers.set("x-first", metadata.get("x-word")?.[0] ?? "");
    headers.set("x-bytes-bin", Buffer.from([0, 255]).toString("base64"));
    for await (const { name } of items) yield { name: `re: ${name}` };
  }
  fail({ name }: Item): never {
    if (name === "exit code") throw Object.assign(new Error("Command failed: curl -H secret"), { code: 7 });
    if (name === "DOM") throw new DOMException("secret", "NotFoundError");
    if (name === "status") throw new serve.GrpcStatusError(grpc.status.NOT_FOUND, "no such item");
    throw new Error("a secret of the shop");
  }
  async *hang(_item: Item, { signal }: serve.GrpcContext): AsyncGenerator<Partial<Item>> {
    const { appendFileSync } = await import("node:fs");
    yield { name: "first" };
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    appendFileSync(this.#file, "aborted\n");
  }
}

beforeAll(async () => {
  const started = await serve.start({
    // Both listen for gRPC, too, at the same port.
    httpOptions: { port: 0, proxies: 2 },
    apiOptions: { port: 0 },
    grpcOptions: { port: 0, services: [{ protoFile: PROTO, service: "shop.v1.Shop" }] },
  });
  target = started.grpcAddress as string;
  ({ address: apiAddress = "", token = "" } = started.api ?? {});
  client = clientOf("shop.v1.Shop");
  const options = { maxOngoingRequests: 2, maxQueuedRequests: 1 };
  await serve.run(serve.deployment(Shop, options).bind(log.file), { name: "shop", routePrefix: "/shop" });
});
afterAll(async () => {
  client.close();
  await serve.shutdown();
});

test("a unary call has its message, metadata, id and model", async () => {
  const metadata = { request_id: "seven", multiplexed_model_id: "small", "x-word": "hello" };
  const trailer = new Promise<grpc.Metadata>((resolve) => {
    const sent = new grpc.Metadata();
    for (const [name, value] of Object.entries({ application: "shop", ...metadata })) sent.set(name, value);
    client["Describe"]?.({ name: "x" }, sent, () => {}).on("status", (status: grpc.StatusObject) => resolve(status.metadata));
  });
  expect((await trailer).get("x-seen")).toEqual(["hello"]);
  expect((await trailer).get("request_id")).toEqual(["seven"]);
  const item = { name: "cup", priceCents: "9007199254740993", picture: Buffer.from([1, 2]), size: "LARGE", stock: { here: 2 } };
  const answer = await unary(client, "Describe", item, { metadata });
  expect(answer).toEqual({ ...item, name: "cup seven small", stock: { here: 2, new: 1 } });
});

test("streams go in either direction, and in both", async () => {
  const names: string[] = [];
  for await (const { name } of itemsOf({ to: 500 }, shopMetadata())) names.push(name);
  expect(names).toHaveLength(500);
  expect(names.at(-1)).toBe("item 499");
  const total = await new Promise((resolve, reject) => {
    const sending = client["Add"]?.(shopMetadata(), (error: Error | null, value: unknown) =>
      error === null ? resolve(value) : reject(error),
    );
    for (let n = 1; n <= 100; n += 1) sending?.write({ name: "cup", priceCents: n });
    sending?.end();
  });
  expect(total).toEqual({ priceCents: "5050", items: 100 });
  const chat = client["Chat"]?.(shopMetadata()) as grpc.ClientDuplexStream<unknown, Item>;
  const answers: string[] = [];
  chat.on("data", ({ name }: Item) => {
    answers.push(name);
    if (answers.length < 3) chat.write({ name: String(answers.length) });
    else chat.end();
  });
  chat.write({ name: "0" });
  await new Promise((resolve, reject) => chat.on("end", resolve).on("error", reject));
  expect(answers).toEqual(["re: 0", "re: 1", "re: 2"]);
});

test("initial metadata comes before the first message, or with the end of a call that has none", async () => {
  const metadata = shopMetadata();
  metadata.set("x-word", "hello");
  const headersOf = (call: grpc.ClientUnaryCall | grpc.ClientDuplexStream<unknown, unknown> | undefined): Promise<grpc.Metadata> =>
    new Promise((resolve) => call?.once("metadata", resolve));
  const unaryCall = client["Describe"]?.({ name: "cup" }, metadata, () => {});
  expect((await headersOf(unaryCall)).get("x-first")).toEqual(["hello"]);
  for (const messages of [1, 0]) {
    const chat = client["Chat"]?.(metadata) as grpc.ClientDuplexStream<unknown, Item>;
    const order: string[] = [];
    chat.on("metadata", () => order.push("metadata")).on("data", ({ name }: Item) => order.push(name));
    const headers = headersOf(chat);
    const ended = new Promise((resolve, reject) => chat.on("end", resolve).on("error", reject));
    for (let n = 0; n < messages; n += 1) chat.write({ name: "a" });
    chat.end();
    expect([(await headers).get("x-first"), (await headers).get("x-bytes-bin")]).toEqual([["hello"], [Buffer.from([0, 255])]]);
    await ended;
    expect(order).toEqual(["metadata", "re: a"].slice(0, 1 + messages));
  }
});

test("failures are statuses", async () => {
  const codeOf = async (promise: Promise<unknown>): Promise<[unknown, string]> => {
    const { code, details } = (await failureOf(promise)) as unknown as { code: number; details: string };
    return [code, details];
  };
  expect(await codeOf(unary(client, "Fail", { name: "status" }))).toEqual([grpc.status.NOT_FOUND, "no such item"]);
  for (const name of ["other", "exit code", "DOM"]) {
    const [code, details] = await codeOf(unary(client, "Fail", { name }));
    expect([name, code]).toEqual([name, grpc.status.INTERNAL]);
    expect(details).not.toContain("secret");
  }
  expect((await codeOf(unary(client, "Missing", {})))[0]).toBe(grpc.status.UNIMPLEMENTED);
  const [unknown, text] = await codeOf(unary(client, "Describe", {}, { metadata: { application: "absent" } }));
  expect([unknown, text]).toEqual([grpc.status.NOT_FOUND, "there is no application absent: there are shop"]);
});

test("a client that goes ends the method; one too many is refused; a deadline is kept", async () => {
  const streams = [1, 2].map(() => client["Hang"]?.({}, shopMetadata()) as grpc.ClientReadableStream<Item>);
  for (const stream of streams) stream.on("error", () => {});
  await Promise.all(streams.map((stream) => new Promise((resolve) => stream.once("data", resolve))));
  const late = failureOf(unary(client, "Describe", {}, { deadlineMs: 1000 }));
  await until(async () => {
    const failure = await failureOf(unary(client, "Describe", {}, { deadlineMs: 300 }));
    return String(failure.code) === String(grpc.status.RESOURCE_EXHAUSTED);
  }, "the queue to be full");
  expect(await late).toMatchObject({ code: grpc.status.DEADLINE_EXCEEDED });
  for (const stream of streams) stream.cancel();
  await until(() => log.lines.length === 2, "both methods to be ended");
  expect((await unary(client, "Describe", { name: "again" })).name).toContain("again");
});

test("health and Ray's API answer", async () => {
  const health = clientOf("grpc.health.v1.Health");
  expect(await unary(health, "Check", { service: "shop.v1.Shop" })).toEqual({ status: "SERVING" });
  expect(await failureOf(unary(health, "Check", { service: "none" }))).toMatchObject({ code: grpc.status.NOT_FOUND });
  const api = clientOf("ray.serve.RayServeAPIService");
  expect(await unary(api, "Healthz", {})).toEqual({ message: "success" });
  expect(await unary(api, "ListApplications", {})).toEqual({ applicationNames: ["shop"] });
  for (const open of [health, api]) open.close();
});

test("a class of Python answers messages and streams them", async () => {
  const Servicer = python.actor(new URL("python/served.py", import.meta.url), "Servicer");
  await serve.run(serve.deployment(Servicer).bind(), { name: "python", routePrefix: "/python" });
  const metadata = { application: "python" };
  expect((await unary(client, "Describe", { name: "cup" }, { metadata })).name).toBe("cup of Python");
  const sent = new grpc.Metadata();
  sent.set("application", "python");
  const names: string[] = [];
  for await (const { name } of itemsOf({ to: 3 }, sent)) names.push(name);
  expect(names).toEqual(["0", "1", "2"]);
});

test("options that name nothing are refused", async () => {
  const startWith = async (options: object): Promise<string> => (await failureOf(serve.start({ grpcOptions: options }))).message;
  expect(await startWith({ services: [{ protoFile: PROTO, service: "shop.v1.Shopp" }] })).toContain("it has shop.v1.Shop");
  expect(await startWith({ services: [{ protoFile: "none.proto", service: "a.B" }] })).toContain(
    "Cannot read the .proto file of a service: ",
  );
  expect(await startWith({ services: [{ protoFile: PROTO, service: "grpc.health.v1.Health" }] })).toContain(
    "Serve answers grpc.health.v1.Health by itself",
  );
  expect(await startWith({ tls: { key: "k" } })).toContain("Cannot set tls of grpcOptions: cert is missing");
});

test("a session is named by metadata, or by an option of a handle in Python, and goes to the same replica", async () => {
  class Place {
    where(): string {
      return serve.getReplicaContext().replicaId;
    }
  }
  const options = { numReplicas: 2, actorOptions: { numCpus: 0 } };
  const Sessions = python.actor<object, [place: object]>(new URL("python/served.py", import.meta.url), "Sessions");
  await serve.run(serve.deployment(Sessions).bind(serve.deployment(Place, options).bind()), { name: "sessions", routePrefix: "/sessions" });
  const placeOf = async (name: string, metadata: object): Promise<string> =>
    (await unary(client, "Describe", { name }, { metadata: { application: "sessions", ...metadata } })).name;
  const sessions = Array.from({ length: 12 }, (_, index) => `session ${index}`);
  const both = (): Promise<[string, string][]> =>
    Promise.all(sessions.map(async (id) => [await placeOf("", { session_id: id }), await placeOf(id, {})] as [string, string]));
  await until(async () => new Set((await both()).flat()).size === 2, "the process to know both replicas");
  for (const [byMetadata, byOption] of await both()) expect(byOption).toBe(byMetadata);
  await serve.delete("sessions");
});

test("all proxies of a node answer at the same port", async () => {
  const proxies = Object.values((await serve.status()).proxies);
  expect(proxies.map(({ grpcAddress }) => grpcAddress)).toEqual([target, target]);
  const clients = Array.from({ length: 24 }, () => clientOf("shop.v1.Shop", undefined, { "grpc.use_local_subchannel_pool": 1 }));
  for (const one of clients) await unary(one, "Fail", { name: "status" }).catch(() => {});
  const { body } = await ask(apiAddress, "/metrics", { headers: { authorization: `Bearer ${token}` } });
  const counted = body
    .split("\n")
    .filter((line) => line.startsWith("serve_num_grpc_requests{") && line.includes('method="/shop.v1.Shop/Fail"'));
  expect(new Set(counted.map((line) => /proxy="[^"]*::(\d)"/.exec(line)?.[1]))).toEqual(new Set(["0", "1"]));
  for (const one of clients) one.close();
});

test.each(["v1", "v1alpha"])("reflection %s lists services and describes them", async (version) => {
  const reflection = clientOf(`grpc.reflection.${version}.ServerReflection`);
  const call = reflection["ServerReflectionInfo"]?.() as grpc.ClientDuplexStream<object, any>;
  call.write({ listServices: "" });
  call.write({ fileContainingSymbol: "shop.v1.Shop" });
  call.end();
  const [listed, described] = await call.toArray();
  expect(listed.listServicesResponse.service.map(({ name }: { name: string }) => name)).toContain("shop.v1.Shop");
  // The service's own file, and google/protobuf/empty.proto.
  expect(described.fileDescriptorResponse.fileDescriptorProto).toHaveLength(2);
  reflection.close();
});

/** Resolves with the first status; `all` has them all, and the status of the call. */
async function watch(health: Dynamic, service: string): Promise<{ all: Promise<string[]> }> {
  const call = health["Watch"]?.({ service }) as grpc.ClientReadableStream<{ status: string }>;
  const statuses: string[] = [];
  const { promise: all, resolve } = Promise.withResolvers<string[]>();
  call.on("error", () => {});
  call.on("status", ({ code }) => resolve([...statuses, grpc.status[code] ?? ""]));
  const { promise: began, resolve: begin } = Promise.withResolvers<void>();
  call.on("data", ({ status }: { status: string }) => {
    statuses.push(status);
    begin();
  });
  await began;
  return { all };
}

function certificate(of: Authority): { cert: string; key: string } {
  const { key, publicKey } = newNodeKey();
  return { cert: certifyNode(of, { nodeId: "0".repeat(32) as NodeId, publicKey, hosts: ["localhost"], nowMs: Date.now() }), key };
}

test("clients that watch the health of a proxy hear of its end", async () => {
  const health = clientOf("grpc.health.v1.Health");
  const watched = await Promise.all(["", "shop.v1.Shop", "none"].map((service) => watch(health, service)));
  await serve.shutdown();
  expect(await Promise.all(watched.map(({ all }) => all))).toEqual([
    ["SERVING", "NOT_SERVING", "UNAVAILABLE"],
    ["SERVING", "NOT_SERVING", "UNAVAILABLE"],
    ["SERVICE_UNKNOWN", "UNAVAILABLE"],
  ]);
  health.close();
});

test("a configuration has gRPC over TLS: only clients with a certificate of the authority get an answer; without reflection none is described", async () => {
  const [servers, clients] = [newAuthority({ nowMs: Date.now() }), newAuthority({ nowMs: Date.now() })];
  const own = certificate(servers);
  for (const [name, text] of Object.entries({ "server-key": own.key, server: own.cert, clients: clients.ca }))
    writeFileSync(join(folder, `${name}.pem`), text);
  const started = await serve.deployConfig(
    `http_options: { port: 0 }
grpc_options:
  port: 0
  grpc_servicer_functions: ["shop.proto:shop.v1.Shop"]
  enable_reflection: false
  ssl_keyfile: ${folder}/server-key.pem
  ssl_certfile: ${folder}/server.pem
  ssl_ca_certs: ${folder}/clients.pem
applications: []
`,
    { folder: dirname(fileURLToPath(PROTO)) },
  );
  target = (started.grpcAddress as string).replace("127.0.0.1", "localhost");
  await serve.run(serve.deployment(Shop).bind(log.file), { name: "shop" });
  const withOwn = (shown?: { cert: string; key: string }): grpc.ChannelCredentials =>
    grpc.credentials.createSsl(Buffer.from(servers.ca), shown && Buffer.from(shown.key), shown && Buffer.from(shown.cert));
  const outcomes: unknown[] = [];
  for (const credentials of [withOwn(certificate(clients)), withOwn(), withOwn(certificate(servers)), grpc.credentials.createInsecure()]) {
    const one = clientOf("shop.v1.Shop", credentials);
    outcomes.push(
      await unary(one, "Describe", { name: "cup" }, { deadlineMs: 5_000 }).then(
        ({ name }) => name.slice(0, 3),
        ({ code }) => code,
      ),
    );
    one.close();
  }
  expect(outcomes).toEqual(["cup", grpc.status.UNAVAILABLE, grpc.status.UNAVAILABLE, grpc.status.UNAVAILABLE]);
  const reflection = clientOf("grpc.reflection.v1.ServerReflection", withOwn(certificate(clients)));
  const call = reflection["ServerReflectionInfo"]?.() as grpc.ClientDuplexStream<object, any>;
  call.end();
  expect(await failureOf(call.toArray())).toMatchObject({ code: grpc.status.UNIMPLEMENTED });
  reflection.close();
});
