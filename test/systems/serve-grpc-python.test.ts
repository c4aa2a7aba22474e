/** gRPC of Serve, called by Python's grpcio: every kind of call, metadata, deadlines, cancellation, statuses, health and reflection, over TLS with certificates of clients, and in the clear. */
import { execFile } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { init, shutdown } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { NodeId } from "../../src/runtime/base/ids.ts";
import { type Authority, certifyNode, newAuthority, newNodeKey } from "../../src/runtime/os/network/certificates.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { installed } from "./installed.ts";

const PROTOS = join(REPOSITORY, "test", "integration", "grpc");
const folder = mkdtempSync(join(tmpdir(), "test-shoal-grpc-"));
const log = join(folder, "log");
let python = "";

interface Item {
  name: string;
  priceCents: string | number;
}

class Shop {
  readonly #log: string;
  constructor(file: string) {
    this.#log = file;
  }
  describe(item: Item, context: serve.GrpcContext): object {
    context.trailers.set("x-seen", context.metadata.get("x-word")?.[0] ?? "");
    return { ...item, name: `${item.name} ${serve.getMultiplexedModelId()}` };
  }
  async *items({ to }: { to: number }): AsyncGenerator<object> {
    if (to < 0) throw new serve.GrpcStatusError(3, "a number from 0 is needed");
    for (let n = 0; n < to; n += 1) yield { name: `item ${n}`, picture: new Uint8Array(1000) };
  }
  async add(items: AsyncIterable<Item>): Promise<object> {
    let [sum, count] = [0, 0];
    for await (const { priceCents } of items) [sum, count] = [sum + Number(priceCents), count + 1];
    return { priceCents: sum, items: count };
  }
  async *chat(items: AsyncIterable<Item>): AsyncGenerator<object> {
    for await (const { name } of items) yield { name: `re: ${name}` };
  }
  fail({ name }: Item): never {
    if (name === "status") throw new serve.GrpcStatusError(5, "no such item");
    throw new Error("a secret of the shop");
  }
  async *hang({ name }: Item, { signal }: serve.GrpcContext): AsyncGenerator<object> {
    yield { name: "first" };
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    appendFileSync(this.#log, `${name} ended\n`);
  }
}

function certificate(of: Authority): { cert: string; key: string } {
  const { key, publicKey } = newNodeKey();
  return { cert: certifyNode(of, { nodeId: "0".repeat(32) as NodeId, publicKey, hosts: ["localhost"], nowMs: Date.now() }), key };
}

function written(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

/** Starts Serve with the service, runs the client, ends Serve. @returns the client's printed results */
async function outcomeOf(more: serve.GrpcOptions, certificates: readonly string[]): Promise<Record<string, any>> {
  writeFileSync(log, "");
  const services = [{ protoFile: join(PROTOS, "shop.proto"), service: "shop.v1.Shop" }];
  const { grpcAddress = "" } = await serve.start({ httpOptions: { port: 0, proxies: 2 }, grpcOptions: { port: 0, services, ...more } });
  await serve.run(serve.deployment(Shop).bind(log), { name: "shop" });
  const target = grpcAddress.replace("127.0.0.1", "localhost");
  const script = join(import.meta.dirname, "python", "grpc_client.py");
  try {
    const { stdout } = await promisify(execFile)(python, [script, target, PROTOS, ...certificates]);
    for (let tries = 0; tries < 100 && ended().length < 2; tries += 1) await new Promise((resolve) => setTimeout(resolve, 50));
    return JSON.parse(stdout) as Record<string, unknown>;
  } finally {
    await serve.shutdown();
  }
}

function ended(): string[] {
  return readFileSync(log, "utf8").split("\n").filter(Boolean).sort();
}

beforeAll(async () => {
  const venv = installed("grpcio-1.85.1", (place) => {
    const packages = ["grpcio", "grpcio-tools", "grpcio-reflection", "grpcio-health-checking"].map((name) => `${name}==1.85.1`);
    return [
      ["python3", "-m", "venv", place],
      [join(place, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", ...packages],
    ];
  });
  python = join(venv, "bin", "python3");
  await init({ numCpus: 2, logToDriver: false });
});
afterAll(async () => {
  await shutdown();
  rmSync(folder, { recursive: true });
});

const EXPECTED = {
  unary: {
    name: "cup small",
    price: 9007199254740992 + 1,
    picture: [1, 2],
    size: "LARGE",
    stock: { here: 2 },
    headers: "seven",
    trailers: ["seven", "hello"],
  },
  "server stream": [300, "INVALID_ARGUMENT"],
  "client stream": [5050, 100],
  "both streams": ["re: 0", "re: 1", "re: 2"],
  deadline: ["DEADLINE_EXCEEDED", true],
  cancel: ["first", "CANCELLED"],
  statuses: ["NOT_FOUND", "INTERNAL", "UNIMPLEMENTED", "NOT_FOUND"],
  health: "SERVING",
  watched: "SERVING",
  reflection: {
    services: [
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "ray.serve.RayServeAPIService",
      "shop.v1.Shop",
    ],
    methods: [
      "Add(shop.v1.Item) shop.v1.Total",
      "Chat(shop.v1.Item) shop.v1.Item",
      "Describe(shop.v1.Item) shop.v1.Item",
      "Fail(shop.v1.Item) google.protobuf.Empty",
      "Hang(shop.v1.Item) shop.v1.Item",
      "Items(shop.v1.Count) shop.v1.Item",
      "Missing(shop.v1.Item) shop.v1.Item",
    ],
    call: ["dish ", { there: 1 }],
    "like protoc": true,
    file: "shop.proto",
  },
};

test("grpcio over TLS, with certificates of clients", { timeout: 120_000 }, async () => {
  const [servers, clients] = [newAuthority({ nowMs: Date.now() }), newAuthority({ nowMs: Date.now() })];
  const own = certificate(clients);
  const certificates = [written("ca.pem", servers.ca), written("key.pem", own.key), written("cert.pem", own.cert)];
  const outcome = await outcomeOf({ tls: { ...certificate(servers), ca: clients.ca } }, certificates);
  expect(outcome).toEqual({ ...EXPECTED, "without a certificate": "UNAVAILABLE" });
  expect(ended()).toEqual(["cancel ended", "deadline ended"]);
});

test("grpcio in the clear", { timeout: 120_000 }, async () => {
  expect(await outcomeOf({}, [])).toEqual(EXPECTED);
  expect(ended()).toEqual(["cancel ended", "deadline ended"]);
});
